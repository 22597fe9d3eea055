package bmc

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"cnuas/internal/vm"
	"cnuas/internal/vm/agent"
)

// sshServer is the guest's. It also forwards, to itself. The commands are
// 'wait', for until, and signals.
type sshServer struct {
	conf  *ssh.ServerConfig
	until chan struct{}

	mu    sync.Mutex
	conns int
	most  int // commands of one connection at a time
}

func (v *sshServer) serve(c net.Conn) {
	conn, chans, reqs, err := ssh.NewServerConn(c, v.conf)
	if err != nil {
		return
	}
	defer conn.Close()
	go ssh.DiscardRequests(reqs)
	v.mu.Lock()
	v.conns++
	v.mu.Unlock()
	n := 0
	for offer := range chans {
		ch, reqs, err := offer.Accept()
		if err != nil {
			return
		}
		if offer.ChannelType() == "direct-tcpip" {
			go ssh.DiscardRequests(reqs)
			go v.serve(chanConn{Channel: ch})
			continue
		}
		go func() {
			for q := range reqs {
				v.mu.Lock()
				n++
				v.most = max(v.most, n)
				v.mu.Unlock()
				q.Reply(true, nil)
				if name, ok := strings.CutPrefix(string(q.Payload[4:]), "exec '"); ok && name != "wait'" {
					ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
						Name      string
						Core      bool
						Msg, Lang string
					}{strings.TrimSuffix(name, "'"), false, "", ""}))
				} else {
					<-v.until
					ch.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, 7))
				}
				v.mu.Lock()
				n--
				v.mu.Unlock()
				ch.Close()
			}
		}()
	}
}

// chanConn is a forwarded connection.
type chanConn struct {
	ssh.Channel
	net.Conn
}

func (c chanConn) Read(b []byte) (int, error)  { return c.Channel.Read(b) }
func (c chanConn) Write(b []byte) (int, error) { return c.Channel.Write(b) }
func (c chanConn) Close() error                { return c.Channel.Close() }
func (c chanConn) RemoteAddr() net.Addr        { return &net.TCPAddr{} }
func (c chanConn) LocalAddr() net.Addr         { return &net.TCPAddr{} }

func shellGuest(t *testing.T) (*Guest, *sshServer) {
	t.Helper()
	k, _, err := makeKeys()
	if err != nil {
		t.Fatal(err)
	}
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	if k.host, err = ssh.NewPublicKey(pub); err != nil {
		t.Fatal(err)
	}
	v := &sshServer{until: make(chan struct{}), conf: &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}}
	v.conf.AddHostKey(signer)
	ours, guest, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := net.FileConn(guest)
	guest.Close()
	if err != nil {
		t.Fatal(err)
	}
	console, _ := lineConsole(t)
	g := &Guest{shell: newShell(ours, k), process: &vm.Process{}, said: vm.NewTail(100), console: console}
	t.Cleanup(func() { g.shell.close(); theirs.Close() })
	go v.serve(theirs)
	return g, v
}

// TestParallelCommands: no connection has two commands at a time, which the
// server of the stand-in does not survive; connections are used again.
func TestParallelCommands(t *testing.T) {
	g, v := shellGuest(t)
	if err := g.shell.connect(); err != nil {
		t.Fatal(err)
	}
	const commands = 20
	var wg sync.WaitGroup
	for range 2 {
		for range commands {
			wg.Go(func() {
				if st, err := g.Exec(context.Background(), agent.Command{Argv: []string{"wait"}}, agent.IO{}); st != 7 || err != nil {
					t.Error(st, err)
				}
			})
		}
		go func() {
			for range commands {
				v.until <- struct{}{}
			}
		}()
		wg.Wait()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.most != 1 || v.conns > commands {
		t.Errorf("%d commands on one connection; %d connections", v.most, v.conns)
	}
}

// TestHungUpCommand: a connection whose command may still run gets no other.
func TestHungUpCommand(t *testing.T) {
	g, v := shellGuest(t)
	if err := g.shell.connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(v.until) })
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if st, err := g.Exec(ctx, agent.Command{Argv: []string{"wait"}}, agent.IO{}); st != agent.StatusLost || err == nil {
			t.Error(st, err)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.most != 1 {
		t.Errorf("%d commands on one connection", v.most)
	}
}

func TestStatusOfSignals(t *testing.T) {
	g, _ := shellGuest(t)
	if err := g.shell.connect(); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]syscall.Signal{"INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "SEGV": syscall.SIGSEGV, "PIPE": syscall.SIGPIPE} {
		if st, err := g.Exec(context.Background(), agent.Command{Argv: []string{name}}, agent.IO{}); st != agent.StatusSignalBase+int(n) || err != nil {
			t.Errorf("%s: %d %v", name, st, err)
		}
	}
}

// TestSignalWhileBooting: Ctrl-C ends a command that waits for the guest.
func TestSignalWhileBooting(t *testing.T) {
	g, _ := shellGuest(t)
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	if st, err := g.Exec(context.Background(), agent.Command{Argv: []string{"wait"}}, agent.IO{Signals: signals}); st != agent.StatusSignalBase+2 || err == nil {
		t.Errorf("%d %v", st, err)
	}
}

// TestLongCommand: the server would not survive it.
func TestLongCommand(t *testing.T) {
	g, _ := shellGuest(t)
	if err := g.shell.connect(); err != nil {
		t.Fatal(err)
	}
	long := agent.Command{Argv: []string{"echo", strings.Repeat("x", 9000)}}
	if st, err := g.Exec(context.Background(), long, agent.IO{}); st != agent.StatusCannotRun || err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("%d %v", st, err)
	}
	if st, err := g.Exec(context.Background(), agent.Command{Argv: []string{"INT"}}, agent.IO{}); st != agent.StatusSignalBase+2 || err != nil {
		t.Errorf("afterwards: %d %v", st, err)
	}
}

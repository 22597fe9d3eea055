package bmc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"cnuas/internal/vm/agent"
)

// shell runs commands in the stand-in: SSH over a serial line at whose other end
// the guest joins it with its SSH server.
type shell struct {
	line net.Conn
	keys *keys
	up   chan struct{} // closed when commands can be run

	dial sync.Mutex // one at a time: the server bounds those who have not logged in

	mu     sync.Mutex
	client *ssh.Client
	busy   bool          // client has a command
	idle   []*ssh.Client // others that have none
}

func newShell(line net.Conn, k *keys) *shell {
	return &shell{line: line, keys: k, up: make(chan struct{})}
}

// heard is the line after its first bytes were looked at.
type heard struct {
	net.Conn
	r *bufio.Reader
}

func (h heard) Read(b []byte) (int, error) { return h.r.Read(b) }

// connect waits for the server's greeting, before which nobody hears us, and
// logs in.
func (s *shell) connect() error {
	r := bufio.NewReader(s.line)
	if _, err := r.Peek(1); err != nil {
		return errEnded
	}
	c, err := s.login(heard{s.line, r})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.client = c
	s.mu.Unlock()
	close(s.up)
	return nil
}

func (s *shell) login(conn net.Conn) (*ssh.Client, error) {
	c, chans, reqs, err := ssh.NewClientConn(conn, "stand-in", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(s.keys.client)},
		HostKeyCallback: ssh.FixedHostKey(s.keys.host), HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	})
	if err != nil {
		return nil, fmt.Errorf("the stand-in's shell: %w", err)
	}
	return ssh.NewClient(c, chans, reqs), nil
}

// take returns a connection for one command. No connection has two at a time:
// the server, dropbear 2022.83, dies with all commands of a connection when one
// of them ends while another is being started. The further connections go
// through the first one to the server's port.
func (s *shell) take() (*ssh.Client, error) {
	s.mu.Lock()
	first, n := s.client, len(s.idle)
	if !s.busy {
		s.busy = true
		s.mu.Unlock()
		return first, nil
	}
	if n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	s.dial.Lock()
	defer s.dial.Unlock()
	conn, err := first.Dial("tcp", "127.0.0.1:22")
	if err != nil {
		return nil, fmt.Errorf("the stand-in's shell: %w", err)
	}
	c, err := s.login(conn)
	if err != nil {
		conn.Close()
	}
	return c, err
}

// give takes a connection back. One whose command may still run has no further.
func (s *shell) give(c *ssh.Client, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !over && c != s.client:
		c.Close()
	case !over: // it carries the others, and stays busy
	case c == s.client:
		s.busy = false
	default:
		s.idle = append(s.idle, c)
	}
}

func (s *shell) close() {
	s.line.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		s.client.Close()
	}
}

// Exec runs a command in the stand-in, connected to o, and returns its status;
// one of agent.Status... comes with an error. When ctx ends the command is hung
// up on. A guest from a flash image is reached by SSH over the management
// network instead.
func (g *Guest) Exec(ctx context.Context, c agent.Command, o agent.IO) (int, error) {
	if g.shell == nil {
		return agent.StatusLost, fmt.Errorf("BMC %s runs a flash image, which has no shell for cnuas; use its console, or ssh to it from a node: cnuas exec NODE -- ssh root@ADDRESS", g.cfg.Name)
	}
	if n := len(quote(c)); n > maxLine {
		return agent.StatusCannotRun, fmt.Errorf("%s in the BMC: the command and its arguments take %d bytes, at most %d are possible; pass data as its input, such as: cnuas bmc exec -- sh -s <SCRIPT", c.Argv[0], n, maxLine)
	}
	if status, err := g.await(ctx, c, o.Signals); err != nil {
		return status, err
	}
	return g.shell.exec(ctx, c, o)
}

// await waits until commands can be run. A signal ends that: there is no command
// yet to get it.
func (g *Guest) await(ctx context.Context, c agent.Command, signals <-chan os.Signal) (int, error) {
	select {
	case <-g.shell.up: // signals are the command's
		return 0, nil
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- g.Ready(ctx) }()
	for {
		select {
		case err := <-ready:
			return agent.StatusLost, err
		case s := <-signals:
			if n, ok := s.(syscall.Signal); ok {
				return agent.StatusSignalBase + int(n), fmt.Errorf("%s in the BMC: the BMC is still booting: %v", c.Argv[0], n)
			}
		}
	}
}

func (s *shell) exec(ctx context.Context, c agent.Command, o agent.IO) (status int, err error) {
	client, err := s.take()
	if err != nil {
		return agent.StatusLost, fmt.Errorf("%s in the BMC: %w", c.Argv[0], err)
	}
	over := false
	defer func() { s.give(client, over) }()
	session, err := client.NewSession()
	if err != nil {
		return agent.StatusLost, fmt.Errorf("%s in the BMC: %w", c.Argv[0], err)
	}
	defer session.Close()
	status, err = run(ctx, session, c, o)
	over = status != agent.StatusLost && ctx.Err() == nil
	return status, err
}

// maxLine and maxTerm bound what is asked of the server, in bytes: it ends the
// connection, and with it all else, at a string of more than 9000 bytes.
const maxLine, maxTerm = 8900, 100

// signals that are passed on, by the names that SSH has for them (RFC 4254, 6.10).
var signals = map[os.Signal]ssh.Signal{
	syscall.SIGHUP: ssh.SIGHUP, syscall.SIGINT: ssh.SIGINT, syscall.SIGQUIT: ssh.SIGQUIT, syscall.SIGTERM: ssh.SIGTERM,
	syscall.SIGUSR1: ssh.SIGUSR1, syscall.SIGUSR2: ssh.SIGUSR2,
}

func run(ctx context.Context, s *ssh.Session, c agent.Command, o agent.IO) (int, error) {
	s.Stdout, s.Stderr = orDiscard(o.Stdout), orDiscard(o.Stderr)
	in, err := s.StdinPipe()
	if err != nil {
		return agent.StatusLost, err
	}
	if c.TTY {
		term := c.Term
		if term == "" || len(term) > maxTerm {
			term = "dumb"
		}
		if err := s.RequestPty(term, int(max(c.Rows, 1)), int(max(c.Cols, 1)), nil); err != nil {
			return agent.StatusLost, fmt.Errorf("a terminal in the BMC: %w", err)
		}
	}
	if err := s.Start(quote(c)); err != nil {
		return agent.StatusLost, fmt.Errorf("%s in the BMC: %w", c.Argv[0], err)
	}
	if o.Stdin == nil {
		in.Close()
	} else {
		go func() {
			io.Copy(in, o.Stdin)
			in.Close()
		}()
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				s.Close()
				return
			case n := <-o.Signals:
				if name, ok := signals[n]; ok {
					s.Signal(name)
				}
			case z := <-o.Resize:
				s.WindowChange(int(z.Rows), int(z.Cols))
			}
		}
	}()
	return status(c, s.Wait())
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// status turns how a session has ended into a status.
func status(c agent.Command, err error) (int, error) {
	var e *ssh.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &e) && e.Signal() != "":
		if n := unix.SignalNum("SIG" + e.Signal()); n != 0 {
			return agent.StatusSignalBase + int(n), nil
		}
		return agent.StatusSignalBase, fmt.Errorf("%s in the BMC: ended by signal %s", c.Argv[0], e.Signal())
	case errors.As(err, &e):
		return e.ExitStatus(), nil
	}
	return agent.StatusLost, fmt.Errorf("%s in the BMC: the connection has ended before it: %w", c.Argv[0], err)
}

// quote makes a line for the guest's shell, which SSH gives it: the command as
// it is, not the shell's idea of it.
func quote(c agent.Command) string {
	var l []string
	if c.Dir != "" {
		l = append(l, "cd", word(c.Dir), "&&")
	}
	l = append(l, "exec")
	if len(c.Env) > 0 {
		l = append(l, "env")
		for _, kv := range c.Env {
			l = append(l, word(kv))
		}
	}
	for _, a := range c.Argv {
		l = append(l, word(a))
	}
	return strings.Join(l, " ")
}

func word(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

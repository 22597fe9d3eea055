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

	"cnuas/internal/vm/agent"
)

// shell runs commands in the stand-in: SSH over a serial line at whose other end
// the guest joins it with its SSH server.
type shell struct {
	line net.Conn
	keys *keys
	up   chan struct{} // closed when commands can be run

	mu     sync.Mutex
	client *ssh.Client
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
	c, chans, reqs, err := ssh.NewClientConn(heard{s.line, r}, "stand-in", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(s.keys.client)},
		HostKeyCallback: ssh.FixedHostKey(s.keys.host), HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	})
	if err != nil {
		return fmt.Errorf("the stand-in's shell: %w", err)
	}
	s.mu.Lock()
	s.client = ssh.NewClient(c, chans, reqs)
	s.mu.Unlock()
	close(s.up)
	return nil
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
	if err := g.Ready(ctx); err != nil {
		return agent.StatusLost, err
	}
	g.shell.mu.Lock()
	client := g.shell.client
	g.shell.mu.Unlock()
	s, err := client.NewSession()
	if err != nil {
		return agent.StatusLost, fmt.Errorf("%s in the BMC: %w", c.Argv[0], err)
	}
	defer s.Close()
	return run(ctx, s, c, o)
}

// signals that SSH has names for (RFC 4254, 6.10).
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
		if term == "" {
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
		for n, name := range signals {
			if string(name) == e.Signal() {
				return agent.StatusSignalBase + int(n.(syscall.Signal)), nil
			}
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

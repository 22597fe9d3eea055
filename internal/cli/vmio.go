package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/term"

	"cnuas/internal/vm/agent"
)

// runIn runs a command in a VM on our standard input and outputs and returns
// its status; open gives a fresh stream to the VM's agent. Signals are passed
// on. With c.TTY our terminal is the command's for that time.
func (a *app) runIn(open func() (io.ReadWriteCloser, error), c agent.Command) (status int, err error) {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) { // nohup: stays ignored
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	s, err := open()
	if err != nil {
		return agent.StatusLost, err
	}
	o := agent.IO{Stdin: a.in, Stdout: a.out, Stderr: a.err, Signals: signals}
	if a.in == nil {
		o.Stdin = nil // not an interface that holds nothing
	}
	if c.TTY {
		resize, restore, err := a.terminal(&c)
		if err != nil {
			s.Close()
			return agent.StatusLost, err
		}
		defer restore()
		o.Resize = resize
	}
	return agent.Exec(s, c, o)
}

// terminal lends our terminal to a command: what is typed goes to it as it is,
// Ctrl-C included. It fills in what the command is to know of the terminal.
func (a *app) terminal(c *agent.Command) (resize <-chan agent.Size, restore func(), err error) {
	c.Term = os.Getenv("TERM")
	if !isTerminal(a.in) {
		return nil, func() {}, nil // --tty without one: the command has its own
	}
	fd := int(a.in.Fd())
	if w, h, err := term.GetSize(fd); err == nil {
		c.Rows, c.Cols = uint16(h), uint16(w)
	}
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil, nil, fmt.Errorf("terminal: %w", err)
	}
	changed, sizes, done := make(chan os.Signal, 1), make(chan agent.Size, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
			}
			w, h, err := term.GetSize(fd)
			if err != nil {
				continue
			}
			select {
			case sizes <- agent.Size{Rows: uint16(h), Cols: uint16(w)}:
			case <-done:
				return
			}
		}
	}()
	return sizes, func() {
		signal.Stop(changed)
		close(done)
		term.Restore(fd, old)
	}, nil
}

// vmOut is a file to copy out of a VM.
type vmOut struct{ guest, host string }

// parseOuts reads the values of --out, GUEST[:HOST].
func parseOuts(l []string) (outs []vmOut, err error) {
	for _, s := range l {
		guest, host, _ := strings.Cut(s, ":")
		if host == "" {
			host = filepath.Base(guest)
		}
		if !filepath.IsAbs(guest) || host == "/" {
			return nil, usageError("--out %s: give the file's whole path in the VM, beginning with /", s)
		}
		outs = append(outs, vmOut{guest, host})
	}
	return outs, nil
}

// copyOut copies files out of a VM. A file that exists here is replaced only by
// a complete one.
func copyOut(open func() (io.ReadWriteCloser, error), outs []vmOut) error {
	for _, o := range outs {
		if err := o.copy(open); err != nil {
			return fmt.Errorf("--out %s: %w", o.guest, err)
		}
	}
	return nil
}

func (o vmOut) copy(open func() (io.ReadWriteCloser, error)) error {
	s, err := open()
	if err != nil {
		return err
	}
	if st, err := os.Stat(o.host); err == nil && st.IsDir() {
		o.host = filepath.Join(o.host, filepath.Base(o.guest))
	}
	if st, err := os.Stat(o.host); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(o.host, os.O_WRONLY, 0) // a pipe or a device
		if err != nil {
			s.Close()
			return err
		}
		defer f.Close()
		return agent.Get(s, o.guest, f)
	}
	f, err := os.CreateTemp(filepath.Dir(o.host), ".out-*")
	if err != nil {
		s.Close()
		return err
	}
	defer os.Remove(f.Name()) // after a rename: an error that says so
	err = agent.Get(s, o.guest, f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), o.host)
	}
	return err
}

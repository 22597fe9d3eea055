package agent

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// Exit statuses that Exec makes itself.
const (
	StatusLost       = 125 // the VM or the stream ended before the command
	StatusCannotRun  = 126 // the program is there but cannot be run
	StatusNotFound   = 127 // there is no such program in the VM
	StatusSignalBase = 128 // plus the number of the signal that ended the command
)

// Command is what crosses the wire of a program that is to run in the guest.
type Command struct {
	Argv []string `json:"argv"`           // Argv[0] is looked up in PATH of the guest
	Env  []string `json:"env,omitempty"`  // NAME=VALUE, over the guest's own environment
	Dir  string   `json:"dir,omitempty"`  // "" is the guest's home directory
	TTY  bool     `json:"tty,omitempty"`  // a terminal of its own; standard error then goes with standard output
	Rows uint16   `json:"rows,omitempty"` // of the terminal, characters
	Cols uint16   `json:"cols,omitempty"` // of the terminal, characters
	Term string   `json:"term,omitempty"` // TERM, with TTY
}

// Size is that of a terminal, in characters.
type Size struct{ Rows, Cols uint16 }

// IO is what a command in the guest is connected to. What is nil is empty or
// discarded.
type IO struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal // passed on to the command
	Resize         <-chan Size      // of the terminal, with Command.TTY
}

// Exec runs a command over conn, a fresh stream, and closes conn. The status is
// the command's own, or 128+n if signal n ended it, or one of Status...; the
// last come with an error. All output was written when it returns. SIGUSR1 and
// SIGUSR2 go to the command alone, other signals to its process group, as a
// terminal sends them. Closing conn ends the command: SIGHUP, and SIGKILL two
// seconds later.
//
// Exec reads Stdin only as far as the command takes it, but a read that
// blocks cannot be taken back: it ends with the next input, after Exec.
func Exec(conn io.ReadWriteCloser, c Command, o IO) (status int, err error) {
	defer conn.Close()
	if err := writeLine(conn, Request{Op: OpExec, Command: &c}); err != nil {
		return StatusLost, fmt.Errorf("exec %s in the VM: %w", c.name(), err)
	}
	x := &execClient{w: frameWriter{w: conn}, done: make(chan struct{}), credit: stdinWindow}
	x.cond.L = &x.mu
	defer x.end()
	go x.sendStdin(o.Stdin)
	go x.sendEvents(o.Signals, o.Resize)
	r := frameReader{r: conn}
	for {
		typ, b, err := r.read()
		if err != nil {
			if err == io.EOF {
				err = errors.New("the connection ended before the command did")
			}
			return StatusLost, fmt.Errorf("exec %s in the VM: %w", c.name(), err)
		}
		switch typ {
		case frameStdout:
			err = output(o.Stdout, b)
		case frameStderr:
			err = output(o.Stderr, b)
		case frameCredit:
			x.grant(int(binary.BigEndian.Uint32(b)))
		case frameStdinDone:
			x.grant(-1)
		case frameExit:
			var e exit
			if err := json.Unmarshal(b, &e); err != nil {
				return StatusLost, fmt.Errorf("exec %s in the VM: exit: %w", c.name(), err)
			}
			if e.Error != "" {
				err = &RemoteError{Msg: e.Error}
			}
			return e.Status, err
		}
		if err != nil {
			return StatusLost, fmt.Errorf("exec %s in the VM: output: %w", c.name(), err)
		}
	}
}

func (c *Command) name() string {
	if len(c.Argv) == 0 {
		return "nothing"
	}
	return c.Argv[0]
}

func output(w io.Writer, b []byte) error {
	if w == nil {
		return nil
	}
	_, err := w.Write(b)
	return err
}

// execClient is the sending half of Exec.
type execClient struct {
	w    frameWriter
	done chan struct{}

	mu     sync.Mutex
	cond   sync.Cond
	credit int // bytes of input that may be sent; negative: none ever
}

func (x *execClient) end() {
	close(x.done)
	x.grant(-1)
}

// grant adds to the credit, or ends the input if n is negative.
func (x *execClient) grant(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n < 0 || x.credit < 0 {
		x.credit = -1
	} else {
		x.credit += n
	}
	x.cond.Broadcast()
}

// take waits for credit and returns how much there is, at most limit.
func (x *execClient) take(limit int) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.credit == 0 {
		x.cond.Wait()
	}
	return min(x.credit, limit)
}

func (x *execClient) spend(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.credit > 0 {
		x.credit -= n
	}
}

func (x *execClient) sendStdin(r io.Reader) {
	buf := make([]byte, chunk)
	for r != nil {
		n := x.take(len(buf))
		if n < 0 {
			return
		}
		n, err := r.Read(buf[:n])
		if n > 0 {
			x.spend(n)
			if x.w.write(frameStdin, buf[:n]) != nil {
				return // the reading half reports it
			}
		}
		if err != nil {
			break
		}
	}
	x.w.write(frameStdinEOF, nil)
}

func (x *execClient) sendEvents(signals <-chan os.Signal, resize <-chan Size) {
	for {
		select {
		case <-x.done:
			return
		case s, ok := <-signals:
			if !ok {
				signals = nil
			} else if n, ok := s.(syscall.Signal); ok {
				x.w.write32(frameSignal, uint32(n))
			}
		case z, ok := <-resize:
			if !ok {
				resize = nil
				continue
			}
			x.w.write32(frameResize, uint32(z.Rows)<<16|uint32(z.Cols))
		}
	}
}

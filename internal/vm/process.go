package vm

import (
	"bytes"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// Process is a process that does not outlive this one.
type Process struct {
	done chan struct{} // closed when it ended
	err  error         // as exec.Cmd.Wait returns it; valid after done
}

// StartProcess starts c. It gets SIGKILL when this process dies, in whatever way. The
// kernel ties that to the thread that forked, so that thread stays for as long
// as c runs. c has a session of its own: what a terminal sends (Ctrl-C) is not
// for it.
func StartProcess(c *exec.Cmd, stdout, stderr io.Writer) (*Process, error) {
	c.Stdout, c.Stderr = stdout, stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this function
		err := c.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = c.Wait()
		close(p.done)
	}()
	return p, <-started
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how it ended, as exec.Cmd.Wait returns it; valid after Done.
func (p *Process) Err() error { return p.err }

// Tail keeps the end of what is written to it.
type Tail struct {
	limit int // bytes

	mu sync.Mutex
	b  []byte
}

// NewTail keeps as many bytes.
func NewTail(limit int) *Tail { return &Tail{limit: limit} }

// Write implements io.Writer.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if len(t.b) > 2*t.limit {
		t.b = append(t.b[:0], t.b[len(t.b)-t.limit:]...)
	}
	return len(b), nil
}

// String is the end, as text without carriage returns.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.b
	if len(b) > t.limit {
		b = b[len(b)-t.limit:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(bytes.ReplaceAll(b, []byte("\r"), nil)), "?"))
}

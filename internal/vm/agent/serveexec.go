package agent

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// killAfter is how long a command that was hung up on has to end.
	killAfter = 2 * time.Second
	// lingerAfter is how long output is awaited from processes that a command
	// left behind. What it wrote itself is complete in any case.
	lingerAfter = time.Second
)

// execution is a command that runs for a stream.
type execution struct {
	p *process
	w frameWriter

	mu      sync.Mutex
	ended   bool
	input   [][]byte // not yet written to the command
	eof     bool     // no more will come
	arrived sync.Cond
}

// exec runs the command of a stream.
func (s *server) exec(c *served, cmd *Command) {
	x := &execution{w: frameWriter{w: c}}
	x.arrived.L = &x.mu
	p, err := cmd.start(&s.run, s.env)
	if err != nil {
		e := exit{Status: StatusCannotRun, Error: err.Error()}
		var se *startError
		if errors.As(err, &se) {
			e.Status = se.status
		}
		x.exit(e)
		c.end()
		io.Copy(io.Discard, c)
		return
	}
	x.p = p
	read := make(chan struct{})
	go func() {
		x.frames(&frameReader{r: c})
		c.hangup()
		close(read)
	}()
	go x.feed()
	var pumps sync.WaitGroup
	for i, r := range p.outputs() {
		pumps.Go(func() { x.pump(r.(*os.File), "or"[i]) })
	}
	status := x.wait(c)
	pumps.Wait()
	x.stopFeeding()
	p.close()
	x.exit(exit{Status: status})
	c.end()
	<-read // the host closes when it has the status
}

func (x *execution) exit(e exit) {
	b, _ := json.Marshal(e)
	x.w.write(frameExit, b)
}

// wait returns how the command ended; if the host hangs up, it ends it. Output
// is awaited for lingerAfter from then on.
func (x *execution) wait(c *served) int {
	var w syscall.WaitStatus
	select {
	case w = <-x.p.ended:
	case <-c.gone:
		syscall.Kill(-x.p.pid, syscall.SIGHUP)
		syscall.Kill(-x.p.pid, syscall.SIGCONT) // a stopped command would not see it
		select {
		case w = <-x.p.ended:
		case <-time.After(killAfter):
			syscall.Kill(-x.p.pid, syscall.SIGKILL)
			w = <-x.p.ended
		}
		// Others of its group may have ignored SIGHUP.
		time.AfterFunc(killAfter, func() { syscall.Kill(-x.p.pid, syscall.SIGKILL) })
	}
	x.mu.Lock()
	x.ended = true
	x.mu.Unlock()
	for _, r := range x.p.outputs() {
		r.(*os.File).SetReadDeadline(time.Now().Add(lingerAfter))
	}
	if w.Signaled() {
		return StatusSignalBase + int(w.Signal())
	}
	return w.ExitStatus()
}

// signal sends a signal unless the command has ended.
func (x *execution) signal(n syscall.Signal) {
	if n <= 0 || n > 64 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.ended:
	case n == syscall.SIGUSR1 || n == syscall.SIGUSR2:
		syscall.Kill(x.p.pid, n)
	default:
		syscall.Kill(-x.p.pid, n)
	}
}

// frames reads what the host sends until the stream ends. Nothing here blocks
// on the command: a signal must pass input that it does not read.
func (x *execution) frames(r *frameReader) {
	queued := 0
	for {
		typ, b, err := r.read()
		if err != nil {
			return
		}
		switch typ {
		case frameStdin:
			if queued = x.queue(b); queued > stdinWindow {
				return // the host does not keep to its credit
			}
		case frameStdinEOF:
			x.mu.Lock()
			x.eof = true
			x.arrived.Signal()
			x.mu.Unlock()
		case frameSignal:
			x.signal(syscall.Signal(binary.BigEndian.Uint32(b)))
		case frameResize:
			v := binary.BigEndian.Uint32(b)
			x.p.resize(uint16(v>>16), uint16(v))
		default:
			return
		}
	}
}

// queue keeps input for feed and returns how many bytes wait.
func (x *execution) queue(b []byte) (waiting int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.eof && len(b) > 0 {
		x.input = append(x.input, append([]byte(nil), b...))
		x.arrived.Signal()
	}
	for _, b := range x.input {
		waiting += len(b)
	}
	return waiting
}

func (x *execution) stopFeeding() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.input, x.eof = nil, true
	x.arrived.Signal()
}

// feed writes the input to the command and gives the host credit for it.
func (x *execution) feed() {
	last := byte('\n')
	for {
		x.mu.Lock()
		for len(x.input) == 0 && !x.eof {
			x.arrived.Wait()
		}
		if len(x.input) == 0 {
			ended := x.ended
			x.mu.Unlock()
			if x.p.tty == nil {
				x.p.stdin.Close()
			} else if !ended {
				x.p.tty.Write(endOfInput(last))
			}
			return
		}
		b := x.input[0]
		x.mu.Unlock()
		_, err := x.p.stdin.Write(b)
		last = b[len(b)-1]
		x.mu.Lock()
		if len(x.input) > 0 {
			x.input = x.input[1:]
		}
		x.mu.Unlock()
		if err != nil {
			x.stopFeeding()
			x.w.write(frameStdinDone, nil)
			return
		}
		x.w.write32(frameCredit, uint32(len(b)))
	}
}

// endOfInput is what a user types for it: in the middle of a line the first
// only hands over the line.
func endOfInput(last byte) []byte {
	if last == '\n' || last == '\r' {
		return []byte{4}
	}
	return []byte{4, 4}
}

// pump sends output until nobody can write any more, or the deadline that wait
// sets; then it sends what is there without waiting.
func (x *execution) pump(f *os.File, typ byte) {
	buf := make([]byte, chunk)
	for {
		n, err := f.Read(buf)
		if n > 0 && x.w.write(typ, buf[:n]) != nil {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return
		}
	}
	f.SetReadDeadline(time.Time{})
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	// A process left behind that writes without end must not hold us: what
	// fits into a pipe is all that the command itself can have left in it.
	for left := 1 << 20; left > 0; {
		n := 0
		raw.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), buf)
			return true
		})
		if n <= 0 || x.w.write(typ, buf[:n]) != nil {
			return
		}
		left -= n
	}
}

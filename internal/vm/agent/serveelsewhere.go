package agent

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// ServeExec serves one stream of Exec whose command runs by other means than
// this package's server, and closes the stream. run gets the command and what it
// is connected to, and returns its status; its context ends when the client
// hangs up. An error of run is told to the client with the status.
func ServeExec(conn io.ReadWriteCloser, run func(ctx context.Context, c Command, o IO) (status int, err error)) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	q, err := readRequest(r)
	if err == nil && q.Op != OpExec {
		err = fmt.Errorf("request: %q is not served here", q.Op)
	}
	if err != nil {
		writeLine(conn, failed(err))
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := &frameWriter{w: conn}
	in := &inputQueue{w: w}
	in.arrived.L = &in.mu
	signals, sizes := make(chan os.Signal, 16), make(chan Size, 1)
	go func() {
		elsewhere(&frameReader{r: r}, in, signals, sizes)
		in.end()
		cancel()
	}()
	status, err := run(ctx, *q.Command, IO{
		Stdin: in, Stdout: frameOutput{w, frameStdout}, Stderr: frameOutput{w, frameStderr}, Signals: signals, Resize: sizes,
	})
	e := exit{Status: status}
	if err != nil {
		e.Error = err.Error()
	}
	b, _ := json.Marshal(e)
	w.write(frameExit, b)
}

// elsewhere reads what the client sends until the stream ends. It does not wait
// for the command: a signal must pass input that is not read.
func elsewhere(r *frameReader, in *inputQueue, signals chan<- os.Signal, sizes chan<- Size) {
	for {
		typ, b, err := r.read()
		if err != nil {
			return
		}
		switch typ {
		case frameStdin:
			if !in.add(b) {
				return // the client does not keep to its credit
			}
		case frameStdinEOF:
			in.end()
		case frameSignal:
			select {
			case signals <- syscall.Signal(binary.BigEndian.Uint32(b)):
			default: // it is being flooded
			}
		case frameResize:
			v := binary.BigEndian.Uint32(b)
			select {
			case sizes <- Size{uint16(v >> 16), uint16(v)}:
			default: // the next will tell
			}
		default:
			return
		}
	}
}

// inputQueue is the command's standard input: what was sent and not yet read.
type inputQueue struct {
	w       *frameWriter
	mu      sync.Mutex
	arrived sync.Cond
	b       []byte
	eof     bool
}

func (q *inputQueue) add(b []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.eof {
		q.b = append(q.b, b...)
		q.arrived.Signal()
	}
	return len(q.b) <= stdinWindow
}

func (q *inputQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.eof = true
	q.arrived.Broadcast()
}

// Read implements io.Reader; what it takes may be sent anew.
func (q *inputQueue) Read(b []byte) (int, error) {
	q.mu.Lock()
	for len(q.b) == 0 && !q.eof {
		q.arrived.Wait()
	}
	if len(q.b) == 0 {
		q.mu.Unlock()
		return 0, io.EOF
	}
	n := copy(b, q.b)
	q.b = append(q.b[:0], q.b[n:]...)
	q.mu.Unlock()
	return n, q.w.write32(frameCredit, uint32(n))
}

// frameOutput sends what is written as frames.
type frameOutput struct {
	w   *frameWriter
	typ byte
}

func (o frameOutput) Write(b []byte) (int, error) {
	for n := 0; n < len(b); n += chunk {
		if err := o.w.write(o.typ, b[n:min(n+chunk, len(b))]); err != nil {
			return n, err
		}
	}
	return len(b), nil
}

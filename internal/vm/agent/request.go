package agent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// The operations of a Request.
const (
	OpExec     = "exec"
	OpDial     = "dial"
	OpPut      = "put"
	OpGet      = "get"
	OpHello    = "hello"
	OpHangup   = "hangup"
	OpPowerOff = "poweroff"
)

// maxRequest bounds a request line, in bytes. Linux takes about 2 MiB of
// arguments and environment; JSON can double what it quotes.
const maxRequest = 8 << 20

// maxReply bounds a reply line, in bytes.
const maxReply = 64 << 10

// Request opens every stream, as one line of JSON.
type Request struct {
	Op      string   `json:"op"`
	Path    string   `json:"path,omitempty"`    // dial, put, get
	Mode    uint32   `json:"mode,omitempty"`    // put: permission bits
	Stream  uint32   `json:"stream,omitempty"`  // hangup: the yamux number of the stream
	Command *Command `json:"command,omitempty"` // exec
}

// Reply answers a request, as one line of JSON.
type Reply struct {
	Error string `json:"error,omitempty"` // empty: it was done
	Errno int    `json:"errno,omitempty"` // the cause, where it is a system error
	Hello *Hello `json:"hello,omitempty"`
}

// Hello is what the guest tells about itself when it is ready.
type Hello struct {
	Release  string   `json:"release"`            // as uname -r
	UptimeMS int64    `json:"uptime_ms"`          // age of the guest's kernel when it was ready, milliseconds
	Modules  []string `json:"modules"`            // that were loaded
	Warnings []string `json:"warnings,omitempty"` // what did not work, though the guest can be used
}

// RemoteError is an error that happened in the guest. It unwraps to the system
// error, so that errors.Is(err, fs.ErrNotExist) works.
type RemoteError struct {
	Msg   string
	Errno syscall.Errno // 0 if it was no system error
}

func (e *RemoteError) Error() string { return "in the VM: " + e.Msg }

// Unwrap returns the system error, or nil.
func (e *RemoteError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

func (r *Reply) err() error {
	if r.Error == "" {
		return nil
	}
	return &RemoteError{Msg: r.Error, Errno: syscall.Errno(r.Errno)}
}

func failed(err error) Reply {
	r := Reply{Error: err.Error()}
	var no syscall.Errno
	if errors.As(err, &no) {
		r.Errno = int(no)
	}
	return r
}

func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// readRequest reads the line that opens a stream.
func readRequest(r *bufio.Reader) (*Request, error) {
	line, err := readLine(r, maxRequest)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	q := &Request{}
	if err := json.Unmarshal(line, q); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	switch q.Op {
	case OpExec:
		if q.Command == nil || len(q.Command.Argv) == 0 || q.Command.Argv[0] == "" {
			return nil, fmt.Errorf("request: %s without a command", q.Op)
		}
		for _, s := range append(append([]string{q.Command.Dir, q.Command.Term}, q.Command.Argv...), q.Command.Env...) {
			if strings.ContainsRune(s, 0) {
				return nil, fmt.Errorf("request: a zero byte in %.40q", s)
			}
		}
	case OpDial, OpPut, OpGet:
		if q.Path == "" {
			return nil, fmt.Errorf("request: %s without a path", q.Op)
		}
	case OpHello, OpHangup, OpPowerOff:
	default:
		return nil, fmt.Errorf("request: %q is not an operation", q.Op)
	}
	return q, nil
}

// readReply reads a reply line and not a byte more: what follows it may belong
// to the caller.
func readReply(r io.Reader) (*Reply, error) {
	line, err := readLine(oneByte{r}, maxReply)
	if err != nil {
		return nil, fmt.Errorf("the VM's agent does not answer: %w", err)
	}
	p := &Reply{}
	if err := json.Unmarshal(line, p); err != nil {
		return nil, fmt.Errorf("answer of the VM's agent: %w", err)
	}
	return p, p.err()
}

type oneByte struct{ r io.Reader }

func (o oneByte) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(o.r, b[:])
	return b[0], err
}

func readLine(r io.ByteReader, limit int) ([]byte, error) {
	var line []byte
	for {
		b, err := r.ReadByte()
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if b == '\n' {
			return line, nil
		}
		if len(line) == limit {
			return nil, fmt.Errorf("a line of more than %d bytes", limit)
		}
		line = append(line, b)
	}
}

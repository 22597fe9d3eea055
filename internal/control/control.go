// Package control is the conversation between the command line and the daemon
// of a fabric: over a unix stream socket the client sends one JSON line, the
// daemon answers with one JSON line, and for some requests the connection then
// belongs to what was asked for (a program's verbs session, a capture stream).
package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// MaxLine bounds a request or an answer in bytes: the status of the largest
// fabric fits.
const MaxLine = 16 << 20

// Request asks for one operation.
type Request struct {
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Response answers a Request: an error text for the user, or data.
type Response struct {
	Error string          `json:"error,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// ErrNoDaemon is returned by Dial when nothing listens.
var ErrNoDaemon = errors.New("no daemon answers")

// Dial connects to the daemon that listens at path.
func Dial(path string) (*net.UnixConn, error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoDaemon, path, err)
	}
	return c, nil
}

// Send sends a request on a connection of any kind, without waiting for the
// answer.
func Send(w io.Writer, r Request) error { return writeLine(w, r) }

// Call sends a request on c and decodes the answer's data into out, which may
// be nil. The connection stays open.
func Call(c *net.UnixConn, op string, args, out any) error {
	var raw json.RawMessage
	if args != nil {
		b, err := json.Marshal(args)
		if err != nil {
			return fmt.Errorf("%s: encode: %w", op, err)
		}
		raw = b
	}
	if err := writeLine(c, Request{Op: op, Args: raw}); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	line, err := readLine(c)
	if err != nil {
		return fmt.Errorf("%s: the daemon hung up: %w", op, err)
	}
	var r Response
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("%s: answer: %w", op, err)
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(r.Data, out); err != nil {
		return fmt.Errorf("%s: answer: %w", op, err)
	}
	return nil
}

func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) >= MaxLine {
		return fmt.Errorf("line of %d bytes exceeds %d", len(b), MaxLine)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// readLine reads up to a newline and not one byte more: what follows on the
// connection, descriptors included, is for somebody else. It therefore peeks
// before it reads.
func readLine(c *net.UnixConn) ([]byte, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var line []byte
	buf := make([]byte, 64<<10)
	for len(line) < MaxLine {
		n, err := peek(raw, buf)
		if err != nil {
			return nil, err
		}
		end := bytes.IndexByte(buf[:n], '\n')
		if end >= 0 {
			n = end + 1
		}
		if _, err := io.ReadFull(c, buf[:n]); err != nil {
			return nil, err
		}
		if end >= 0 {
			return append(line, buf[:end]...), nil
		}
		line = append(line, buf[:n]...)
	}
	return nil, fmt.Errorf("line exceeds %d bytes", MaxLine)
}

// peek waits for data and looks at it without taking it.
func peek(raw syscall.RawConn, buf []byte) (int, error) {
	var n int
	var err error
	if e := raw.Read(func(fd uintptr) bool {
		n, _, err = unix.Recvfrom(int(fd), buf, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err != unix.EAGAIN && err != unix.EINTR
	}); e != nil {
		return 0, e
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	return n, err
}

// requestTimeout bounds how long a client may take to say what it wants.
const requestTimeout = 10 * time.Second

// readRequest reads a request from a connection that has just been accepted.
func readRequest(c *net.UnixConn) (Request, error) {
	var r Request
	if err := c.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return r, err
	}
	line, err := readLine(c)
	if err != nil {
		return r, err
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, fmt.Errorf("request: %w", err)
	}
	return r, c.SetReadDeadline(time.Time{})
}

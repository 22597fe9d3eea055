package agent

import (
	"bufio"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/yamux"
)

// server is the guest's side: it serves the requests of streams.
type server struct {
	run      starter
	hello    Hello
	env      []string // of commands
	powerOff func()

	mu      sync.Mutex
	streams map[uint32]*served // by the number that yamux gave them
}

// served is one stream.
type served struct {
	io.Writer
	r    *bufio.Reader
	conn io.Closer
	end  func() error // half-close
	gone chan struct{}
	once sync.Once
}

func (c *served) Read(b []byte) (int, error) { return c.r.Read(b) }

// hangup tells the stream's handler that nobody reads its output.
func (c *served) hangup() { c.once.Do(func() { close(c.gone) }) }

// serve takes streams from the port until it ends.
func (s *server) serve(conn io.ReadWriteCloser) error {
	m, err := yamux.Server(conn, muxConfig())
	if err != nil {
		return err
	}
	defer m.Close()
	for {
		y, err := m.AcceptStream()
		if err != nil {
			return err
		}
		// yamux: Close is a half-close; the stream is gone when both sides did.
		go s.stream(y, y.StreamID(), y.Close)
	}
}

// stream serves one stream and closes it. id is 0 if it has no number, and
// closeWrite its half-close.
func (s *server) stream(conn io.ReadWriteCloser, id uint32, closeWrite func() error) {
	c := &served{Writer: conn, r: bufio.NewReader(conn), conn: conn, end: closeWrite, gone: make(chan struct{})}
	defer conn.Close()
	if id != 0 {
		s.mu.Lock()
		if s.streams == nil {
			s.streams = map[uint32]*served{}
		}
		s.streams[id] = c
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			delete(s.streams, id)
			s.mu.Unlock()
		}()
	}
	q, err := readRequest(c.r)
	if err != nil {
		writeLine(c, failed(err))
		return
	}
	switch q.Op {
	case OpExec:
		s.exec(c, q.Command)
		return // it has read the stream to its end, or nobody is there
	case OpDial:
		dial(c, q.Path)
	case OpPut:
		err = put(c, q)
	case OpGet:
		err = get(c, q.Path)
	case OpHello:
		err = writeLine(c, Reply{Hello: &s.hello})
	case OpHangup:
		s.mu.Lock()
		other := s.streams[q.Stream]
		s.mu.Unlock()
		if other != nil {
			other.hangup()
		}
	case OpPowerOff:
		if s.powerOff == nil {
			err = fmt.Errorf("this agent is not process 1")
			break
		}
		s.powerOff()
	}
	if err != nil {
		writeLine(c, failed(err))
	}
}

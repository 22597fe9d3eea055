package agent

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// muxConfig has no time limits: an emulated guest may stand still for seconds
// on a busy machine, and the end of the port tells that the other side is gone.
func muxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.AcceptBacklog = 1024
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = 24 * time.Hour
	c.StreamOpenTimeout = 0
	c.StreamCloseTimeout = 0 // a half-closed stream may live for long
	c.LogOutput = io.Discard
	return c
}

// Session is the host's end of the port.
type Session struct{ mux *yamux.Session }

// NewSession begins to use conn, the host's end of the port. It does not wait
// for the guest.
func NewSession(conn io.ReadWriteCloser) (*Session, error) {
	m, err := yamux.Client(conn, muxConfig())
	if err != nil {
		return nil, err
	}
	return &Session{m}, nil
}

// Open gives a fresh stream to the agent. It does not wait for the guest.
func (s *Session) Open() (*Stream, error) {
	y, err := s.mux.OpenStream()
	if err != nil {
		if errors.Is(err, yamux.ErrSessionShutdown) {
			err = errors.New("the VM has ended")
		}
		return nil, fmt.Errorf("open a stream to the VM: %w", err)
	}
	return &Stream{y: y, s: s}, nil
}

// Done is closed when the port ended.
func (s *Session) Done() <-chan struct{} { return s.mux.CloseChan() }

// Close ends the port, and with it all streams; the guest powers off.
func (s *Session) Close() error { return s.mux.Close() }

// Stream is a stream to the agent.
type Stream struct {
	y    *yamux.Stream
	s    *Session
	once sync.Once
}

func (s *Stream) Read(b []byte) (int, error)  { return s.y.Read(b) }
func (s *Stream) Write(b []byte) (int, error) { return s.y.Write(b) }

// CloseWrite tells the guest that no more bytes come; reading goes on.
func (s *Stream) CloseWrite() error { return s.y.Close() }

// hangupAfter is how long the guest has to end a stream by itself once the
// host closed it.
const hangupAfter = time.Second

// Close ends both directions. Bytes that were written still arrive; what the
// guest sends from now on is thrown away.
func (s *Stream) Close() error {
	err := s.y.Close()
	s.once.Do(func() { go s.drain() })
	return err
}

// drain reads until the guest ends its direction too. yamux closes only half a
// stream: left unread, its window would fill and the guest would wait for ever.
// A guest that goes on is told that nobody listens.
func (s *Stream) drain() {
	buf := make([]byte, chunk)
	end := time.Now().Add(hangupAfter)
	s.y.SetReadDeadline(end)
	for told := false; ; {
		_, err := s.y.Read(buf)
		if !told && (errors.Is(err, yamux.ErrTimeout) || err == nil && time.Now().After(end)) {
			told = true
			s.y.SetReadDeadline(time.Time{})
			if c, err := s.s.mux.OpenStream(); err == nil {
				writeLine(c, Request{Op: OpHangup, Stream: s.y.StreamID()})
				c.Close()
			}
			continue
		}
		if err != nil {
			return
		}
	}
}

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// Handler serves one operation. It returns the data of the answer. If it
// returns a Takeover, the answer is sent and the connection is then handed to
// it; it is closed when the function returns.
type Handler func(args json.RawMessage) (any, error)

// Takeover is an answer after which the connection changes its protocol.
type Takeover struct {
	Data any
	Run  func(c *net.UnixConn)
}

// Server accepts connections for one daemon.
type Server struct {
	l        *net.UnixListener
	path     string
	handlers map[string]Handler
	relay    func(Request, *net.UnixConn)

	mu     sync.Mutex
	conns  map[*net.UnixConn]bool
	closed bool
	wg     sync.WaitGroup
}

// Listen creates the socket, readable and writable for its owner only.
func Listen(path string) (*Server, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	return &Server{l: l, path: path, handlers: map[string]Handler{}, conns: map[*net.UnixConn]bool{}}, nil
}

// Handle registers the handler of an operation; before Serve.
func (s *Server) Handle(op string, h Handler) { s.handlers[op] = h }

// Relay registers what serves all operations without a handler; before Serve.
// It answers on the connection itself, which is closed when it returns.
func (s *Server) Relay(f func(Request, *net.UnixConn)) { s.relay = f }

// Refuse answers a request with an error; for what Relay registered.
func Refuse(c *net.UnixConn, err error) { writeLine(c, Response{Error: err.Error()}) }

// Serve accepts connections until Close, each in a goroutine of its own.
func (s *Server) Serve() error {
	for {
		c, err := s.l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("control socket %s: %w", s.path, err)
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			c.Close()
			return nil
		}
		s.conns[c] = true
		s.wg.Add(1)
		s.mu.Unlock()
		go s.one(c)
	}
}

func (s *Server) one(c *net.UnixConn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		s.wg.Done()
	}()
	req, err := readRequest(c)
	if err != nil {
		writeLine(c, Response{Error: err.Error()})
		return
	}
	h := s.handlers[req.Op]
	if h == nil && s.relay != nil {
		s.relay(req, c)
		return
	}
	if h == nil {
		writeLine(c, Response{Error: fmt.Sprintf("operation %q is unknown to this daemon: is the command line of another version?", req.Op)})
		return
	}
	data, err := h(req.Args)
	if err != nil {
		writeLine(c, Response{Error: err.Error()})
		return
	}
	take, _ := data.(*Takeover)
	if take != nil {
		data = take.Data
	}
	raw, err := json.Marshal(data)
	if err != nil {
		writeLine(c, Response{Error: fmt.Sprintf("%s: encode answer: %v", req.Op, err)})
		return
	}
	if writeLine(c, Response{Data: raw}) == nil && take != nil {
		take.Run(c)
	}
}

// Close stops accepting, closes every connection, removes the socket and waits
// for the handlers.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.l.Close()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	os.Remove(s.path)
}

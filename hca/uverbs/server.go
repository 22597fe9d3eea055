// Package uverbs plays the kernel's uverbs ABI to unmodified verbs programs:
// what they ask by ioctl on /dev/infiniband/uverbsN becomes calls into package
// hca. Programs are started by package launch, whose filter traps those ioctls
// and nothing else; work requests and completions pass through rings in shared
// memory without any system call, and a doorbell is a write to a memory file.
//
// Read include/uapi/rdma/{ib_user_ioctl_cmds,ib_user_verbs,rdma_user_rxe}.h of
// Linux before editing. Everything that a program says is checked here once.
//
// Threads: each session (one `cnuas exec`) has a locked thread that answers its
// notifications. It touches hca objects only inside Config.Do, which holds the
// engine. The doorbell methods of Server are called by the engine's own thread.
package uverbs

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Config of a Server.
type Config struct {
	Fabric string

	// Do runs f on the calling goroutine while the engine stands still, and
	// soon: before the engine's thread goes on. It is not reentrant.
	Do func(f func())

	// Log receives one line per event that a user may want to know; nil
	// discards them. It may be called with the engine held and must not wait.
	Log func(format string, args ...any)

	Limits Limits // zero values take the defaults
}

// Limits bound what one program can take of the daemon.
type Limits struct {
	Contexts  int   // open devices per session; default 256
	Objects   int   // objects of all kinds per context; default 65536
	RingBytes int64 // memory of the queues of a context; default 256 MiB
	Processes int   // processes whose memory one context may use; default and most 16
	Channels  int   // event channels per context; default 1024
}

func (l *Limits) setDefaults() {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&l.Contexts, 256)
	def(&l.Objects, 65536)
	def(&l.Processes, maxProcs)
	def(&l.Channels, 1024)
	l.Processes = min(l.Processes, maxProcs)
	if l.RingBytes == 0 {
		l.RingBytes = 256 << 20
	}
}

// ErrClosed is returned by calls on a server or a node that was closed.
var ErrClosed = errors.New("verbs server is closed")

// Server serves the verbs programs of all nodes of a fabric.
type Server struct {
	cfg    Config
	watch  *watcher
	dog    watchdog
	copier copier // engine held
	bells  bells  // engine held

	mu     sync.Mutex
	nodes  []*Node
	closed bool
	wait   sync.WaitGroup // the watcher's and the watchdog's goroutines
}

// NewServer returns a server without nodes.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Do == nil {
		return nil, fmt.Errorf("verbs server: no way to hold the engine")
	}
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	cfg.Limits.setDefaults()
	s := &Server{cfg: cfg}
	var err error
	if s.watch, err = newWatcher(); err != nil {
		return nil, fmt.Errorf("verbs server: %w", err)
	}
	if err = s.bells.init(); err != nil {
		s.watch.close()
		return nil, fmt.Errorf("verbs server: %w", err)
	}
	s.dog.init(s)
	s.wait.Go(s.watch.run)
	s.wait.Go(s.dog.run)
	return s, nil
}

func (s *Server) do(f func()) { s.cfg.Do(f) }

func (s *Server) drop(n *Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.nodes, n); i >= 0 {
		s.nodes = slices.Delete(s.nodes, i, i+1)
	}
}

func (s *Server) list() []*Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.nodes)
}

// Close ends all sessions and frees everything. Config.Do must still work; the
// engine's thread must not call the doorbell methods any more.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	var errs []error
	for _, n := range s.list() {
		errs = append(errs, n.Close())
	}
	s.watch.wake()
	s.dog.stop()
	s.wait.Wait()
	s.watch.close()
	s.do(s.bells.close)
	return errors.Join(errs...)
}

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
	"sync"
)

// Config of a Server.
type Config struct {
	Fabric string

	// Do runs f on the calling goroutine while the engine stands still, and
	// soon: before the engine's thread goes on. It is not reentrant.
	Do func(f func())

	// Log receives one line per event that a user may want to know; nil
	// discards them.
	Log func(format string, args ...any)

	Limits Limits // zero values take the defaults
}

// Limits bound what one program can take of the daemon.
type Limits struct {
	Contexts  int   // open devices per session; default 256
	Objects   int   // objects of all kinds per context; default 65536
	RingBytes int64 // memory of the queues of a context; default 1 GiB
	Processes int   // processes whose memory one context may use; default 16
	Channels  int   // completion channels per context; default 1024
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
		l.RingBytes = 1 << 30
	}
}

// ErrClosed is returned by calls on a server or a node that was closed.
var ErrClosed = errors.New("verbs server is closed")

// Server serves the verbs programs of all nodes of a fabric.
type Server struct {
	cfg Config

	mu     sync.Mutex
	nodes  []*Node
	closed bool
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
	return &Server{cfg: cfg}, nil
}

// Close ends all sessions and frees everything. The engine's thread must have
// stopped calling the doorbell methods, or Do must still work.
func (s *Server) Close() error { return nil }

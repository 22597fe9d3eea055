package uverbs

import (
	gocontext "context"
	"fmt"
	"strings"
	"sync"

	"cnuas/hca"
	"cnuas/hca/uverbs/memfile"
)

// Device is an HCA as the programs of a node see it.
type Device struct {
	HCA     *hca.Device
	Name    string // as programs name it; must begin with "rxe" for the provider to match
	NetDev  string // interface of the port in the node's namespace: "eth0"
	IfIndex int    // its index there; 0 if not known
	Rate    int64  // of the port's link, bits per second; what programs are told
}

// NodeConfig describes a node to a Server.
type NodeConfig struct {
	Name    string
	Devices []Device // device i is /dev/infiniband/uverbs<i>
	Kinds   []Kind   // other device files that the node's programs find

	// Resolve finds the MAC address of the next hop towards dgid for a device
	// of the node, as its namespace's routes and neighbours say. It may take a
	// while, and is called without the engine. An error makes the program's
	// transition to RTR fail with EHOSTUNREACH; errors that wrap an errno keep it.
	Resolve func(ctx gocontext.Context, dev int, dgid, sgid hca.GID) (mac [6]byte, err error)
}

// Node is a node whose programs are served.
type Node struct {
	srv *Server
	cfg NodeConfig

	mu       sync.Mutex
	closed   bool
	contexts map[fileID]*context
	files    map[fileID]plugged
	sessions map[*session]struct{}
	idle     sync.WaitGroup // sessions

	sysfs sysfs
}

// AddNode registers a node. Its devices must outlive it.
func (s *Server) AddNode(cfg NodeConfig) (*Node, error) {
	for _, d := range cfg.Devices {
		if d.HCA == nil || !strings.HasPrefix(d.Name, "rxe") {
			return nil, fmt.Errorf("node %s: device %q: the name must begin with rxe, which selects the provider in programs", cfg.Name, d.Name)
		}
	}
	n := &Node{srv: s, cfg: cfg, contexts: map[fileID]*context{}, files: map[fileID]plugged{}, sessions: map[*session]struct{}{}}
	n.sysfs.init(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.nodes = append(s.nodes, n)
	return n, nil
}

// Name of the node.
func (n *Node) Name() string { return n.cfg.Name }

func (n *Node) enter(s *session) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return fmt.Errorf("node %s: %w", n.cfg.Name, ErrClosed)
	}
	n.sessions[s] = struct{}{}
	n.sysfs.active(n.activeLocked())
	n.idle.Add(1)
	return nil
}

func (n *Node) leave(s *session) {
	n.mu.Lock()
	delete(n.sessions, s)
	n.sysfs.active(n.activeLocked())
	n.mu.Unlock()
	n.idle.Done()
}

// activeLocked is how many there are that make counters move: contexts and, on
// InfiniBand, where programs send MADs without one, sessions.
func (n *Node) activeLocked() int {
	for i := range n.cfg.Devices {
		if n.cfg.Devices[i].HCA.IB() != nil {
			return len(n.contexts) + len(n.sessions)
		}
	}
	return len(n.contexts)
}

// remember makes the context known by its descriptor.
func (n *Node) remember(c *context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return ErrClosed
	}
	if c.sess.open >= n.srv.cfg.Limits.Contexts {
		return hca.ErrNoMemory
	}
	c.sess.open++
	n.contexts[c.file.id] = c
	n.sysfs.active(n.activeLocked())
	return nil
}

// forget is called by a context that closes.
func (n *Node) forget(c *context) {
	n.mu.Lock()
	known := n.contexts[c.file.id] == c
	if known {
		delete(n.contexts, c.file.id)
		c.sess.open--
		n.sysfs.active(n.activeLocked())
	}
	n.mu.Unlock()
	if known {
		c.sess.tell(memfile.Note{File: c.file.id.ino, FD: -1})
	}
}

func (n *Node) context(id fileID) *context {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.contexts[id]
}

// closeContexts closes the contexts that were opened in a session; all of them
// if s is nil.
func (n *Node) closeContexts(s *session) {
	n.mu.Lock()
	var list []*context
	for _, c := range n.contexts {
		if s == nil || c.sess == s {
			list = append(list, c)
		}
	}
	n.mu.Unlock()
	for _, c := range list {
		c.close()
	}
}

// Close ends the node's sessions: programs see their devices vanish. It
// returns when the last call has been answered.
func (n *Node) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	for s := range n.sessions {
		s.lst.Stop()
	}
	n.mu.Unlock()
	n.idle.Wait()
	n.closeContexts(nil)
	n.sysfs.close()
	n.srv.drop(n)
	return nil
}

// Usage counts what the node's programs have open.
type Usage struct {
	Sessions, Contexts, QPs, CQs, MRs int
}

// Usage returns the present numbers.
func (n *Node) Usage() (u Usage) {
	n.mu.Lock()
	u.Sessions, u.Contexts = len(n.sessions), len(n.contexts)
	var list []*context
	for _, c := range n.contexts {
		list = append(list, c)
	}
	n.mu.Unlock()
	for _, c := range list {
		c.mu.Lock()
		for _, o := range c.objects {
			switch o.kind {
			case kindQP:
				u.QPs++
			case kindCQ:
				u.CQs++
			case kindMR:
				u.MRs++
			}
		}
		c.mu.Unlock()
	}
	return u
}

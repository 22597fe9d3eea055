package uverbs

import (
	"context"
	"net"

	"cnuas/hca"
)

// Device is an HCA as the programs of a node see it.
type Device struct {
	HCA    *hca.Device
	Name   string // as programs name it; must begin with "rxe" for the provider to match
	NetDev string // interface of the port in the node's namespace: "eth0"
	Rate   int64  // of the port's link, bits per second; what programs are told
}

// NodeConfig describes a node to a Server.
type NodeConfig struct {
	Name    string
	Devices []Device // device i is /dev/infiniband/uverbs<i>

	// Resolve finds the MAC address of the next hop towards dgid for a device
	// of the node, as its namespace's routes and neighbours say. It may take a
	// while, and is called without the engine. An error makes the program's
	// transition to RTR fail with EHOSTUNREACH; errors that wrap an errno keep it.
	Resolve func(ctx context.Context, dev int, dgid, sgid hca.GID) (mac [6]byte, err error)
}

// Node is a node whose programs are served.
type Node struct {
	srv *Server
	cfg NodeConfig
}

// AddNode registers a node. Its devices must outlive it.
func (s *Server) AddNode(cfg NodeConfig) (*Node, error) { return &Node{srv: s, cfg: cfg}, nil }

// Name of the node.
func (n *Node) Name() string { return n.cfg.Name }

// Attach serves one session of package launch over conn until its last program
// has ended, and closes conn. Call it on a goroutine of its own, after the
// request and its answer have been exchanged.
func (n *Node) Attach(conn *net.UnixConn) error { return nil }

// Close ends the node's sessions: programs see their devices vanish.
func (n *Node) Close() error { return nil }

// Usage counts what the node's programs have open.
type Usage struct {
	Sessions, Contexts, QPs, CQs, MRs int
}

// Usage returns the present numbers.
func (n *Node) Usage() Usage { return Usage{} }

// WriteSysfs writes what programs read of the node's devices below dir, one
// directory per class (infiniband, infiniband_verbs), and keeps it current
// until the node is closed: port state, GIDs, counters. package launch mounts
// those directories over /sys/class in the programs' view. dir should be on a
// tmpfs.
func WriteSysfs(dir string, n *Node) error { return nil }

package host

import (
	"errors"
	"fmt"
	"sync"
)

// NodeConfig describes the kernel side of a node.
type NodeConfig struct {
	Name string // of the namespace
	TAPs []TAPConfig

	// Discard binds a socket to UDP port 4791 that swallows what the NIC shows
	// to captures; a kernel RDMA stack needs the port for itself.
	Discard bool
}

// Node is a namespace with its interfaces and what the emulated NIC needs of it.
type Node struct {
	*NS
	TAPs    []*TAP
	Watch   *Watch
	discard *Discard
}

// NewNode creates a node, recorded in j where it was planned. On an error
// nothing of it is left.
func NewNode(j *Journal, cfg NodeConfig) (*Node, error) {
	ns, err := Create(cfg.Name, j.Marker(), func(ino uint64) error { return j.Created(cfg.Name, ino) })
	if err != nil {
		return nil, err
	}
	n := &Node{NS: ns}
	if err := n.fill(cfg); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) fill(cfg NodeConfig) (err error) {
	for _, c := range cfg.TAPs {
		t, err := n.AddTAP(c)
		if err != nil {
			return err
		}
		n.TAPs = append(n.TAPs, t)
	}
	if len(n.TAPs) == 0 {
		return nil
	}
	if n.Watch, err = n.NS.Watch(); err != nil {
		return err
	}
	if cfg.Discard {
		n.discard, err = n.Discard()
	}
	return err
}

// Close destroys the interfaces and removes the namespace. Stop polling the
// TAPs first. Processes that are still in the namespace keep it, without a name
// and without its interfaces.
func (n *Node) Close() error {
	var errs []error
	for _, t := range n.TAPs {
		errs = append(errs, t.Close())
	}
	n.TAPs = nil
	if n.Watch != nil {
		n.Watch.Close()
	}
	if n.discard != nil {
		n.discard.Close()
	}
	if n.NS != nil {
		errs = append(errs, n.Delete())
	}
	return errors.Join(errs...)
}

// NewNodes plans and creates nodes, several at a time. On an error nothing of
// them is left, and all problems are reported.
func NewNodes(j *Journal, cfgs []NodeConfig) ([]*Node, error) {
	names := make([]string, len(cfgs))
	for i, c := range cfgs {
		names[i] = c.Name
	}
	if err := j.Plan(names...); err != nil {
		return nil, err
	}
	nodes := make([]*Node, len(cfgs))
	errs := make([]error, len(cfgs))
	inParallel(len(cfgs), func(i int) { nodes[i], errs[i] = NewNode(j, cfgs[i]) })
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(fmt.Errorf("nodes: %w", err), CloseNodes(nodes))
	}
	return nodes, nil
}

// CloseNodes closes nodes, several at a time; nil ones are passed over.
func CloseNodes(nodes []*Node) error {
	errs := make([]error, len(nodes))
	inParallel(len(nodes), func(i int) {
		if nodes[i] != nil {
			errs[i] = nodes[i].Close()
		}
	})
	return errors.Join(errs...)
}

// inParallel calls f(0) to f(n-1), many at a time: what takes long is waiting
// in the kernel, 27 ms of grace periods to close one TAP, and the waits overlap.
func inParallel(n int, f func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

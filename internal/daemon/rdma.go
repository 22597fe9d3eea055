package daemon

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"cnuas/internal/launch"
	"cnuas/internal/rdma"
	"cnuas/internal/topology"
)

// kernelRDMA is the kernel's RDMA stack in a node: one device on each of its
// interfaces.
type kernelRDMA struct {
	kind     rdma.Kind
	devices  []string // by interface
	programs atomic.Int64
}

// stackKind is the driver of a stack; false for stacks without one.
func stackKind(s topology.Stack) (rdma.Kind, bool) {
	switch s {
	case topology.StackRXE:
		return rdma.RXE, true
	case topology.StackSIW:
		return rdma.SIW, true
	}
	return "", false
}

// ownIndex is an interface index that no other interface of siw has, whatever
// its namespace. siw binds a listener to the interface by its index, and a
// listener for any address is made for each siw device of the machine: two with
// one index collide, and rdma_listen fails.
func ownIndex(token, node, port string) int {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %s %s", token, node, port)
	return 1<<20 + int(h.Sum32()&(1<<29-1))
}

// kernelStacksWork tries the drivers that the topology asks for, before
// anything is made. What it says is meant for the user of up.
func kernelStacksWork(s *topology.Spec) error {
	var errs []error
	tried := map[rdma.Kind]bool{}
	for i := range s.Nodes {
		k, ok := stackKind(s.Nodes[i].Stack)
		if !ok || tried[k] {
			continue
		}
		tried[k] = true
		if state, err := rdma.Probe(k); err != nil {
			errs = append(errs, fmt.Errorf("node %s has stack %q, which is %s here: %w", s.Nodes[i].Name, k, state, err))
		}
	}
	if len(errs) > 0 {
		errs = append(errs, fmt.Errorf("the lab VM has a kernel that works: cnuas up --vm %s (cnuas doctor says what it needs)", s.File))
	}
	return errors.Join(errs...)
}

// addRDMA makes the kernel's RDMA devices of all nodes and waits until they can
// be used, several at a time.
func (d *Daemon) addRDMA() error {
	var names []string
	for _, n := range d.nodes {
		if n.kernel != nil {
			names = append(names, n.kernel.devices...)
		}
	}
	if err := d.journal.PlanRDMA(names...); err != nil {
		return err
	}
	errs := make([]error, len(d.nodes))
	var wg sync.WaitGroup
	for i, n := range d.nodes {
		if n.kernel != nil {
			wg.Go(func() { errs[i] = n.addRDMA(d.ctx) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (n *node) addRDMA(ctx context.Context) error {
	for i, p := range n.ports {
		name := n.kernel.devices[i]
		if err := rdma.Add(n.host.NS, n.kernel.kind, name, p.tap.Name()); err != nil {
			return fmt.Errorf("node %s: %w", n.name(), err)
		}
		if !p.fab.NIC().Port().Up() {
			continue // the topology starts the link down: the port comes up with it
		}
		var addrs []netip.Addr
		for _, a := range p.fab.Spec.Addrs {
			addrs = append(addrs, a.Addr())
		}
		if err := rdma.Await(ctx, n.kernel.kind, name, addrs); err != nil {
			return fmt.Errorf("node %s: %w", n.name(), err)
		}
	}
	return nil
}

// goneTime bounds how long the kernel may take to let go of RDMA devices.
const goneTime = 10 * time.Second

// awaitRDMAGone waits until no RDMA device of the fabric is left; its
// interfaces have been destroyed.
func awaitRDMAGone(names []string) error {
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), goneTime)
	defer cancel()
	return rdma.AwaitGone(ctx, names)
}

// view is what a program of the node may see of the kernel's devices.
func (k *kernelRDMA) view() *launch.KernelDevices {
	v := &launch.KernelDevices{Names: k.devices, Files: []string{"rdma_cm"}}
	for _, d := range k.devices {
		v.Files = append(v.Files, rdma.Files(d)...)
	}
	return v
}

// serve counts a program until its supervisor hangs up.
func (k *kernelRDMA) serve(c *net.UnixConn) {
	k.programs.Add(1)
	io.Copy(io.Discard, c)
	k.programs.Add(-1)
}

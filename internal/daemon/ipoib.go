package daemon

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"cnuas/internal/fabric"
	"cnuas/internal/host"
	"cnuas/internal/ipoib"
	"cnuas/internal/realtime"
	"cnuas/internal/status"
)

// maxIPoIBMTU is that of a group with an MTU of 4096; what the subnet permits is
// known later.
const maxIPoIBMTU = 4096 - ipoib.HeaderLen

// ipoibDev joins a node's tun device to the IPoIB interface of its port. It is
// the interface's Host and the loop's Poller; the engine's thread calls it.
type ipoibDev struct {
	tap  *host.TAP
	i    *ipoib.Interface
	loop *realtime.Loop
	logf func(format string, args ...any)
	buf  []byte
	mtu  int
	ring
}

// ipoibTAPs adds the devices of IPoIB interfaces to the nodes' own, behind those
// of Ethernet ports.
func ipoibTAPs(f *fabric.Fabric, cfgs []host.NodeConfig) {
	for k, n := range f.Nodes() {
		for _, p := range n.IBPorts() {
			if i := p.IPoIB(); i != nil {
				cfgs[k].TAPs = append(cfgs[k].TAPs, host.TAPConfig{Name: p.Spec.Name, Layer3: true, MTU: maxIPoIBMTU, Addrs: i.Addrs()})
			}
		}
	}
}

// attachIPoIB joins the devices to the interfaces.
func (d *Daemon) attachIPoIB() error {
	for _, n := range d.nodes {
		at := len(n.fab.Interfaces())
		for _, p := range n.fab.IBPorts() {
			if p.IPoIB() == nil {
				continue
			}
			x := &ipoibDev{tap: n.host.TAPs[at], i: p.IPoIB(), loop: d.loop, logf: d.logf, buf: make([]byte, ipoib.HeaderLen+maxIPoIBMTU+64), mtu: maxIPoIBMTU}
			x.ring.dev = x.tap
			at++
			n.ipoib = append(n.ipoib, x)
			x.i.SetHost(x)
			if err := d.loop.AddFD(x.tap.FD(), x); err != nil {
				return fmt.Errorf("node %s: %w", n.name(), err)
			}
		}
	}
	return nil
}

// watchIPoIB tells the interfaces which addresses their kernels have, until ctx
// ends: users add and remove some.
func (d *Daemon) watchIPoIB(ctx context.Context) {
	var wg sync.WaitGroup
	for _, n := range d.nodes {
		for _, x := range n.ipoib {
			wg.Go(func() {
				err := x.tap.WatchAddrs(ctx, func(a []netip.Prefix) { d.loop.Do(func() { x.i.SetAddrs(a) }) })
				if err != nil && ctx.Err() == nil {
					d.logf("%v", err)
				}
			})
		}
	}
	wg.Wait()
}

// Readable implements realtime.Poller.
func (x *ipoibDev) Readable() {
	if _, err := x.tap.ReadBatch(x, batchFrames); err != nil {
		x.loop.RemoveFD(x.tap.FD()) // somebody deleted the interface
	}
}

// Buffer implements host.Sink.
func (x *ipoibDev) Buffer(n int) []byte { return x.buf[ipoib.HeaderLen : ipoib.HeaderLen+n] }

// Frame implements host.Sink.
func (x *ipoibDev) Frame(n int) bool {
	x.i.Output(x.buf[:ipoib.HeaderLen+n])
	return true
}

// Unused implements host.Sink.
func (x *ipoibDev) Unused() {}

// Deliver implements ipoib.Host.
func (x *ipoibDev) Deliver(packet []byte) bool { return x.tap.Write(packet) }

// LinkChanged implements ipoib.Host: the kernel sees the carrier and the MTU.
// To set the MTU the kernel is asked by netlink, which takes its time.
func (x *ipoibDev) LinkChanged(up bool, mtu int) {
	x.carrier(up)
	if mtu == x.mtu {
		return
	}
	x.mtu = mtu
	go func() {
		if err := x.tap.SetMTU(mtu); err != nil {
			x.logf("%v", err)
		}
	}()
}

// lostIPoIB reads the kernels' own counters of the devices, without the engine;
// told adds them to the status, with it.
func (d *Daemon) lostIPoIB() (told func(*status.Fabric)) {
	type reading struct {
		node, k int
		n       uint64
	}
	var l []reading
	for i, n := range d.nodes {
		for k, x := range n.ipoib {
			if c, err := x.tap.Kernel(); err == nil {
				l = append(l, reading{i, k, c.Lost()})
			}
		}
	}
	return func(s *status.Fabric) {
		for _, r := range l {
			s.Nodes[r.node].IPoIB[r.k].Ring.TxDropped = d.nodes[r.node].ipoib[r.k].ringLoss(r.n)
		}
	}
}

// judgeIPoIB: a packet that a ring lost is one that no emulated device saw.
func judgeIPoIB(s *status.Fabric) (reasons []string) {
	for _, n := range s.Nodes {
		for _, i := range n.IPoIB {
			if i.Ring != (status.Ring{}) {
				reasons = append(reasons, fmt.Sprintf("%s lost %d packets from and %d for %s's kernel at its ring", i.Name, i.Ring.TxDropped, i.Ring.RxDropped, n.Name))
			}
		}
	}
	return reasons
}

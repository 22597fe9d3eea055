package nic

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Receive implements link.Device: it decides who gets a frame that arrived.
func (n *NIC) Receive(_ int, f *frame.Frame) {
	n.count.Received.add(f)
	if !f.Parse() {
		n.dropRx(f, DropMalformed)
		return
	}
	l := &f.Meta.Layers
	if l.EtherType == wire.EtherTypeMACControl {
		n.control(f)
		return
	}
	d := f.Data
	switch {
	case [6]byte(d[:6]) == n.cfg.MAC:
		if l.RoCE && n.src != nil {
			n.count.RxSource.add(f)
			n.src.Receive(f)
			return
		}
		if l.RoCE && n.points != nil && n.points.arrived(f) {
			return
		}
	case d[0]&1 != 0: // group address, the broadcast address included
		if l.RoCE && n.src != nil {
			// The HCA knows what groups its queue pairs are in; the kernel has
			// no use for RoCE.
			n.count.RxSource.add(f)
			n.src.Receive(f)
			return
		}
	default:
		n.dropRx(f, DropOtherMAC)
		return
	}
	if n.host == nil {
		n.dropRx(f, DropNoHost)
		return
	}
	n.count.RxHost.add(f)
	n.host.Deliver(f)
}

// control ends a MAC control frame here: it never reaches a client (IEEE
// 802.3-2018 clause 31.3).
func (n *NIC) control(f *frame.Frame) {
	if !n.pause.Apply(f) {
		n.dropRx(f, DropControl)
		return
	}
	n.count.RxPFC++
	n.pool.Put(f)
}

package nic

import (
	"fmt"

	"cnuas/internal/frame"
)

// maxLead bounds what one party may owe the other, in bytes: one frame of the
// largest size.
const maxLead = 16384

// FromHost takes ownership of a frame that the kernel sends: Data and Len are
// set. It is queued even when Accepts is false, so that a batch that was
// already read is not lost; the caller stops reading then.
func (n *NIC) FromHost(f *frame.Frame) {
	n.count.FromHost.add(f)
	if !f.Parse() {
		n.dropTx(f, DropMalformed)
		return
	}
	if !n.port.Up() {
		n.dropTx(f, DropLinkDown)
		return
	}
	f.Meta.Host = true
	if n.cfg.RoCE != nil && n.cfg.RoCE.apply(f) {
		n.count.Rewritten++
	}
	if n.points != nil && f.Meta.Layers.RoCE {
		n.points.sends(f)
	}
	n.enqueue(f, n.cfg.Classifier.Priority(&f.Meta.Layers))
	n.Kick()
}

// enqueue puts a frame behind those of the kernel.
func (n *NIC) enqueue(f *frame.Frame, p uint8) {
	f.Meta.Priority, f.Meta.Queued = p, n.port.Proc().Now()
	n.queue[p].Push(f)
	n.waiting |= 1 << p
	n.held += int64(f.Len)
	n.count.HostPeak = max(n.count.HostPeak, n.held)
	if n.held >= n.cfg.HostBuffer {
		n.full = true
	}
}

// Accepts tells whether the kernel's frames should be read on. It becomes false
// when HostBuffer is reached and true again at half of it: a pause of one
// priority then costs the reader few turns. A single TAP feeds all priorities,
// so one that stays stopped for long stops the kernel's others as well.
func (n *NIC) Accepts() bool { return !n.full }

// Backlog implements link.Backlogger.
func (n *NIC) Backlog(int) bool {
	return n.waiting != 0 || n.src != nil && n.src.Ready() != 0
}

// Dequeue implements link.Device. What the HCA or the kernel does meanwhile
// (either may send from within Next and Resume) must not reach the port, which
// would begin a second frame while this one is being chosen.
func (n *NIC) Dequeue(int) *frame.Frame {
	n.choosing = true
	f := n.choose()
	for f == nil && n.kicked {
		n.kicked = false
		f = n.choose()
	}
	n.choosing, n.kicked = false, false
	return f
}

func (n *NIC) choose() *frame.Frame {
	open := ^n.pause.Paused()
	kernel, hca := n.waiting&open, uint8(0)
	if n.src != nil {
		hca = n.src.Ready() & open
	}
	for {
		p := n.sched.Pick(kernel | hca)
		if p < 0 {
			return nil
		}
		bit := uint8(1) << p
		both := kernel&hca&bit != 0
		if !both {
			n.lead[p] = 0
		}
		if hca&bit == 0 || both && n.lead[p] > 0 {
			return n.fromQueue(p, both)
		}
		if f := n.fromSource(p, both); f != nil {
			return f
		}
		hca &^= bit
	}
}

func (n *NIC) fromSource(p int, both bool) *frame.Frame {
	f := n.src.Next(p)
	if f == nil {
		return nil
	}
	f.Meta.Priority = uint8(p)
	n.sched.Charge(p, int(f.Len))
	if both {
		n.lead[p] = min(n.lead[p]+f.Len, maxLead)
	}
	n.count.TxSource[p].add(f)
	return f
}

func (n *NIC) fromQueue(p int, both bool) *frame.Frame {
	f := n.pop(p)
	n.sched.Charge(p, int(f.Len))
	if both {
		n.lead[p] = max(n.lead[p]-f.Len, -maxLead)
	}
	n.count.TxHost[p].add(f)
	if n.full && n.held <= n.cfg.HostBuffer/2 {
		n.resume()
	}
	return f
}

func (n *NIC) pop(p int) *frame.Frame {
	f := n.queue[p].Pop()
	if f == nil {
		panic(fmt.Sprintf("nic %s: priority %d is marked as waiting and empty at %v", n.cfg.Name, p, n.port.Proc().Now()))
	}
	if n.queue[p].Len() == 0 {
		n.waiting &^= 1 << p
	}
	n.held -= int64(f.Len)
	return f
}

// resume tells the kernel to go on. Within Dequeue the frames that it sends at
// once are only queued.
func (n *NIC) resume() {
	n.full = false
	if n.host != nil {
		n.host.Resume()
	}
}

// flush drops what the kernel has queued.
func (n *NIC) flush() {
	for p := range n.queue {
		for n.queue[p].Len() > 0 {
			n.dropTx(n.pop(p), DropLinkDown)
		}
	}
	if n.full {
		n.resume()
	}
}

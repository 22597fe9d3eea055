package ether

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
	switching "cnuas/switch"
)

// enqueue admits f to a queue of port out, or drops it.
func (s *Switch) enqueue(out *port, f *frame.Frame) {
	if !out.link.Up() {
		s.drop(out, f, switching.DropLinkDown)
		return
	}
	if out.tooBig(f) {
		s.drop(out, f, switching.DropMTU)
		return
	}
	c := int(f.Meta.Priority)
	q := &out.queue[c]
	waits := q.Bytes()
	if s.red[c] > 0 && s.early(c, waits) {
		s.drop(out, f, switching.DropRandomEarly)
		return
	}
	if r, ok := s.buffer.Admit(int(f.Meta.InPort), c, f.Len, waits); !ok {
		if r == switching.DropHeadroomExceeded {
			out = s.ports[f.Meta.InPort] // the sender at that port did not stop
		}
		s.drop(out, f, r)
		return
	}
	if e := &s.ecn[c]; e.enable && waits > e.kmin && f.Meta.Layers.IP {
		s.mark(out, e, c, f, waits)
	}
	f.Meta.Queued = s.eng.Now()
	q.Push(f)
	out.waiting |= 1 << c
	if b := q.Bytes(); b > out.count.QueuePeak[c] {
		out.count.QueuePeak[c] = b
	}
	out.link.Kick()
}

// tooBig tells whether the packet in f is above the port's MTU.
func (p *port) tooBig(f *frame.Frame) bool {
	return p.mtu != 0 && f.Len-int32(f.Meta.Layers.L3)-wire.FCSLen > p.mtu && f.Len > frame.MinLen
}

func (s *Switch) pop(p *port, c int) *frame.Frame {
	f := p.queue[c].Pop()
	if f == nil {
		panic(fmt.Sprintf("switch %s: queue %d of %s is marked as waiting and empty at %v", s.cfg.Name, c, p.link.Name, s.eng.Now()))
	}
	if p.queue[c].Len() == 0 {
		p.waiting &^= 1 << c
	}
	return f
}

// Backlog implements link.Backlogger.
func (s *Switch) Backlog(i int) bool { return s.ports[i].waiting != 0 }

// Dequeue implements link.Device.
func (s *Switch) Dequeue(i int) *frame.Frame {
	p := s.ports[i]
	c := p.sched.Pick(p.waiting &^ p.pause.Paused())
	if c < 0 {
		return nil
	}
	f := s.pop(p, c)
	p.sched.Charge(c, int(f.Len))
	p.count.Tx[c].Add(f.Len)
	s.buffer.Release(int(f.Meta.InPort), c, f.Len)
	return f
}

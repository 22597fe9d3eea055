package hca

import (
	"math/bits"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
)

// Waits implements ibport.Waiter.
func (c *CA) Waits(p *ibport.Port, vl uint8) bool {
	d := c.of(p)
	return d.ib.queue[vl].Len() > 0 || vl != wire.VL15 && d.readyMask&(1<<vl) != 0
}

// Head implements ibport.Owner. Packets of the agents come first: they are few.
// Others are made when the port asks, which it does when the wire is free. One
// for each lane stays here until the port has credits for it.
func (c *CA) Head(p *ibport.Port, vl uint8) *frame.Frame {
	d := c.of(p)
	s := d.ib
	if f := s.staged[vl]; f != nil {
		return f
	}
	for s.staged[vl] == nil {
		f := s.queue[vl].Pop()
		if f == nil && vl != wire.VL15 {
			f = d.Next(int(vl))
		}
		if f == nil {
			return nil
		}
		if !p.Accepts(f) { // counted there
			d.pool.Put(f)
			continue
		}
		s.staged[vl] = f
	}
	return s.staged[vl]
}

// Take implements ibport.Owner.
func (c *CA) Take(p *ibport.Port, vl uint8) *frame.Frame {
	s := c.of(p).ib
	f := s.staged[vl] // as a rule the port has looked at it
	if f == nil {
		f = c.Head(p, vl)
	}
	s.staged[vl] = nil
	return f
}

// offer tells the port of lanes that have something to send.
func (d *Device) offer() {
	for m := d.readyMask &^ (1 << laneNone); m != 0; m &= m - 1 {
		d.ib.port.Offer(uint8(bits.TrailingZeros16(m)))
	}
}

// dropWaiting drops what waits for the port, which cannot send it any more; all
// says that this includes VL15.
func (d *Device) dropWaiting(all bool) {
	s, n := d.ib, 0
	for vl := range s.queue {
		for (all || vl != wire.VL15) && s.queue[vl].Len() > 0 {
			d.pool.Put(s.queue[vl].Pop())
			n++
		}
	}
	for vl, f := range s.staged {
		if f != nil && (all || vl != wire.VL15) {
			s.staged[vl] = nil
			d.ctr.TxLinkDown++
			d.pool.Put(f)
			n++
		}
	}
	s.port.CountDiscard(n)
}

// relist puts what waits into the lanes that its service level has now.
func (d *Device) relist() {
	s := d.ib
	var all []*QP
	var own, made frame.FIFO // of the kernel's queue pairs; of the agents, and staged
	for i := range wire.VL15 {
		for q := d.ready[i].head; q != nil; q = d.ready[i].head {
			q.unready()
			all = append(all, q)
		}
		for f := d.own[i].Pop(); f != nil; f = d.own[i].Pop() {
			own.Push(f)
		}
		if f := s.staged[i]; f != nil {
			s.staged[i] = nil
			made.Push(f)
		}
		for f := s.queue[i].Pop(); f != nil; f = s.queue[i].Pop() {
			made.Push(f)
		}
		d.readyMask &^= 1 << i
	}
	for q := d.ready[laneNone].head; q != nil; q = d.ready[laneNone].head {
		q.unready()
		all = append(all, q)
	}
	for f := made.Pop(); f != nil; f = made.Pop() {
		s.ca.SendLID(int(s.port.Num()), f)
	}
	for f := own.Pop(); f != nil; f = own.Pop() {
		d.sendOwn(d.lane(f.Meta.IB.SL), f)
	}
	for _, q := range all {
		q.makeReady()
	}
}

// refreshLoops finds out anew which peers are on this device: its LIDs changed.
func (d *Device) refreshLoops() {
	for _, c := range d.contexts {
		for _, q := range c.qps {
			if loop := q.attr.AV.DLID != 0 && d.isSelf(&q.attr.AV); q.typ != UD && loop != q.loop {
				waits := q.list != nil
				q.unready()
				q.loop = loop
				if waits {
					q.makeReady()
				}
			}
		}
		for _, a := range c.ahs {
			if a != nil {
				a.to.loop = !a.to.group && d.isSelf(&a.av)
			}
		}
	}
}

// syncGIDs fills the GID table from the port: its prefix with each GUID.
func (d *Device) syncGIDs() {
	news := false
	for i, g := range d.ib.port.GUIDs() {
		var e GIDEntry
		if g != 0 {
			e = GIDEntry{GID: GID(wire.MakeGID(d.ib.port.Prefix(), g)), Valid: true}
		}
		news = i < MaxGIDs && d.setGID(i, e) || news
	}
	if news {
		d.broadcast(Event{Type: EventGIDChange, Port: 1})
	}
}

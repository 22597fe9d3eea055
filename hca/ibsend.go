package hca

import (
	"math/bits"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
)

// Head implements ibport.Owner. Packets of the agents come first: they are few.
// Others are made when the port asks, and stay here until it has credits.
func (c *CA) Head(p *ibport.Port, vl uint8) *frame.Frame {
	d := c.of(p)
	s := d.ib
	if f := s.queue[vl].Peek(); f != nil || vl == wire.VL15 {
		return f
	}
	for s.staged[vl] == nil {
		f := d.Next(int(vl))
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
	if f := s.queue[vl].Pop(); f != nil || vl == wire.VL15 {
		return f
	}
	f := s.staged[vl]
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
		if f != nil {
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
	for i := range d.ready {
		for q := d.ready[i].head; q != nil; q = d.ready[i].head {
			q.unready()
			all = append(all, q)
		}
		d.readyMask &^= 1 << i
		if d.own[i].Len() > 0 {
			d.wake(uint8(i))
		}
	}
	for _, q := range all {
		q.makeReady()
	}
	for vl, f := range s.staged {
		if f == nil || d.lane(f.Meta.IB.SL) == uint8(vl) {
			continue
		}
		s.staged[vl] = nil
		if to := d.lane(f.Meta.IB.SL); to != laneNone {
			s.queue[to].Push(f)
			s.port.Offer(to)
		} else {
			s.port.CountDiscard(1)
			d.pool.Put(f)
		}
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
	for i, g := range d.ib.port.GUIDs() {
		if i < MaxGIDs {
			d.SetGID(i, GIDEntry{GID: GID(wire.MakeGID(d.ib.port.Prefix(), g)), Valid: g != 0})
		}
	}
}

package ibport

import (
	"math/bits"

	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

const bit15 = 1 << wire.VL15

// Accepts tells whether a packet can leave by this port, and counts it as
// discarded if not: the port is not active, the packet is above the neighbour's
// MTU, or its P_Key is refused. A switch asks before it queues (IBTA vol. 1
// §18.2).
func (p *Port) Accepts(f *frame.Frame) bool {
	m := &f.Meta.IB
	switch {
	case m.VL == wire.VL15:
		if p.state < mad.PortInit {
			p.count.inactive++
			return false
		}
		return true
	case p.state != mad.PortActive:
		p.count.inactive++
		return false
	case f.Len > p.maxLen:
		p.count.tooLong++
		return false
	case p.set.pkeyOut && !p.passes(f, false):
		p.count.xmitConstraint++
		p.refuse(f)
		return false
	case m.Flags&frame.IBRaw != 0 && p.set.filterOut:
		p.count.xmitRaw++
		return false
	}
	return true
}

// Offer tells that Owner.Head has a packet on a lane. It may be called from
// anywhere, also from within the owner's methods.
func (p *Port) Offer(vl uint8) {
	bit := uint16(1) << vl
	if p.waiting&bit == 0 {
		p.waiting |= bit
		if vl != wire.VL15 {
			p.lanes[vl].headSince = p.proc.Now()
		}
	}
	if p.starved&bit == 0 {
		p.kick()
	}
}

// kick asks the link to ask for a packet; from within Dequeue it makes that go
// round once more.
func (p *Port) kick() {
	if p.choosing {
		p.kicked = true
		return
	}
	if p.link != nil {
		p.link.Kick()
	}
}

// Backlog implements link.Backlogger.
func (p *Port) Backlog(int) bool {
	return p.flow.due != 0 || p.waiting&^p.starved != 0
}

// Dequeue implements link.Device.
func (p *Port) Dequeue(int) *frame.Frame {
	if p.phys.state != mad.PhysLinkUp {
		return nil
	}
	p.choosing = true
	f := p.choose()
	for f == nil && p.kicked {
		p.kicked = false
		f = p.choose()
	}
	p.choosing, p.kicked = false, false
	return f
}

func (p *Port) choose() *frame.Frame {
	if p.flow.due != 0 && p.state >= mad.PortInit {
		if !p.flow.muted {
			return p.flowPacket()
		}
		p.flow.due = 0
	}
	if p.waiting == 0 {
		return nil
	}
	now := p.proc.Now()
	if p.waiting&bit15 != 0 {
		if f := p.take(wire.VL15); f != nil {
			p.count.sent(f)
			return f
		}
	}
	if p.state != mad.PortActive {
		return nil
	}
	vl := p.arb.pick(p.ready(now))
	if vl < 0 {
		if p.waiting&^bit15 != 0 && p.waitSince == sim.Forever {
			p.waitSince = now
		}
		return nil
	}
	f := p.take(uint8(vl))
	l := &p.lanes[vl]
	l.tx.Send(int(f.Meta.IB.Blocks))
	p.touch(uint8(vl))
	l.headSince, l.hoqDrops = now, 0
	p.arb.charge(f.Meta.IB.Blocks)
	if f.Meta.IB.VL != uint8(vl) {
		f.SetVL(uint8(vl))
	}
	if p.waitSince != sim.Forever {
		p.count.wait += now - p.waitSince
		p.waitSince = sim.Forever
	}
	p.count.sent(f)
	return f
}

// take takes the head of a lane out of the owner and looks whether more is
// there.
func (p *Port) take(vl uint8) *frame.Frame {
	f := p.owner.Take(p, vl)
	more := f != nil
	if more && p.wait != nil {
		more = p.wait.Waits(p, vl)
	} else if more {
		more = p.owner.Head(p, vl) != nil
	}
	if !more {
		p.waiting &^= 1 << vl
	}
	return f
}

// ready is the set of data lanes whose head can leave now.
func (p *Port) ready(now sim.Time) (ready uint16) {
	for w := p.waiting &^ (bit15 | p.starved); w != 0; w &= w - 1 {
		vl := bits.TrailingZeros16(w)
		l := &p.lanes[vl]
		f := p.owner.Head(p, uint8(vl))
		if f == nil {
			p.waiting &^= 1 << vl
			continue
		}
		n := int(f.Meta.IB.Blocks)
		if !l.tx.MaySend(n) {
			p.starve(uint8(vl), l, int32(n), now)
			continue
		}
		if t := f.Meta.Tail; t > now { // sent faster than it comes in it would run dry
			if t -= p.link.Serialization(f); t > now {
				p.wake(t)
				continue
			}
		}
		ready |= 1 << vl
	}
	return ready
}

// wake makes expire be called at t or before.
func (p *Port) wake(t sim.Time) {
	if t < p.timer.Deadline() {
		p.timer.Reset(t)
	}
}

// starve notes that the head of a lane has to wait for credits.
func (p *Port) starve(vl uint8, l *lane, blocks int32, now sim.Time) {
	p.starved |= 1 << vl
	l.need, l.starvedAt = blocks, now
	if t := p.dies(vl); t != sim.Forever {
		p.wake(max(t, now))
	}
}

func (p *Port) unstarve(vl uint8, l *lane) {
	p.starved &^= 1 << vl
	p.count.laneWait[vl] += p.proc.Now() - l.starvedAt
	l.starvedAt, l.waited = sim.Forever, p.proc.Now()
}

// Waited tells whether a lane has had to wait for credits lately, within the
// time that a buffer full of packets takes to send: it is a victim of congestion
// elsewhere, not its root. Credits come in portions, so that not every packet of
// a victim waits.
func (p *Port) Waited(vl uint8) bool {
	if vl >= wire.VL15 {
		return false
	}
	full := p.link.Rate().BitTime(int64(p.cap) * wire.FlowBlock * 8)
	return p.starved&(1<<vl) != 0 || p.lanes[vl].waited > p.proc.Now()-full
}

// stopWaiting ends what waits for credits, when the link goes.
func (p *Port) stopWaiting() {
	for w := p.starved; w != 0; w &= w - 1 {
		vl := uint8(bits.TrailingZeros16(w))
		p.unstarve(vl, &p.lanes[vl])
	}
	if p.waitSince != sim.Forever {
		p.count.wait += p.proc.Now() - p.waitSince
		p.waitSince = sim.Forever
	}
}

// Starved is the set of lanes, bit n for VL n, on which the owner has something
// that waits for credits.
func (p *Port) Starved() uint16 { return p.starved & p.waiting }

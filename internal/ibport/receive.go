package ibport

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Receive implements link.Device: the checks of a packet receiver (IBTA vol. 1
// §7.4 link packets, §7.3 and §7.10 data packets).
func (p *Port) Receive(_ int, f *frame.Frame) {
	if p.phys.state != mad.PhysLinkUp {
		p.pool.Put(f) // nobody listens
		return
	}
	if f.Meta.Corrupt {
		p.corrupted(f)
		return
	}
	if p.count.phyErrors > 0 {
		p.count.phyErrors--
	}
	if f.Meta.IB.Flags&frame.IBLink != 0 {
		p.flowControl(f)
		p.pool.Put(f)
		return
	}
	if !f.ParseIB() || f.Len > p.maxLen && f.Meta.IB.VL != wire.VL15 {
		p.malformed(f)
		return
	}
	m := &f.Meta.IB
	m.InVL, m.Flags = m.VL, m.Flags&^frame.IBMarked
	f.Meta.InPort, f.Meta.Queued = int16(p.cfg.Num), p.proc.Now()
	f.Meta.Tag, f.Meta.Host = 0, false // were the last owner's
	if m.VL == wire.VL15 {
		p.receive15(f)
		return
	}
	if m.VL >= p.vls {
		p.malformed(f)
		return
	}
	if p.state < mad.PortArmed {
		p.count.rcvInactive++
		p.pool.Put(f)
		return
	}
	l := &p.lanes[m.VL]
	if l.held+int32(m.Blocks) > p.cap {
		p.overrun(f)
		return
	}
	p.count.overruns = 0
	l.rx.Receive(int(m.Blocks))
	p.touch(m.VL)
	l.held += int32(m.Blocks)
	p.announce(m.VL, l) // what it has left has become less
	p.count.received(f)
	if p.state == mad.PortArmed && p.enable { // ActiveTrigger
		p.to(mad.PortActive)
		p.kick()
	}
	if p.set.pkeyIn && !p.passes(f, true) {
		p.count.rcvConstraint++
		p.refuse(f)
		p.Release(f)
		p.pool.Put(f)
		return
	}
	if m.Flags&frame.IBRaw != 0 && p.set.filterIn {
		p.count.rcvRaw++
		p.Release(f)
		p.pool.Put(f)
		return
	}
	p.owner.Arrive(p, f)
}

// receive15 takes a packet on VL15, which has no credits: when its buffer is
// full the packet is lost (IBTA vol. 1 §7.6.4).
func (p *Port) receive15(f *frame.Frame) {
	if f.Meta.IB.Flags&frame.IBSMP == 0 {
		p.malformed(f)
		return
	}
	p.count.received(f)
	if p.held15 >= p.cfg.VL15Packets {
		p.count.vl15Dropped++
		p.pool.Put(f)
		return
	}
	p.held15++
	p.owner.Arrive(p, f)
}

// corrupted counts a packet that a symbol error hit. Its CRC is wrong, so
// nothing in it can be believed.
func (p *Port) corrupted(f *frame.Frame) {
	p.pool.Put(f)
	p.symbolErrors(1)
}

// symbolErrors counts n packets that were hit.
func (p *Port) symbolErrors(n uint32) {
	p.count.symbolErrors += uint64(n)
	p.count.rcvErrors += uint64(n)
	p.count.localPhysical += uint64(n)
	p.damaged()
	p.count.phyErrors = uint8(min(uint32(p.count.phyErrors)+n, 255))
	if p.count.phyErrors > p.set.phyErrors { // IBTA vol. 1 §7.12.2
		p.count.phyErrors = 0
		p.count.linkIntegrity++
		p.owner.PortEvent(p, EventLinkIntegrity)
		p.recover(false)
	}
}

func (p *Port) malformed(f *frame.Frame) {
	p.count.malformed++
	p.count.rcvErrors++
	p.pool.Put(f)
}

// overrun drops a packet for which the sender had no credits: it is sick, or
// errors confused it. More of them in a row than OverrunErrors retrain the link
// (IBTA vol. 1 §7.12.3).
func (p *Port) overrun(f *frame.Frame) {
	p.pool.Put(f)
	p.count.bufferOverruns++
	p.count.rcvErrors++
	p.count.overruns++
	if p.count.overruns > p.set.overruns {
		p.count.overruns = 0
		p.count.excessiveOverruns++
		p.owner.PortEvent(p, EventBufferOverrun)
		p.recover(false)
	}
}

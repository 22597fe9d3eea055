package ibport

import (
	"math/bits"

	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Link-level flow control (IBTA vol. 1 §7.9). Each data lane has credits of its
// own; a flow control packet tells how much was sent (FCTBS, so that the other
// side notices losses) and how far the other side may send (FCCL).
//
// The standard wants a packet per lane at least every 65,536 symbol times. Here
// one goes whenever it matters: when the credits that the peer has left could
// be too few for a packet, and when a quarter of the buffer became free since
// the last and the credits left would be used up before new ones can be there. On a wire without errors the periodic ones tell nothing new and are
// left out, unless Config.ExactFlow wants them. A damaged packet brings them,
// and the watchdog, back for a while.

// lane is one data virtual lane.
type lane struct {
	tx      wire.FlowSender
	rx      wire.FlowReceiver
	held    int32  // blocks in the receive buffer
	granted uint16 // FCCL of the last flow control packet sent
	need    int32  // blocks of the packet that waits for credits, if starved

	lastFlow  sim.Time // when the last flow control packet came
	headSince sim.Time // since when the packet at the head is there
	starvedAt sim.Time // since when there are no credits for it; Forever: there are
	stalled   sim.Time // end of the state in which everything is discarded
	hoqDrops  uint8    // in a row
	waited    sim.Time // when it last had to wait for credits
}

// longAgo is before every time.
const longAgo = -1 << 62

// restart forgets all credits. What is in the receive buffer stays there.
func (l *lane) restart() {
	l.tx, l.rx, l.granted, l.need = wire.FlowSender{}, wire.FlowReceiver{}, 0, 0
	l.stalled, l.hoqDrops, l.waited = 0, 0, longAgo
}

type flow struct {
	due     uint16 // lanes for which a packet is to be sent
	timer   sim.Timer
	suspect sim.Time // until when packets are sent at the intervals
	muted   bool     // a fault: none is sent
}

// Credits is how many blocks of 64 bytes may be sent on a lane now.
func (p *Port) Credits(vl uint8) int { return p.lanes[vl].tx.Credits() }

// Held is how many blocks the receive buffer of a lane holds, and how many it
// has room for.
func (p *Port) Held(vl uint8) (held, room int) { return int(p.lanes[vl].held), int(p.cap) }

// Release frees the buffer of a packet that Arrive gave to the owner.
func (p *Port) Release(f *frame.Frame) { p.free(f.Meta.IB.InVL, f.Meta.IB.Blocks) }

// free is Release for who remembers only lane and blocks.
func (p *Port) free(vl uint8, blocks uint16) {
	if vl == wire.VL15 {
		p.held15--
		return
	}
	if p.link == nil {
		return
	}
	l := &p.lanes[vl]
	l.held -= int32(blocks)
	if l.held < 0 {
		panic("ibport " + p.cfg.Name + ": a packet was released twice")
	}
	p.announce(vl, l)
}

// ReleaseBlocks is Release for an owner that has no frame any more, as after
// the last of several copies.
func (p *Port) ReleaseBlocks(vl uint8, blocks uint16) { p.free(vl, blocks) }

// announce makes a flow control packet due if the peer should know what is
// free. A peer that has less than the largest packet left may be waiting; what
// is on the wire was counted against its credits and not against ours, so it
// comes here again when that arrives.
func (p *Port) announce(vl uint8, l *lane) {
	left := (l.granted - l.rx.ABR) & (wire.FlowModulo - 1)
	if left >= p.reach && left <= wire.FlowMaxCredit {
		return // most packets
	}
	gain := (l.rx.FCCL(int(p.cap-l.held)) - l.granted) & (wire.FlowModulo - 1)
	if gain == 0 || gain > wire.FlowMaxCredit {
		return
	}
	if gain >= p.grain || left < p.mtuCost || left > wire.FlowMaxCredit {
		p.flow.due |= 1 << vl
		p.kick()
	}
}

// flowAll makes a packet due for every lane.
func (p *Port) flowAll() {
	p.flow.due = 1<<p.cfg.VLs.Count() - 1
	p.kick()
}

// flowUp begins flow control on a link that has come up.
func (p *Port) flowUp() {
	now := p.proc.Now()
	for i := range p.lanes {
		p.lanes[i].lastFlow = now
	}
	p.flowAll()
	p.armFlow(now)
}

// flowPacket makes the packet of the lowest lane for which one is due.
func (p *Port) flowPacket() *frame.Frame {
	vl := bits.TrailingZeros16(p.flow.due)
	p.flow.due &^= 1 << vl
	l := &p.lanes[vl]
	l.granted = l.rx.FCCL(int(p.cap - l.held))
	c := wire.FlowFields{VL: uint8(vl), FCTBS: l.tx.Sent, FCCL: l.granted}
	if p.state == mad.PortInit {
		c.Op = wire.FlowInit
	}
	f := p.pool.Get()
	c.Encode(wire.Flow(f.Head(wire.FlowLen)))
	f.Len = wire.FlowLen
	f.Meta.IB.Flags = frame.IBLink
	p.count.flowXmit++
	return f
}

// flowControl takes a packet from the peer.
func (p *Port) flowControl(f *frame.Frame) {
	c := wire.Flow(f.Data)
	vl := c.VL()
	if int(vl) >= p.cfg.VLs.Count() {
		return
	}
	p.count.flowRcv++
	l := &p.lanes[vl]
	l.lastFlow = p.proc.Now()
	l.tx.Update(c.FCCL())
	if l.rx.Sync(c.FCTBS()) != 0 { // packets were lost: their credits come back
		p.announce(vl, l)
	}
	switch {
	case c.Op() == wire.FlowNormal:
		p.enable = true
	case p.enable && p.state >= mad.PortArmed: // RemoteInit
		p.enable = false
		p.to(mad.PortInit)
		p.flowAll()
	}
	if p.starved&(1<<vl) != 0 && l.tx.MaySend(int(l.need)) {
		p.unstarve(vl, l)
		p.kick()
	}
}

package ibport

import (
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// negotiate picks the widest and the fastest of what both ends have enabled.
func negotiate(w mad.LinkWidth, s mad.LinkSpeed, ext mad.LinkSpeedExt) (mad.LinkWidth, mad.LinkSpeed, mad.LinkSpeedExt) {
	var width mad.LinkWidth
	for _, x := range []mad.LinkWidth{mad.Width1X, mad.Width2X, mad.Width4X, mad.Width8X, mad.Width12X} {
		if w&x != 0 {
			width = x
		}
	}
	speed, e := mad.LinkSpeed(highest(uint8(s))), mad.LinkSpeedExt(highest(uint8(ext)))
	if e != 0 {
		speed = mad.SpeedQDR // what LinkSpeedActive is by convention then
	}
	return width, speed, e
}

func highest(v uint8) uint8 {
	for v&(v-1) != 0 {
		v &= v - 1
	}
	return v
}

// DataRate is what a link of a width and speed carries, after line coding:
// 8b/10b up to QDR, 64b/66b for FDR and EDR, 256b/257b and RS-FEC from HDR on
// (IBTA vol. 2 chapter 5). 0 for none.
func DataRate(w mad.LinkWidth, s mad.LinkSpeed, ext mad.LinkSpeedExt) link.Rate {
	n := link.Rate(w.Lanes())
	switch ext {
	case mad.SpeedFDR: // 14.0625 Gb/s x 32/33
		return 150 * link.Gbps * n / 11
	case mad.SpeedEDR:
		return 25 * link.Gbps * n
	case mad.SpeedHDR:
		return 50 * link.Gbps * n
	case mad.SpeedNDR:
		return 100 * link.Gbps * n
	}
	switch s {
	case mad.SpeedSDR:
		return 2 * link.Gbps * n
	case mad.SpeedDDR:
		return 4 * link.Gbps * n
	case mad.SpeedQDR:
		return 8 * link.Gbps * n
	}
	return 0
}

// Rate is the data rate of the link that is up, 0 if none is.
func (p *Port) Rate() link.Rate {
	if p.link == nil || p.phys.state != mad.PhysLinkUp && p.phys.state != mad.PhysRecovery {
		return 0
	}
	return p.link.Rate()
}

// symbol is the time of one symbol on a lane (IBTA vol. 1 §7.9.4 counts in
// them): a byte of data.
func (p *Port) symbol() sim.Time {
	lane := p.link.Rate() / link.Rate(max(p.phys.width.Lanes(), 1))
	return lane.BitTime(8 * 1000) // 1000 of them, to keep picoseconds
}

// setReach computes how many credits the peer must have left when a flow control
// packet is made, so that it does not run dry before that arrives: what fits the
// round trip, with one packet in the way of the flow control packet, one that
// the peer has begun, and one before the receiver looks again. Towards a far end
// the round trip is unknown, and every gain is told.
func (p *Port) setReach() {
	p.reach = wire.FlowModulo - 1
	if p.peer == nil {
		return
	}
	trip := 2*p.link.Delay() + p.cfg.Latency + p.peer.cfg.Latency
	blocks := trip.Seconds() * float64(p.link.Rate()) / (8 * wire.FlowBlock)
	p.reach = uint16(min(int(blocks)+1+3*int(p.mtuCost), wire.FlowModulo-1))
}

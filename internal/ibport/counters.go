package ibport

import (
	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// counters of a port since it was made. They never wrap or stop; the views of
// performance management are made from them.
type counters struct {
	xmitData, rcvData   uint64 // words of 4 bytes, LRH to ICRC
	xmitPkts, rcvPkts   uint64
	xmitMcast, rcvMcast uint64
	lanePkts, laneData  [16]uint64 // sent
	slXmit, slRcv       [16]uint64 // words

	symbolErrors, linkRecovery, linkDowned uint64
	rcvErrors                              uint64 // sum of the next three
	localPhysical, malformed               uint64
	bufferOverruns                         uint64
	remotePhysical                         uint64
	switchRelay                            uint64 // sum of the next three
	dlidMapping, vlMapping, looping        uint64
	rcvInactive                            uint64 // data while not Armed

	inactive, tooLong             uint64 // parts of PortXmitDiscards
	lifetimeDiscards, hoqDiscards uint64
	xmitConstraint, rcvConstraint uint64
	xmitRaw, rcvRaw               uint64
	linkIntegrity                 uint64
	excessiveOverruns             uint64
	vl15Dropped, qp1Dropped       uint64
	flowXmit, flowRcv             uint64
	flowTimeouts                  [15]uint64
	fecn, becn                    [16]uint64 // received, by SL

	wait     sim.Time // something waited and nothing could go
	laneWait [15]sim.Time
	congest  [16]uint64 // packets marked, by lane

	phyErrors uint8 // towards LocalPhyErrors
	overruns  uint8 // towards OverrunErrors
}

func words(f *frame.Frame) uint64 { return uint64(f.Len-wire.VCRCLen) / 4 }

func (c *counters) sent(f *frame.Frame) {
	n, m := words(f), &f.Meta.IB
	c.xmitData += n
	c.xmitPkts++
	c.slXmit[m.SL] += n
	c.lanePkts[m.VL]++
	c.laneData[m.VL] += n
	if m.DLID.Multicast() {
		c.xmitMcast++
	}
}

func (c *counters) received(f *frame.Frame) {
	n, m := words(f), &f.Meta.IB
	c.rcvData += n
	c.rcvPkts++
	c.slRcv[m.SL] += n
	if m.DLID.Multicast() {
		c.rcvMcast++
	}
	if m.BTH != 0 {
		if b := f.Data[m.BTH+4]; b&0xc0 != 0 { // FECN, BECN
			c.fecn[m.SL] += uint64(b >> 7)
			c.becn[m.SL] += uint64(b >> 6 & 1)
		}
	}
}

// Counters is a snapshot of a port's counters: since it was made, or since the
// counter was last written by performance management. Names are those of IBTA
// vol. 1 §16.1.3.5 and §16.1.4.
type Counters struct {
	XmitData, RcvData                   uint64 // words of 4 bytes, LRH to ICRC, all lanes
	XmitPkts, RcvPkts                   uint64
	UnicastXmitPkts, UnicastRcvPkts     uint64
	MulticastXmitPkts, MulticastRcvPkts uint64

	SymbolErrors       uint64
	LinkErrorRecovery  uint64
	LinkDowned         uint64
	RcvErrors          uint64
	RcvRemotePhysical  uint64
	RcvSwitchRelay     uint64
	XmitDiscards       uint64
	XmitConstraint     uint64
	RcvConstraint      uint64
	LocalLinkIntegrity uint64
	ExcessiveOverruns  uint64
	VL15Dropped        uint64
	QP1Dropped         uint64
	XmitWait           uint64 // ticks: see Port.Tick
	LocalPhysical      uint64 // parts of RcvErrors
	Malformed          uint64
	BufferOverrun      uint64
	DLIDMapping        uint64 // parts of RcvSwitchRelay
	VLMapping          uint64
	Looping            uint64
	Inactive           uint64 // parts of XmitDiscards
	NeighborMTU        uint64
	Lifetime           uint64
	HOQ                uint64
	FlowXmit, FlowRcv  uint64
	RcvInactive        uint64 // data packets that came while the port was not Armed
	RawXmit, RawRcv    uint64 // raw packets that were filtered
	LanePkts, LaneData [16]uint64
	LaneWait           [16]uint64 // ticks
	LaneFlowErrors     [16]uint64
	LaneMarked         [16]uint64 // packets in which this port's lane set FECN
	SLXmit, SLRcv      [16]uint64 // words
	SLFECN, SLBECN     [16]uint64 // packets received
	FECN, BECN         uint64     // sums of them
}

// Tick is the unit of XmitWait: the time in which the port sends a word of 4
// bytes. It is that of a 1X SDR link while there is none.
func (p *Port) Tick() sim.Time {
	if r := p.Rate(); r != 0 {
		return r.BitTime(32)
	}
	return DataRate(1, 1, 0).BitTime(32)
}

// Counters returns a snapshot. Frames of an owner that hears a packet or drops
// one itself are counted by the methods below.
func (p *Port) Counters() Counters {
	c := &p.count
	now, tick := p.proc.Now(), p.Tick()
	wait := c.wait
	if p.waitSince != sim.Forever {
		wait += now - p.waitSince
	}
	v := Counters{
		XmitData: c.xmitData, RcvData: c.rcvData, XmitPkts: c.xmitPkts, RcvPkts: c.rcvPkts,
		UnicastXmitPkts: c.xmitPkts - c.xmitMcast, UnicastRcvPkts: c.rcvPkts - c.rcvMcast,
		MulticastXmitPkts: c.xmitMcast, MulticastRcvPkts: c.rcvMcast,
		SymbolErrors: c.symbolErrors, LinkErrorRecovery: c.linkRecovery, LinkDowned: c.linkDowned,
		RcvErrors: c.rcvErrors, RcvRemotePhysical: c.remotePhysical, RcvSwitchRelay: c.switchRelay,
		XmitDiscards:   c.inactive + c.tooLong + c.lifetimeDiscards + c.hoqDiscards,
		XmitConstraint: c.xmitConstraint, RcvConstraint: c.rcvConstraint,
		LocalLinkIntegrity: c.linkIntegrity, ExcessiveOverruns: c.excessiveOverruns,
		VL15Dropped: c.vl15Dropped, QP1Dropped: c.qp1Dropped, XmitWait: uint64(wait / tick),
		LocalPhysical: c.localPhysical, Malformed: c.malformed, BufferOverrun: c.bufferOverruns, VLMapping: c.vlMapping,
		DLIDMapping: c.dlidMapping, Looping: c.looping,
		Inactive: c.inactive, NeighborMTU: c.tooLong, Lifetime: c.lifetimeDiscards, HOQ: c.hoqDiscards,
		FlowXmit: c.flowXmit, FlowRcv: c.flowRcv, RcvInactive: c.rcvInactive, RawXmit: c.xmitRaw, RawRcv: c.rcvRaw,
		LanePkts: c.lanePkts, LaneData: c.laneData, LaneMarked: c.congest,
		SLXmit: c.slXmit, SLRcv: c.slRcv, SLFECN: c.fecn, SLBECN: c.becn,
	}
	for i := range c.laneWait {
		t := c.laneWait[i]
		if s := p.lanes[i].starvedAt; s != sim.Forever {
			t += now - s
		}
		v.LaneWait[i] = uint64(t / tick)
		v.LaneFlowErrors[i] = c.flowTimeouts[i]
	}
	for i := range c.fecn {
		v.FECN += c.fecn[i]
		v.BECN += c.becn[i]
	}
	return v
}

// RelayError says why a switch cannot relay a packet.
type RelayError uint8

// Reasons (IBTA vol. 1 §16.1.4.1).
const (
	RelayDLID    RelayError = iota // nowhere to go
	RelayVL                        // SL2VL discards it
	RelayLooping                   // back to where it came from
)

// CountRelayError counts a packet that arrived here and that the switch cannot
// relay: a part of PortRcvSwitchRelayErrors.
func (p *Port) CountRelayError(r RelayError) {
	p.count.switchRelay++
	switch r {
	case RelayDLID:
		p.count.dlidMapping++
	case RelayVL:
		p.count.vlMapping++
	case RelayLooping:
		p.count.looping++
	}
}

// CountVL15Dropped counts a packet on VL15 for which the owner has no room.
func (p *Port) CountVL15Dropped() { p.count.vl15Dropped++ }

// CountQP1Dropped counts a GMP for which the agent has no room.
func (p *Port) CountQP1Dropped() { p.count.qp1Dropped++ }

// CountDiscard counts n packets that waited to leave here when the link went.
func (p *Port) CountDiscard(n int) { p.count.inactive += uint64(n) }

// CountMarked counts a packet in which the owner set FECN because of a lane of
// this port.
func (p *Port) CountMarked(vl uint8) { p.count.congest[vl]++ }

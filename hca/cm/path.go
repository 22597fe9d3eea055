package cm

import (
	"cnuas/hca"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Path is the way to a peer: of the messages, and of the connection's packets.
type Path struct {
	SGID, DGID   hca.GID
	SGIDIndex    uint8
	FlowLabel    uint32
	TrafficClass uint8
	HopLimit     uint8 // 0 and 1: the peer is in this subnet
	PKey         uint16
	PKeyIndex    uint16
	MTU          mad.MTU
	Rate         mad.Rate
	Lifetime     mad.Timeout // of a packet on the way

	SLID, DLID wire.LID // InfiniBand
	PathBits   uint8    // of SLID
	SL         uint8
	Global     bool // packets have a GRH; always with RoCE

	MAC [6]byte // RoCE: next hop
}

// Address is where messages to the peer's manager go.
func (p *Path) Address() hca.MADAddress {
	return hca.MADAddress{
		QPN: wire.QP1, QKey: wire.QP1QKey, LID: p.DLID, SL: p.SL, PathBits: p.PathBits, PKeyIndex: p.PKeyIndex,
		GRH: p.Global, SGIDIndex: p.SGIDIndex, GID: p.DGID, FlowLabel: p.FlowLabel,
		TrafficClass: p.TrafficClass, HopLimit: p.HopLimit, MAC: p.MAC,
	}
}

// Vector is the address vector of a queue pair whose peer is there.
func (p *Path) Vector() hca.AddressVector {
	return hca.AddressVector{
		SGIDIndex: p.SGIDIndex, DGID: p.DGID, TrafficClass: p.TrafficClass, HopLimit: p.HopLimit,
		FlowLabel: p.FlowLabel, SL: p.SL, DLID: p.DLID, PathBits: p.PathBits, Global: p.Global, DMAC: p.MAC,
	}
}

// local tells that the peer is in this subnet (REQ, Primary Subnet Local).
func (p *Path) local() bool { return p.HopLimit <= 1 }

// ackTimeout is the Local ACK Timeout of the path between an adapter with the
// given delay and another: the least code that covers both ways of a packet
// and the delay (IBTA vol. 1 §12.7.34).
func ackTimeout(delay, lifetime mad.Timeout) mad.Timeout {
	return min(mad.TimeoutOf(2*lifetime.Picoseconds()+delay.Picoseconds()), 31)
}

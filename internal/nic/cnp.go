package nic

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// maxCNPs bounds what waits while the priority of CNPs is paused.
const maxCNPs = 1024

// hopLimit is the TTL of CNPs.
const hopLimit = 64

// cnp makes the congestion notification packet that answers f: a BTH and 16
// bytes of zeros in a class of its own, never marked itself (IBTA annex
// A17.9.3). It goes back the way that f came.
func (c *points) cnp(f *frame.Frame, fl *flow) *frame.Frame {
	l := &f.Meta.Layers
	v4 := l.EtherType == wire.EtherTypeIPv4
	l3 := int(l.L3)
	l4 := l3 + wire.IPv6Len
	if v4 {
		l4 = l3 + wire.IPv4Len
	}
	g := c.nic.pool.Get()
	b := g.Head(l4 + wire.UDPLen + wire.BTHLen + wire.CNPReservedLen)
	copy(b[:l3], f.Data) // the tag and the type stay
	eth, from := wire.Ethernet(b), wire.Ethernet(f.Data)
	eth.SetDst(from.Src())
	eth.SetSrc(c.nic.cfg.MAC)
	if l.Tagged {
		wire.VLAN(b).SetTCI(wire.TCI(c.prio, false, l.VID))
	}
	udp := wire.UDPLen + wire.BTHLen + wire.CNPReservedLen + wire.ICRCLen
	if ip := f.Data[l3:]; v4 {
		h := wire.IPv4Fields{TOS: c.cfg.CNPDSCP << 2, TotalLen: wire.IPv4Len + udp, DontFragment: true, TTL: hopLimit,
			Proto: wire.ProtoUDP, Src: wire.IPv4(ip).Dst(), Dst: wire.IPv4(ip).Src()}
		h.Encode(b[l3:])
	} else {
		h := wire.IPv6Fields{TrafficClass: c.cfg.CNPDSCP << 2, PayloadLen: udp, HopLimit: hopLimit,
			NextHeader: wire.ProtoUDP, Src: wire.IPv6(ip).Dst(), Dst: wire.IPv6(ip).Src()}
		h.Encode(b[l3:])
	}
	wire.UDP(b[l4:]).Encode(fl.out, wire.RoCEv2Port, udp)
	h := wire.BTHFields{Opcode: wire.CNP, MigReq: true, PKey: wire.DefaultPKey, BECN: true, DestQP: fl.remote}
	h.Encode(wire.BTH(b[l4+wire.UDPLen:]))
	clear(b[l4+wire.UDPLen+wire.BTHLen:])
	g.Meta.ICRCDeferred = true
	g.Parse()
	g.WireLen()
	return g
}

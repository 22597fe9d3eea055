package ether

import (
	"net/netip"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read RFC 4861 §7.2 before editing. The switch answers solicitations and
// learns; it sends no router advertisements, so hosts have their gateway by
// configuration.

// receiveND takes an ICMPv6 message and tells whether it was neighbour
// discovery that concerns x.
func (s *Switch) receiveND(x *iface, f *frame.Frame) bool {
	h := wire.IPv6(f.Data[f.Meta.Layers.L3:])
	body := h[wire.IPv6Len:]
	if n := h.PayloadLen(); n <= len(body) {
		body = body[:n]
	}
	m := wire.ND(body)
	if !m.Valid() || h.HopLimit() != wire.NDHopLimit || !wire.ICMP(m).ChecksumOK6(h.Src(), h.Dst()) {
		return false
	}
	src, target := netip.AddrFrom16(h.Src()), netip.AddrFrom16(m.Target())
	if m[0] == wire.ICMPv6NeighborAdv {
		mac, ok := m.LinkAddr(wire.NDTargetLinkAddr)
		// An advertisement that nobody asked for makes no entry (§7.2.5).
		if ok && s.router.neigh[neighKey{x.index, target}] != nil {
			s.setNeighbour(x, target, mac)
		}
		return true
	}
	if !x.owns(target) {
		return false
	}
	mac, ok := m.LinkAddr(wire.NDSourceLinkAddr)
	if !ok {
		mac = wire.Ethernet(f.Data).Src()
	}
	if x.subnet(src).IsValid() {
		s.setNeighbour(x, src, mac)
	}
	if src.IsUnspecified() { // duplicate address detection
		s.advertise(x, m.Target(), allNodes, allNodesMAC, wire.NDRouter|wire.NDOverride)
	} else {
		s.advertise(x, m.Target(), h.Src(), mac, wire.NDRouter|wire.NDOverride|wire.NDSolicited)
	}
	return true
}

// advertise answers that x has the address.
func (s *Switch) advertise(x *iface, target, dst [16]byte, mac [6]byte, flags uint8) {
	s.sendND(x, wire.ICMPv6NeighborAdv, flags, target, target, dst, mac)
}

// askND solicits a's MAC address.
func (s *Switch) askND(a *adjacency) {
	own := a.iface.subnet(a.addr)
	if !own.IsValid() {
		return
	}
	group := wire.SolicitedNode(a.addr.As16())
	s.sendND(a.iface, wire.ICMPv6NeighborSol, 0, a.addr.As16(), own.Addr().As16(), group, wire.MulticastMAC(group))
}

func (s *Switch) sendND(x *iface, typ, flags uint8, target, src, dst [16]byte, mac [6]byte) {
	const n = wire.NDLen + wire.NDOptionLen
	f := s.newFrame(wire.EthernetLen + wire.IPv6Len + n)
	wire.Ethernet(f.Data).Encode(mac, x.mac, wire.EtherTypeIPv6)
	ip := wire.IPv6Fields{PayloadLen: n, NextHeader: wire.ProtoICMPv6, HopLimit: wire.NDHopLimit, Src: src, Dst: dst}
	ip.Encode(wire.IPv6(f.Data[wire.EthernetLen:]))
	m := f.Data[wire.EthernetLen+wire.IPv6Len:]
	wire.ND(m).Encode(typ, flags, target, x.mac)
	wire.ICMP(m).Seal6(src, dst)
	s.finish(f)
	s.sendOn(x, f)
}

package ipoib

import (
	"net/netip"

	"cnuas/hca"
	"cnuas/internal/wire"
)

// receive takes a datagram of the queue pair.
func (i *Interface) receive(d *hca.Datagram) {
	b := d.Data
	if len(b) < HeaderLen || !i.running {
		i.ctr.RxMalformed++
		return
	}
	p := b[HeaderLen:]
	switch uint16(b[0])<<8 | uint16(b[1]) {
	case wire.EtherTypeARP:
		i.onARP(arp(p), d)
	case wire.EtherTypeIPv4:
		if !wire.IPv4(p).Valid() {
			i.ctr.RxMalformed++
			return
		}
		i.deliver(p)
	case wire.EtherTypeIPv6:
		if !wire.IPv6(p).Valid() {
			i.ctr.RxMalformed++
			return
		}
		if m := neighbourDiscovery(p); m != nil {
			i.onND(wire.IPv6(p), m, d)
			return
		}
		i.deliver(p)
	default:
		i.ctr.RxMalformed++
	}
}

func (i *Interface) deliver(p []byte) {
	if i.host == nil || !i.host.Deliver(p) {
		i.ctr.NotTaken++
		return
	}
	i.ctr.RxPackets++
	i.ctr.RxBytes += uint64(len(p))
}

// onARP follows the packet reception of RFC 826.
func (i *Interface) onARP(m arp, d *hca.Datagram) {
	if !m.valid() || m.op() != wire.ARPRequest && m.op() != wire.ARPReply {
		i.ctr.RxMalformed++
		return
	}
	ip, target, from := m.senderIP(), m.targetIP(), m.sender()
	forUs := i.own(target)
	i.learn(ip, from, forUs, forUs && m.op() == wire.ARPReply, d.Addr.LID)
	if m.op() != wire.ARPRequest || !forUs || !from.unicast() {
		return
	}
	p := i.path(from.GID())
	if p == nil {
		i.ctr.TxOverflow++
		return
	}
	i.ctr.Advertisements++
	b := i.message(wire.EtherTypeARP, arpLen)
	arp(b[HeaderLen:]).encode(wire.ARPReply, i.Addr(), target, from, ip)
	p.send(from.QPN(), b)
}

// onND takes a neighbour solicitation or advertisement (RFC 4861 §7.2).
func (i *Interface) onND(h wire.IPv6, m wire.ND, d *hca.Datagram) {
	src, dst, target := netip.AddrFrom16(h.Src()), netip.AddrFrom16(h.Dst()), netip.AddrFrom16(m.Target())
	if n := wire.NDLen; h.PayloadLen() < n || h.PayloadLen() > len(m) || h.HopLimit() != wire.NDHopLimit || target.IsMulticast() {
		i.ctr.RxMalformed++
		return
	}
	m = m[:h.PayloadLen()]
	if !wire.ICMP(m).ChecksumOK6(h.Src(), h.Dst()) {
		i.ctr.RxMalformed++
		return
	}
	if m[0] == wire.ICMPv6NeighborAdv {
		if a, ok := linkAddr(m, wire.NDTargetLinkAddr); ok {
			i.learn(target, a, false, m.Flags()&wire.NDSolicited != 0 && !dst.IsMulticast(), d.Addr.LID)
		}
		return
	}
	if !i.own(target) {
		return
	}
	a, ok := linkAddr(m, wire.NDSourceLinkAddr)
	if !ok || src.IsUnspecified() || !a.unicast() {
		return // a probe for duplicate addresses, whose answer goes to all: addresses are the topology's
	}
	i.learn(src, a, true, false, d.Addr.LID)
	p := i.path(a.GID())
	if p == nil {
		i.ctr.TxOverflow++
		return
	}
	i.ctr.Advertisements++
	b := i.message(wire.EtherTypeIPv6, ndLen)
	encodeND(b[HeaderLen:], wire.ICMPv6NeighborAdv, wire.NDSolicited|wire.NDOverride, target, src, target, i.Addr())
	p.send(a.QPN(), b)
}

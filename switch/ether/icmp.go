package ether

import (
	"encoding/binary"
	"net/netip"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
	switching "cnuas/switch"
)

// Read RFC 1122 §3.2.2, RFC 1812 §4.3 and RFC 4443 before editing.

const (
	codePort4 = 3 // of wire.ICMPUnreachable: port (RFC 792)
	codePort6 = 4 // of wire.ICMPv6Unreachable: port (RFC 4443 §3.1)

	originHops = 64 // TTL of what the switch sends (RFC 1700)

	quote4 = 576 - wire.IPv4Len - wire.ICMPLen  // RFC 1812 §4.3.2.3
	quote6 = 1280 - wire.IPv6Len - wire.ICMPLen // RFC 4443 §2.4 (c)
)

// deliver ends a packet to one of the switch's own addresses: it answers echo
// requests and neighbour discovery, and says that no port is open. Fragments
// are not reassembled.
func (s *Switch) deliver(p *port, x *iface, f *frame.Frame) {
	l := &f.Meta.Layers
	ip := f.Data[l.L3:]
	if l.EtherType == wire.EtherTypeIPv4 {
		h := wire.IPv4(ip)
		m := wire.ICMP(ip[h.HeaderLen():])
		if l.Proto == wire.ProtoICMP && !fragment(h) && m.Valid() && m.Type() == wire.ICMPEcho {
			src, dst := h.Src(), h.Dst()
			h.SetSrc(dst)
			h.SetDst(src)
			h.UpdateTTL(originHops)
			m.SetType(wire.ICMPEchoReply)
			m.SetChecksum(wire.UpdateChecksum(m.Checksum(), wire.ICMPEcho<<8, wire.ICMPEchoReply<<8))
			s.originate(x, f)
			return
		}
		if l.Proto == wire.ProtoUDP || l.Proto == wire.ProtoTCP {
			s.icmpError(x, f, wire.ICMPUnreachable, codePort4, 0)
		}
		s.consume(f)
		return
	}
	h := wire.IPv6(ip)
	m := wire.ICMP(ip[wire.IPv6Len:])
	if l.Proto == wire.ProtoICMPv6 && m.Valid() && m.Type() == wire.ICMPv6EchoRequest {
		src, dst := h.Src(), h.Dst()
		h.SetSrc(dst)
		h.SetDst(src)
		h.SetHopLimit(originHops)
		m.SetType(wire.ICMPv6EchoReply)
		m.SetChecksum(wire.UpdateChecksum(m.Checksum(), wire.ICMPv6EchoRequest<<8, wire.ICMPv6EchoReply<<8))
		s.originate(x, f)
		return
	}
	switch l.Proto {
	case wire.ProtoICMPv6:
		s.receiveND(x, f)
	case wire.ProtoUDP, wire.ProtoTCP:
		s.icmpError(x, f, wire.ICMPv6Unreachable, codePort6, 0)
	}
	s.consume(f)
}

func fragment(h wire.IPv4) bool { return h.MoreFragments() || h.FragmentOffset() != 0 }

// originate sends an IP packet of the switch's own. x is the interface that it
// answers on, which is where link-local addresses are.
func (s *Switch) originate(x *iface, f *frame.Frame) {
	l := &f.Meta.Layers
	blame := s.ports[max(int(f.Meta.InPort), 0)]
	hi, lo := uint64(v4Key), uint64(0)
	if l.EtherType == wire.EtherTypeIPv4 {
		lo = uint64(binary.BigEndian.Uint32(f.Data[l.L3+16:]))
	} else {
		hi, lo = binary.BigEndian.Uint64(f.Data[l.L3+24:]), binary.BigEndian.Uint64(f.Data[l.L3+32:])
	}
	var t target
	if hi>>54 == 0xfe80>>6 {
		// The asker's address is on the link that it asked by.
		t = target{kind: toNeighbour, adj: &adjacency{iface: x, mac: wire.Ethernet(f.Data).Src(), resolved: true}}
	} else {
		t = s.find(hi, lo)
	}
	if t.kind != toNeighbour && t.kind != toGroup {
		s.drop(blame, f, switching.DropNoRoute)
		return
	}
	if a := s.hop(blame, f, t); a != nil {
		s.sendTo(a, f)
	}
}

// icmpError tells the sender of f why it is going to be dropped; the caller
// does that. rest is the second word of the message. Errors about errors,
// groups and later fragments are not sent (RFC 1122 §3.2.2).
func (s *Switch) icmpError(x *iface, f *frame.Frame, typ, code uint8, rest uint32) {
	l := &f.Meta.Layers
	ip := f.Data[l.L3:]
	v4 := l.EtherType == wire.EtherTypeIPv4
	if v4 && !mayAnswer4(ip, l) || !v4 && !mayAnswer6(ip, l) {
		return
	}
	own, ok := s.address(x, v4)
	if !ok || !s.router.errors.allow(s.eng.Now()) {
		return
	}
	total, hdr, most := 0, wire.IPv4Len, quote4
	if v4 {
		total = wire.IPv4(ip).TotalLen()
	} else {
		total, hdr, most = wire.IPv6Len+wire.IPv6(ip).PayloadLen(), wire.IPv6Len, quote6
	}
	head := ip[:min(len(ip), total, most)]
	pay := f.Pay[:max(0, min(len(f.Pay), total-len(head), most-len(head)))]
	body := wire.ICMPLen + len(head) + len(pay)
	e := s.newFrame(wire.EthernetLen + hdr + body)
	wire.Ethernet(e.Data).Encode(wire.Ethernet(f.Data).Src(), wire.Ethernet(f.Data).Src(), l.EtherType)
	m := wire.ICMP(e.Data[wire.EthernetLen+hdr:])
	m.SetType(typ)
	m.SetCode(code)
	m.SetRest(rest)
	copy(m[wire.ICMPLen+copy(m[wire.ICMPLen:], head):], pay)
	if v4 {
		h := wire.IPv4Fields{TotalLen: hdr + body, TTL: originHops, Proto: wire.ProtoICMP, Src: own.As4(), Dst: wire.IPv4(ip).Src()}
		h.Encode(wire.IPv4(e.Data[wire.EthernetLen:]))
		m.Seal()
	} else {
		h := wire.IPv6Fields{PayloadLen: body, NextHeader: wire.ProtoICMPv6, HopLimit: originHops, Src: own.As16(), Dst: wire.IPv6(ip).Src()}
		h.Encode(wire.IPv6(e.Data[wire.EthernetLen:]))
		m.Seal6(h.Src, h.Dst)
	}
	s.finish(e)
	s.originate(x, e)
}

// mayAnswer4 tells whether an error may be sent about an IPv4 packet.
func mayAnswer4(ip wire.IPv4, l *wire.Layers) bool {
	src := netip.AddrFrom4(ip.Src())
	if ip.FragmentOffset() != 0 || !src.IsGlobalUnicast() {
		return false
	}
	if l.Proto == wire.ProtoICMP {
		m := wire.ICMP(ip[ip.HeaderLen():])
		return m.Valid() && (m.Type() == wire.ICMPEcho || m.Type() == wire.ICMPEchoReply)
	}
	return true
}

// mayAnswer6 tells whether an error may be sent about an IPv6 packet.
func mayAnswer6(ip wire.IPv6, l *wire.Layers) bool {
	src := netip.AddrFrom16(ip.Src())
	if !src.IsGlobalUnicast() && !src.IsLinkLocalUnicast() {
		return false
	}
	if l.Proto == wire.ProtoICMPv6 {
		m := wire.ICMP(ip[wire.IPv6Len:])
		return m.Valid() && m.Type() >= 128 // RFC 4443 §2.1: errors are below
	}
	return true
}

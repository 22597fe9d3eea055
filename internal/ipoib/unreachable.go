package ipoib

import "cnuas/internal/wire"

// quoted is how much of a packet an error repeats: enough for every transport's
// header (RFC 1122 §3.2.2, RFC 4443 §2.4 permit more).
const quoted = 128

// unreachable tells the node's kernel that a packet of its own could not be
// delivered, as the kernel itself does where it resolves neighbours: ICMP host
// unreachable (RFC 792, RFC 1812 §5.2.7.1), ICMPv6 address unreachable (RFC 4443
// §3.1). The error comes from the address that nobody has: the kernel refuses
// what comes from its own. b has the encapsulation header.
func (i *Interface) unreachable(b []byte) {
	i.ctr.TxUnresolved++
	if i.host == nil {
		return
	}
	p := b[HeaderLen:]
	q := p[:min(len(p), quoted)]
	if h := wire.IPv4(p); h.Valid() {
		if h.Proto() == wire.ProtoICMP && isError4(p[h.HeaderLen():]) || h.FragmentOffset() != 0 {
			return
		}
		m := make([]byte, wire.IPv4Len+wire.ICMPLen+len(q))
		(&wire.IPv4Fields{TotalLen: len(m), TTL: 64, Proto: wire.ProtoICMP, Src: h.Dst(), Dst: h.Src()}).Encode(m)
		x := wire.ICMP(m[wire.IPv4Len:])
		x[0], x[1] = wire.ICMPUnreachable, wire.ICMPCodeHost
		copy(x[wire.ICMPLen:], q)
		x.Seal()
		i.host.Deliver(m)
		return
	}
	h := wire.IPv6(p)
	if h.NextHeader() == wire.ProtoICMPv6 && (len(p) <= wire.IPv6Len || p[wire.IPv6Len] < 128) {
		return // no error about an error
	}
	m := make([]byte, wire.IPv6Len+wire.ICMPLen+len(q))
	(&wire.IPv6Fields{PayloadLen: len(m) - wire.IPv6Len, NextHeader: wire.ProtoICMPv6, HopLimit: 64, Src: h.Dst(), Dst: h.Src()}).Encode(m)
	x := wire.ICMP(m[wire.IPv6Len:])
	x[0], x[1] = wire.ICMPv6Unreachable, wire.ICMPv6CodeAddress
	copy(x[wire.ICMPLen:], q)
	x.Seal6(h.Dst(), h.Src())
	i.host.Deliver(m)
}

// isError4 tells whether an ICMP message is not a question or its answer.
func isError4(m []byte) bool {
	return len(m) == 0 || m[0] != wire.ICMPEcho && m[0] != wire.ICMPEchoReply
}

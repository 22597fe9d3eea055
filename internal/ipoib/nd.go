package ipoib

import (
	"net/netip"

	"cnuas/internal/wire"
)

// ndOptionLen is the length of a link-layer address option in bytes: type,
// length in units of 8 bytes, two bytes of padding, the address (RFC 4391 §9.3).
const ndOptionLen = 4 + AddrLen

// ndLen is the length of a message of ours in bytes, with the IPv6 header.
const ndLen = wire.IPv6Len + wire.NDLen + ndOptionLen

// linkAddr returns the address in the option of the given type, and whether
// there is one. Options that are not well formed end the search.
func linkAddr(m wire.ND, option uint8) (a Addr, ok bool) {
	for b := m[wire.NDLen:]; len(b) >= 8; {
		n := int(b[1]) * 8
		if n == 0 || n > len(b) {
			return a, false
		}
		if b[0] == option && n >= ndOptionLen {
			return Addr(b[4:ndOptionLen]), true
		}
		b = b[n:]
	}
	return a, false
}

// encodeND writes a neighbour solicitation or advertisement with its IPv6
// header and one link-layer address option; b has ndLen bytes.
func encodeND(b []byte, typ, flags uint8, src, dst, target netip.Addr, own Addr) {
	s, d := src.As16(), dst.As16()
	(&wire.IPv6Fields{PayloadLen: ndLen - wire.IPv6Len, NextHeader: wire.ProtoICMPv6, HopLimit: wire.NDHopLimit, Src: s, Dst: d}).Encode(b)
	m := b[wire.IPv6Len:ndLen]
	clear(m)
	m[0], m[4] = typ, flags
	t := target.As16()
	copy(m[8:], t[:])
	o := m[wire.NDLen:]
	o[0], o[1] = wire.NDSourceLinkAddr, ndOptionLen/8
	if typ == wire.ICMPv6NeighborAdv {
		o[0] = wire.NDTargetLinkAddr
	}
	copy(o[4:], own[:])
	wire.ICMP(m).Seal6(s, d)
}

// neighbourDiscovery returns the message of a packet if it is one that
// neighbours find each other with: a solicitation or an advertisement.
func neighbourDiscovery(p []byte) wire.ND {
	h := wire.IPv6(p)
	if h.NextHeader() != wire.ProtoICMPv6 || len(p) < wire.IPv6Len+wire.NDLen {
		return nil
	}
	if m := wire.ND(p[wire.IPv6Len:]); m.Valid() {
		return m
	}
	return nil
}

package wire

import "hash/crc32"

// ICRC computes the invariant CRC of a RoCEv2 packet (IBTA vol. 1 §7.8.1 and
// annex A17.3.3). b is the frame from its Ethernet header to the last byte of
// the pad; l3 is the offset of the IP header. Fields that routers change are
// taken as ones: TOS, TTL and header checksum of IPv4; traffic class, flow
// label and hop limit of IPv6; the UDP checksum; the resv8a byte of BTH. In
// front stand 64 ones in place of a LRH.
//
// The result goes on the wire least significant byte first.
func ICRC(b []byte, l3 int) uint32 {
	var m [8 + IPv6Len + UDPLen + BTHLen]byte
	for i := range 8 {
		m[i] = 0xff
	}
	p := b[l3:]
	if len(p) == 0 {
		return 0
	}
	n, udp := 0, IPv4Len
	if p[0]>>4 == 6 {
		udp = IPv6Len
	}
	end := udp + UDPLen + BTHLen
	if len(p) < end {
		end = len(p)
	}
	n = copy(m[8:], p[:end])
	h := m[8 : 8+n]
	if udp == IPv4Len && n >= IPv4Len {
		h[1], h[8], h[10], h[11] = 0xff, 0xff, 0xff, 0xff
	} else if n >= IPv6Len {
		h[0] |= 0x0f
		h[1], h[2], h[3], h[7] = 0xff, 0xff, 0xff, 0xff
	}
	if n >= udp+UDPLen {
		h[udp+6], h[udp+7] = 0xff, 0xff
	}
	if n >= udp+UDPLen+BTHLen {
		h[udp+UDPLen+4] = 0xff
	}
	c := crc32.Update(0, crc32.IEEETable, m[:8+n])
	return crc32.Update(c, crc32.IEEETable, p[end:])
}

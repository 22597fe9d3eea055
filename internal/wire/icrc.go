package wire

import "hash/crc32"

// ICRC computes the invariant CRC of a RoCEv2 packet (IBTA vol. 1 §7.8.1 and
// annex A17.3.3). b is the frame from its Ethernet header to the last byte of
// the pad; l3 is the offset of the IP header, at most len(b). Fields that
// routers change are taken as ones: TOS, TTL and header checksum of IPv4;
// traffic class, flow label and hop limit of IPv6; the UDP checksum; the resv8a
// byte of BTH. In front stand 64 ones in place of a LRH. A RoCEv2 packet has
// no IPv4 options.
//
// The result goes on the wire least significant byte first.
func ICRC(b []byte, l3 int) uint32 {
	var m [IPv6Len + UDPLen + BTHLen]byte
	p := b[l3:]
	if len(p) == 0 {
		return 0
	}
	udp := IPv4Len
	if p[0]>>4 == 6 {
		udp = IPv6Len
	}
	end := min(udp+UDPLen+BTHLen, len(p))
	h := m[:copy(m[:], p[:end])]
	if udp == IPv4Len && len(h) >= IPv4Len {
		h[1], h[8], h[10], h[11] = 0xff, 0xff, 0xff, 0xff
	} else if len(h) >= IPv6Len {
		h[0] |= 0x0f
		h[1], h[2], h[3], h[7] = 0xff, 0xff, 0xff, 0xff
	}
	if len(h) >= udp+UDPLen {
		h[udp+6], h[udp+7] = 0xff, 0xff
	}
	if len(h) >= udp+UDPLen+BTHLen {
		h[udp+UDPLen+4] = 0xff
	}
	c := updateCRC(crcOnes, h)
	return crc32.Update(c, crc32.IEEETable, p[end:])
}

// crcOnes is the CRC of eight bytes of ones.
var crcOnes = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// crcTables are those of the slicing-by-8 method: the CRC of byte i followed
// by n zero bytes is crcTables[n][i].
var crcTables = func() (t [8][256]uint32) {
	t[0] = *crc32.IEEETable
	for n := 1; n < 8; n++ {
		for i, c := range t[n-1] {
			t[n][i] = t[0][c&0xff] ^ c>>8
		}
	}
	return t
}()

// updateCRC is crc32.Update for the polynomial of IEEE 802.3, written out
// because the argument of that one escapes: the masked headers would cost an
// allocation per packet.
func updateCRC(crc uint32, p []byte) uint32 {
	crc = ^crc
	t := &crcTables
	for ; len(p) >= 8; p = p[8:] {
		crc ^= uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
		crc = t[0][p[7]] ^ t[1][p[6]] ^ t[2][p[5]] ^ t[3][p[4]] ^
			t[4][crc>>24] ^ t[5][crc>>16&0xff] ^ t[6][crc>>8&0xff] ^ t[7][crc&0xff]
	}
	for _, b := range p {
		crc = t[0][byte(crc)^b] ^ crc>>8
	}
	return ^crc
}

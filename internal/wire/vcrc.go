package wire

import "encoding/binary"

// vcrcPoly is x^16 + x^12 + x^3 + x + 1, bit-reversed (IBTA vol. 1 §7.8.2).
const vcrcPoly = 0xd008

var vcrcTable = func() (t [256]uint16) {
	for i := range t {
		c := uint16(i)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ vcrcPoly
			} else {
				c >>= 1
			}
		}
		t[i] = c
	}
	return t
}()

// vcrcTables are those of the slicing-by-16 method: the CRC of byte i followed by
// n zero bytes is vcrcTables[n][i].
var vcrcTables = func() (t [16][256]uint16) {
	t[0] = vcrcTable
	for n := 1; n < 16; n++ {
		for i, c := range t[n-1] {
			t[n][i] = t[0][c&0xff] ^ c>>8
		}
	}
	return t
}()

// VCRC computes the variant CRC over b, a packet from its LRH to its ICRC
// (IBTA vol. 1 §7.8.2). The result goes on the wire least significant byte
// first. Over the first four bytes of a flow control packet the same CRC is
// its LPCRC (§7.9.4).
func VCRC(b []byte) uint16 {
	c := ^uint16(0)
	t := &vcrcTables
	for ; len(b) >= 16; b = b[16:] {
		// The two bytes that depend on what came before are looked up last.
		x := t[13][b[2]] ^ t[12][b[3]] ^ t[11][b[4]] ^ t[10][b[5]] ^ t[9][b[6]] ^ t[8][b[7]] ^ t[7][b[8]] ^
			t[6][b[9]] ^ t[5][b[10]] ^ t[4][b[11]] ^ t[3][b[12]] ^ t[2][b[13]] ^ t[1][b[14]] ^ t[0][b[15]]
		c ^= uint16(b[0]) | uint16(b[1])<<8
		c = x ^ t[15][byte(c)] ^ t[14][c>>8]
	}
	for _, x := range b {
		c = vcrcTable[byte(c)^x] ^ c>>8
	}
	return ^c
}

// SealIB computes the CRCs of a native packet into its last bytes: the ICRC,
// unless the packet is raw, and the VCRC. b is the whole packet, as long as its
// LRH says; it reports false, and does nothing, if b is not.
func SealIB(b []byte) bool {
	h := LRH(b)
	if !h.Valid() || h.WireLen() != len(b) || len(b) < LRHLen+ICRCLen+VCRCLen {
		return false
	}
	n := len(b) - VCRCLen
	if h.LNH() >= LNHBTH {
		i := n - ICRCLen
		binary.LittleEndian.PutUint32(b[i:], ICRCNative(b[:i]))
	}
	binary.LittleEndian.PutUint16(b[n:], VCRC(b[:n]))
	return true
}

// CheckIB verifies the CRCs of a whole native packet. The ICRC of a raw packet,
// which has none, is right.
func CheckIB(b []byte) (icrc, vcrc bool) {
	h := LRH(b)
	if !h.Valid() || h.WireLen() != len(b) || len(b) < LRHLen+ICRCLen+VCRCLen {
		return false, false
	}
	n := len(b) - VCRCLen
	i := n - ICRCLen
	icrc = h.LNH() < LNHBTH || binary.LittleEndian.Uint32(b[i:]) == ICRCNative(b[:i])
	return icrc, binary.LittleEndian.Uint16(b[n:]) == VCRC(b[:n])
}

package wire

import "encoding/binary"

// Sum adds the 16-bit words of b to a one's complement sum that is not folded
// yet (RFC 1071). A trailing odd byte counts as the high half of a word.
func Sum(sum uint32, b []byte) uint32 {
	s := uint64(sum)
	for len(b) >= 4 {
		s += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		s += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint32(s)
}

// Fold ends a sum: the checksum to be stored, 0xffff - the folded sum.
func Fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// UpdateChecksum returns checksum after one 16-bit word of the data went from
// was to is (RFC 1624 equation 3).
func UpdateChecksum(checksum, was, is uint16) uint16 {
	return Fold(uint32(^checksum) + uint32(^was) + uint32(is))
}

// PseudoIPv6 is the sum over the pseudo header of RFC 8200 §8.1.
func PseudoIPv6(src, dst [16]byte, proto uint8, length int) uint32 {
	return Sum(Sum(uint32(proto)+uint32(length), src[:]), dst[:])
}

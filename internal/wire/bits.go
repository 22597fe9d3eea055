package wire

// be24 reads the 24-bit fields of the transport headers.
func be24(b []byte) uint32 {
	_ = b[2]
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}

func putBE24(b []byte, v uint32) {
	_ = b[2]
	b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v)
}

func setBit(b []byte, mask byte, v bool) {
	if v {
		b[0] |= mask
	} else {
		b[0] &^= mask
	}
}

package rtu

// crcTable holds the CRC of each byte value: polynomial 8005h, reflected
// (A001h), as V1.02, 6.2.2 generates it bit by bit.
var crcTable = func() (t [256]uint16) {
	for i := range t {
		c := uint16(i)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0xA001
			} else {
				c >>= 1
			}
		}
		t[i] = c
	}
	return t
}()

// CRC of b as V1.02, 6.2.2 has it (CRC-16/MODBUS: start FFFFh, reflected). On
// the wire its low byte goes first.
func CRC(b []byte) uint16 {
	c := uint16(0xFFFF)
	for _, x := range b {
		c = c>>8 ^ crcTable[byte(c)^x]
	}
	return c
}

// AppendCRC appends to b the CRC of all of b, low byte first.
func AppendCRC(b []byte) []byte {
	c := CRC(b)
	return append(b, byte(c), byte(c>>8))
}

// CheckCRC says whether the last two bytes of b are the CRC of what is before
// them. Less than MinADU bytes never are a frame.
func CheckCRC(b []byte) bool {
	if len(b) < MinADU {
		return false
	}
	n := len(b) - 2
	c := CRC(b[:n])
	return b[n] == byte(c) && b[n+1] == byte(c>>8)
}

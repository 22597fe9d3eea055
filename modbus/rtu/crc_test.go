package rtu

import "testing"

func TestCRC(t *testing.T) {
	for _, c := range []struct {
		in  string
		crc uint16
	}{
		{"02 07", 0x1241},                            // V1.02, 6.2.2: sent as 41 12
		{"31 32 33 34 35 36 37 38 39", 0x4B37},       // the check value of CRC-16/MODBUS
		{"", 0xFFFF},                                 // the start value
		{"00", 0x40BF},                               // table entry FF, against FF00
		{"11 03 00 6B 00 03", 0x8776},                // sent as 76 87
		{"01 04 02 FF FF", 0x80B8},                   // sent as B8 80
		{"11 0F 00 13 00 0A 02 CD 01", 0x0BBF},       // sent as BF 0B
		{"11 10 00 01 00 02 04 00 0A 01 02", 0xF0C6}, // sent as C6 F0
	} {
		if got := CRC(hx(c.in)); got != c.crc {
			t.Errorf("%s: %04X, want %04X", c.in, got, c.crc)
		}
	}
	// The table agrees with the polynomial, bit by bit.
	bitwise := func(b []byte) uint16 {
		c := uint16(0xFFFF)
		for _, x := range b {
			c ^= uint16(x)
			for range 8 {
				out := c & 1
				c >>= 1
				if out != 0 {
					c ^= 0xA001
				}
			}
		}
		return c
	}
	for i := range 256 {
		if b := []byte{byte(i), 0x5A, byte(255 - i)}; CRC(b) != bitwise(b) {
			t.Fatalf("% x: %04X, want %04X", b, CRC(b), bitwise(b))
		}
	}
}

func TestCheckCRC(t *testing.T) {
	b := AppendCRC(hx("11 03 00 6B 00 03"))
	if hex(b) != "11 03 00 6b 00 03 76 87" || !CheckCRC(b) {
		t.Errorf("% x", b)
	}
	// Any single bit error is found.
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if CheckCRC(b) {
			t.Errorf("bit %d wrong and not found", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
	// FF FF is the CRC of nothing, and no frame.
	if CheckCRC(nil) || CheckCRC([]byte{0xFF, 0xFF}) || CheckCRC(AppendCRC([]byte{1})) {
		t.Error("a frame below 4 bytes")
	}
}

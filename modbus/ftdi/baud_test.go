package ftdi

import (
	"math"
	"testing"
)

// encode is how ftdi_sio makes a divisor for an H series chip: 12 MHz for rates
// of 1200 and more, in eighths rounded to the nearest.
func encode(baud int) (value, index uint16) {
	code := [8]uint16{0, 3, 2, 4, 1, 5, 6, 7}
	eighths := (8*clock120 + baud/2) / baud
	d := uint32(eighths>>3) | uint32(code[eighths&7])<<14
	switch d {
	case 1:
		d = 0
	case 0x4001:
		d = 1
	}
	d |= 0x20000
	return uint16(d), uint16(d>>16) << 8
}

func TestBaud(t *testing.T) {
	for _, c := range []struct {
		value uint16
		high  uint8
		want  float64
	}{
		{0, 0, 3_000_000}, {1, 0, 2_000_000}, {2, 0, 1_500_000}, {3, 0, 1_000_000},
		{0, 2, 12_000_000}, {1, 2, 8_000_000}, {2, 2, 6_000_000}, {3, 2, 4_000_000},
		{0x4138, 0, 9600}, {0x809c, 0, 19200}, {0xc04e, 0, 38400}, {0x0034, 0, 57692.307692},
		{0x001a, 0, 115384.615385}, {0x000d, 0, 230769.230769},
		{0x0001, 1, 3_000_000 / 1.375}, {0x4001, 1, 3_000_000 / 1.625}, {0x8001, 1, 3_000_000 / 1.75}, {0xc001, 1, 3_000_000 / 1.875},
		{0x4000, 0, 3_000_000}, // a divisor of a half: there is none
		{0x0271, 2, 19200}, {0xc068, 2, 115246.098439}, {0x3fff, 0, 183.116644}, {0xffff, 1, 3e6 / 16383.875},
	} {
		d := divisorOf(c.value, c.high)
		if got := d.Baud(); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("%#04x/%d: %v, want %v", c.value, c.high, got, c.want)
		}
		if got := d.rounded(); math.Abs(float64(got)-c.want) > 0.5 {
			t.Errorf("%#04x/%d: rounded to %d, want %v", c.value, c.high, got, c.want)
		}
	}
	for _, c := range []struct {
		baud int
		want float64
	}{{1200, 1200}, {2400, 2400}, {4800, 4800}, {9600, 9600}, {19200, 19200}, {38400, 38400}, {57600, 57588.482304}, {115200, 115246.098439},
		{230400, 230215.827338}, {460800, 461538.461538}, {921600, 923076.923077}, {1_000_000, 1e6}, {3_000_000, 3e6}, {12_000_000, 12e6}, {8_000_000, 8e6}} {
		v, i := encode(c.baud)
		if got := divisorOf(v, uint8(i>>8)).Baud(); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("%d baud: %v, want %v", c.baud, got, c.want)
		}
	}
}

func FuzzDivisor(f *testing.F) {
	f.Add(uint16(0), uint8(0))
	f.Add(uint16(0x4138), uint8(3))
	f.Fuzz(func(t *testing.T, v uint16, high uint8) {
		if b := divisorOf(v, high).Baud(); !(b >= 183 && b <= 12e6) {
			t.Errorf("%#04x/%d: %v baud", v, high, b)
		}
	})
}

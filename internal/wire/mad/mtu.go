package mad

import "fmt"

// MTU of a link or path, as a code (IBTA vol. 1 §14.2.5.6).
type MTU uint8

// MTUs.
const (
	MTU256  MTU = 1
	MTU512  MTU = 2
	MTU1024 MTU = 3
	MTU2048 MTU = 4
	MTU4096 MTU = 5
)

// Bytes of payload, 0 for a code that is not defined.
func (m MTU) Bytes() int {
	if m < MTU256 || m > MTU4096 {
		return 0
	}
	return 128 << m
}

// MTUOf is the largest MTU of at most n bytes, 0 if there is none.
func MTUOf(n int) MTU {
	m := MTU4096
	for m > 0 && m.Bytes() > n {
		m--
	}
	return m
}

// String prints the bytes.
func (m MTU) String() string {
	if n := m.Bytes(); n != 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("MTU code %d", uint8(m))
}

// VLs is the number of data virtual lanes, as VLCap and OperationalVLs have it
// (IBTA vol. 1 §14.2.5.6).
type VLs uint8

// Codes of VLCap and OperationalVLs.
const (
	VL0     VLs = 1
	VL0to1  VLs = 2
	VL0to3  VLs = 3
	VL0to7  VLs = 4
	VL0to14 VLs = 5
)

// Count of data lanes, 0 for a code that is not defined.
func (v VLs) Count() int {
	switch {
	case v >= VL0 && v <= VL0to7:
		return 1 << (v - 1)
	case v == VL0to14:
		return 15
	}
	return 0
}

// String names the lanes.
func (v VLs) String() string { return name(uint8(v), "", "VL0", "VL0-1", "VL0-3", "VL0-7", "VL0-14") }

// Timeout is an exponent n: 4.096 µs × 2^n. SubnetTimeout, RespTimeValue,
// PacketLifeTime, HOQLife and the switch's LifeTimeValue are encoded so (IBTA
// vol. 1 §13.4.6.2, §14.2.5.6); the CM's timeouts and the QP's ACK timeout too.
type Timeout uint8

// TimeoutInfinite: a HOQLife or LifeTimeValue above 19 never ends (IBTA vol. 1
// §18.2.5.4).
const TimeoutInfinite Timeout = 20

// Picoseconds is the time, of the low five bits.
func (t Timeout) Picoseconds() int64 { return 4096000 << (t & 31) }

// String prints the time.
func (t Timeout) String() string {
	switch us := float64(t.Picoseconds()) / 1e6; {
	case us < 1e3:
		return fmt.Sprintf("%.3fus", us)
	case us < 1e6:
		return fmt.Sprintf("%.3fms", us/1e3)
	default:
		return fmt.Sprintf("%.3fs", us/1e6)
	}
}

// TimeoutOf is the least code whose time is at least ps picoseconds.
func TimeoutOf(ps int64) Timeout {
	t := Timeout(0)
	for t < 31 && t.Picoseconds() < ps {
		t++
	}
	return t
}

// Selector says how MTU, Rate and PacketLifeTime of a record are meant (IBTA
// vol. 1 §15.2.5.16).
type Selector uint8

// Selectors.
const (
	SelGreater Selector = 0
	SelLess    Selector = 1
	SelExact   Selector = 2
	SelLargest Selector = 3 // largest available; for PacketLifeTime the smallest
)

// String names the selector.
func (s Selector) String() string {
	return name(uint8(s), "greater than", "less than", "exactly", "best")
}

package rtu

import (
	"fmt"

	"cnuas/internal/sim"
)

// Parity of a character.
type Parity uint8

// Parities of a serial line.
const (
	None Parity = iota
	Odd
	Even
)

// String names the parity as topologies and the command line do.
func (p Parity) String() string {
	switch p {
	case None:
		return "none"
	case Odd:
		return "odd"
	case Even:
		return "even"
	}
	return fmt.Sprintf("parity(%d)", uint8(p))
}

// Line is how the characters of a serial line are coded. The standard's default
// is 19200 8E1 (Modbus over serial line V1.02, 2.5.1).
type Line struct {
	Baud   int    // bits per second, 50 to 4000000
	Data   uint8  // data bits, 7 or 8
	Parity Parity // of each character
	Stop   uint8  // stop bits, 1 or 2
}

// Bits of one character on the wire: start, data, parity and stop bits.
func (l Line) Bits() int {
	n := 1 + int(l.Data) + int(l.Stop)
	if l.Parity != None {
		n++
	}
	return n
}

// CharTime is how long one character takes, rounded to the picosecond.
func (l Line) CharTime() sim.Time {
	return (sim.Time(l.Bits())*sim.Second + sim.Time(l.Baud)/2) / sim.Time(l.Baud)
}

// T15 is the longest silence inside a frame (V1.02, 2.5.1.1): one and a half
// characters up to 19200 baud, 750 us above.
func (l Line) T15() sim.Time {
	if l.Baud > 19200 {
		return 750 * sim.Microsecond
	}
	return l.CharTime() * 3 / 2
}

// T35 is the shortest silence between frames (V1.02, 2.5.1.1): three and a half
// characters up to 19200 baud, 1.75 ms above.
func (l Line) T35() sim.Time {
	if l.Baud > 19200 {
		return 1750 * sim.Microsecond
	}
	return l.CharTime() * 7 / 2
}

// String prints the line as "19200 8E1".
func (l Line) String() string {
	return fmt.Sprintf("%d %d%c%d", l.Baud, l.Data, "NOE?"[min(l.Parity, 3)], l.Stop)
}

// LineError is what a receiver saw wrong in one character; several bits may be
// set.
type LineError uint8

// Errors of one character, as UARTs report them.
const (
	ParityError  LineError = 1 << iota // the parity bit does not fit
	FramingError                       // no stop bit where one should be: another baud, a collision, noise
	Overrun                            // a character before this one was lost
	Break                              // the line stayed at space for a whole character
)

// Char is one received character.
type Char struct {
	At   sim.Time // end of its last stop bit on the wire
	Byte byte
	Err  LineError // 0: received well
}

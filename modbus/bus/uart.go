package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// uart is the receiver of one listener: it samples the level of the wire in the
// middle of each of its bits, beginning with the edge of a start bit, and
// judges the first stop bit only, as UARTs do.
type uart struct {
	line  rtu.Line
	state uint8
	k     int      // next bit to sample
	shift uint16   // samples so far, the start bit lowest
	start sim.Time // edge of the start bit
	fed   sim.Time // until here the level is known
}

const (
	idle     = iota // mark: a falling edge begins a character
	inChar          // between start and stop bit
	waitMark        // no stop bit: nothing begins before the wire is at mark again
)

// bitAt is where bit k of a character begins on a line of so many baud.
func bitAt(start sim.Time, baud, k int) sim.Time {
	return start + (sim.Time(k)*sim.Second+sim.Time(baud)/2)/sim.Time(baud)
}

// sampleAt is the middle of bit k.
func sampleAt(start sim.Time, baud, k int) sim.Time {
	return start + (sim.Time(2*k+1)*sim.Second+sim.Time(baud))/sim.Time(2*baud)
}

// bits of a character that are sampled: all but a second stop bit.
func (u *uart) bits() int { return u.line.Bits() - int(u.line.Stop) + 1 }

// reset forgets a character in progress.
func (u *uart) reset(now sim.Time) { u.state, u.fed = idle, now }

// due is when the character in progress will be complete; false if none is.
func (u *uart) due() (sim.Time, bool) {
	return bitAt(u.start, u.line.Baud, u.bits()), u.state == inChar
}

// since is from when on the listener is in a character; Forever: it is not.
func (u *uart) since() sim.Time {
	if u.state == idle {
		return sim.Forever
	}
	return u.start
}

// feed tells the level of the wire up to a time. It returns a character that
// was completed by it, at most one: a run is never longer than a bit of the
// sender unless it is at mark, where no character begins.
func (u *uart) feed(mark bool, to sim.Time) (c rtu.Char, done bool) {
	from := u.fed
	if to <= from {
		return c, false
	}
	u.fed = to
	if u.state == waitMark && mark {
		u.state = idle
	}
	if u.state == idle && !mark {
		u.state, u.start, u.k, u.shift = inChar, from, 0, 0
	}
	n := u.bits()
	for u.state == inChar && sampleAt(u.start, u.line.Baud, u.k) < to {
		if mark {
			u.shift |= 1 << u.k
		}
		u.k++
		switch {
		case u.k == 1 && mark:
			u.state = idle // a glitch shorter than half a bit
		case u.k == n:
			u.state = idle
			if !mark {
				u.state = waitMark
			}
			return u.char(), true
		}
	}
	return c, false
}

// char decodes the samples.
func (u *uart) char() rtu.Char {
	c := rtu.Char{At: bitAt(u.start, u.line.Baud, u.bits())}
	c.Byte, c.Err = decode(u.line, u.shift)
	return c
}

// decode takes a character apart as sampled on a line: start bit lowest, one
// stop bit.
func decode(l rtu.Line, v uint16) (b byte, e rtu.LineError) {
	b = byte(v >> 1)
	if l.Data == 7 {
		b &= 0x7f
	}
	k := 1 + uint(l.Data)
	if l.Parity != rtu.None {
		if uint16(parity(l, b)) != v>>k&1 {
			e |= rtu.ParityError
		}
		k++
	}
	if v>>k&1 == 0 {
		e = rtu.FramingError // the parity bit of what is no character says nothing
		if v&(1<<k-1) == 0 {
			e |= rtu.Break
		}
	}
	return b, e
}

// encode lays out the bits of a character: start bit lowest, with all stop bits.
func encode(l rtu.Line, b byte) uint16 {
	if l.Data == 7 {
		b &= 0x7f
	}
	v := uint16(b) << 1
	k := 1 + uint(l.Data)
	if l.Parity != rtu.None {
		v |= uint16(parity(l, b)) << k
		k++
	}
	return v | (1<<l.Stop-1)<<k
}

// parity is the parity bit of a byte.
func parity(l rtu.Line, b byte) byte {
	b ^= b >> 4
	b ^= b >> 2
	b ^= b >> 1
	if l.Parity == rtu.Odd {
		b ^= 1
	}
	return b & 1
}

// compatible tells whether a receiver at line to hears exactly the bytes that
// are sent at line from: the same bits, and rates so near that every sample
// falls into its bit. A bridge's divisor seldom gives the nominal rate.
func compatible(from, to rtu.Line) bool {
	if from.Data != to.Data || from.Parity != to.Parity {
		return false
	}
	if from.Baud == to.Baud {
		return true
	}
	n := to.Bits() - int(to.Stop) + 1
	// The sample of the last bit must lie within it, and the receiver must be
	// ready for the next start bit: |n-1/2| bits may differ by half a bit less a
	// margin for what rounding to picoseconds does.
	last := sampleAt(0, to.Baud, n-1)
	return last > bitAt(0, from.Baud, n-1) && last < bitAt(0, from.Baud, n)
}

// valid tells whether a line setting is one that a UART has.
func valid(l rtu.Line) bool {
	return l.Baud >= 50 && l.Baud <= 4_000_000 && (l.Data == 7 || l.Data == 8) && (l.Stop == 1 || l.Stop == 2) && l.Parity <= rtu.Even
}

package bus

import (
	"math/rand/v2"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

var lines = []rtu.Line{
	{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}, {Baud: 19200, Data: 8, Parity: rtu.Odd, Stop: 1}, {Baud: 19200, Data: 8, Stop: 1},
	{Baud: 19200, Data: 8, Stop: 2}, {Baud: 19200, Data: 7, Parity: rtu.Even, Stop: 1}, {Baud: 19200, Data: 7, Stop: 2},
	{Baud: 9600, Data: 8, Parity: rtu.Even, Stop: 1}, {Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}, {Baud: 115246, Data: 8, Parity: rtu.Even, Stop: 1},
	{Baud: 19700, Data: 8, Parity: rtu.Even, Stop: 1}, {Baud: 20300, Data: 8, Parity: rtu.Even, Stop: 1}, {Baud: 1200, Data: 8, Stop: 1}, {Baud: 57600, Data: 8, Parity: rtu.Odd, Stop: 2},
}

// wave is the level of the wire as a function of time, the slow and obvious way:
// bit by bit of all characters.
type wave struct {
	line   rtu.Line
	starts []sim.Time
	bits   []uint16
}

func (w *wave) mark(t sim.Time) bool {
	for i, s := range w.starts {
		if t < s || t >= bitAt(s, w.line.Baud, w.line.Bits()) {
			continue
		}
		for k := range w.line.Bits() {
			if t >= bitAt(s, w.line.Baud, k) && t < bitAt(s, w.line.Baud, k+1) {
				return w.bits[i]>>k&1 == 1
			}
		}
	}
	return true
}

// edges are all times at which the level may change.
func (w *wave) edges() (l []sim.Time) {
	for _, s := range w.starts {
		for k := range w.line.Bits() + 1 {
			l = append(l, bitAt(s, w.line.Baud, k))
		}
	}
	return l
}

// receive is a UART that looks at a wave: from each falling edge on it asks for
// the level in the middle of its bits.
func receive(w *wave, l rtu.Line, until sim.Time) (out []rtu.Char) {
	n := l.Bits() - int(l.Stop) + 1
	ready := sim.Time(0) // begin of the search for an edge
	for _, e := range w.edges() {
		if e < ready || w.mark(e) || !w.mark(e-1) {
			continue
		}
		var v uint16
		for k := range n {
			if w.mark(e + (sim.Time(2*k+1)*sim.Second+sim.Time(l.Baud))/sim.Time(2*l.Baud)) {
				v |= 1 << k
			}
		}
		if v&1 == 1 {
			ready = sampleAt(e, l.Baud, 0) // a glitch
			continue
		}
		last := sampleAt(e, l.Baud, n-1)
		if last >= until {
			break
		}
		c := rtu.Char{At: bitAt(e, l.Baud, n)}
		data := byte(v >> 1)
		ones := 0
		if l.Data == 7 {
			data &= 0x7f
		}
		for i := range l.Data {
			ones += int(data >> i & 1)
		}
		c.Byte = data
		if l.Parity != rtu.None {
			ones += int(v >> (1 + l.Data) & 1)
			if (ones%2 == 0) != (l.Parity == rtu.Even) {
				c.Err = rtu.ParityError
			}
		}
		if v>>(n-1) == 0 {
			c.Err = rtu.FramingError
			if v == 0 {
				c.Err |= rtu.Break
			}
		}
		out = append(out, c)
		ready = last
		if v>>(n-1) == 0 { // wait for mark
			for _, e := range w.edges() {
				if e > last && w.mark(e) {
					ready = e
					break
				}
			}
		}
	}
	return out
}

type chars struct{ l []rtu.Char }

func (c *chars) heard(x rtu.Char, _ sim.Time, _ *sender) { c.l = append(c.l, x) }

// What an ear hears is what a UART makes of the waveform, for all pairs of
// settings, with pauses, with damaged bits.
func TestEarAgainstWaveform(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	errors := 0
	for _, from := range lines {
		for _, to := range lines {
			for _, damage := range []float64{0, 0.05} {
				g := New(sim.NewEngine(1).NewProc(), Config{})
				var got chars
				e := ear{g: g, u: uart{line: to}, to: &got}
				w := &wave{line: from}
				at := sim.Time(rng.Int64N(int64(sim.Millisecond)))
				s := &sender{g: g}
				for range 60 {
					b := byte(rng.Uint32())
					v := encode(from, b)
					c := wireChar{from: s, line: from, start: at, end: bitAt(at, from.Baud, from.Bits()), b: b, bits: v, clean: true}
					if from.Data == 7 {
						c.b &= 0x7f
					}
					for k := range from.Bits() {
						if rng.Float64() < damage {
							c.bits ^= 1 << k
							c.clean = false
						}
					}
					w.starts, w.bits = append(w.starts, at), append(w.bits, c.bits)
					e.hear(&c)
					at = c.end
					if rng.IntN(4) == 0 {
						at += sim.Time(rng.Int64N(int64(2 * from.CharTime())))
						e.settle(at - (at-c.end)/2)
					}
				}
				e.settle(at + sim.Second)
				want := receive(w, to, at+sim.Second)
				// The stamps of what is heard well are the sender's.
				same := compatible(from, to)
				if len(got.l) != len(want) {
					t.Fatalf("%v to %v, damage %v: %d characters, want %d\n%v\n%v", from, to, damage, len(got.l), len(want), got.l, want)
				}
				for i, c := range got.l {
					d := c.At - want[i].At
					if c.Byte != want[i].Byte || c.Err != want[i].Err || !same && d != 0 || d < -from.CharTime() || d > from.CharTime() {
						t.Fatalf("%v to %v, damage %v: character %d is %+v, want %+v", from, to, damage, i, c, want[i])
					}
					if c.Err != 0 {
						errors++
					}
				}
				if same && damage == 0 && len(want) != 60 {
					t.Errorf("%v to %v: compatible, and %d of 60 heard", from, to, len(want))
				}
			}
		}
	}
	if errors == 0 {
		t.Error("no character with an error: the test tests nothing")
	}
}

// Settings that are not what was sent are heard, as on a real line.
func TestKnownMismatches(t *testing.T) {
	even := rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}
	for _, c := range []struct {
		name     string
		from, to rtu.Line
		send     []byte
		want     []rtu.Char // without stamps
	}{
		{"odd for even", even, rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Odd, Stop: 1}, []byte{0x55, 0x01}, []rtu.Char{{Byte: 0x55, Err: rtu.ParityError}, {Byte: 0x01, Err: rtu.ParityError}}},
		{"none for even: a parity bit of 0 is no stop bit", even, rtu.Line{Baud: 19200, Data: 8, Stop: 1}, []byte{0x55, 0xff}, []rtu.Char{{Byte: 0x55, Err: rtu.FramingError}, {Byte: 0xff, Err: rtu.FramingError}}},
		{"none for even: a parity bit of 1 passes", even, rtu.Line{Baud: 19200, Data: 8, Stop: 1}, []byte{0x01, 0x07}, []rtu.Char{{Byte: 0x01}, {Byte: 0x07}}},
		{"7E for 8N: the same number of bits", rtu.Line{Baud: 9600, Data: 7, Parity: rtu.Even, Stop: 1}, rtu.Line{Baud: 9600, Data: 8, Stop: 1}, []byte{0x41, 0x43}, []rtu.Char{{Byte: 0x41}, {Byte: 0xc3}}},
		{"one stop bit for two", rtu.Line{Baud: 9600, Data: 8, Stop: 1}, rtu.Line{Baud: 9600, Data: 8, Stop: 2}, []byte{1, 2, 3}, []rtu.Char{{Byte: 1}, {Byte: 2}, {Byte: 3}}},
		{"zero at a fifth of the rate is a break", rtu.Line{Baud: 1920, Data: 8, Stop: 1}, even, []byte{0}, []rtu.Char{{Byte: 0, Err: rtu.FramingError | rtu.Break}}},
		{"1% off", even, rtu.Line{Baud: 19392, Data: 8, Parity: rtu.Even, Stop: 1}, []byte{0, 0xff, 0x5a}, []rtu.Char{{Byte: 0}, {Byte: 0xff}, {Byte: 0x5a}}},
	} {
		g := New(sim.NewEngine(1).NewProc(), Config{})
		var got chars
		e := ear{g: g, u: uart{line: c.to}, to: &got}
		s := &sender{g: g}
		at := sim.Millisecond
		for _, b := range c.send {
			w := wireChar{from: s, line: c.from, start: at, end: bitAt(at, c.from.Baud, c.from.Bits()), b: b, bits: encode(c.from, b), clean: true}
			e.hear(&w)
			at = w.end
		}
		e.settle(at + sim.Second)
		for i := range got.l {
			got.l[i].At = 0
		}
		if len(got.l) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got.l, c.want)
			continue
		}
		for i := range c.want {
			if got.l[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got.l, c.want)
				break
			}
		}
	}
}

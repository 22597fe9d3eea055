package rtu

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cnuas/internal/sim"
)

// hx reads bytes in hexadecimal; what is no digit is ignored.
func hx(s string) []byte {
	var b []byte
	hi, half := byte(0), false
	for _, c := range []byte(strings.ToLower(s)) {
		v := strings.IndexByte("0123456789abcdef", c)
		if v < 0 {
			continue
		}
		if half {
			b = append(b, hi<<4|byte(v))
		} else {
			hi = byte(v)
		}
		half = !half
	}
	return b
}

// adu is s with its CRC.
func adu(s string) []byte { return AppendCRC(hx(s)) }

func hex(b []byte) string { return fmt.Sprintf("% x", b) }

var line = Line{Baud: 19200, Data: 8, Parity: Even, Stop: 1}

// burst is characters without a pause, after a silence.
type burst struct {
	after sim.Time
	b     []byte
	err   LineError // of all its characters
}

func just(b ...[]byte) []burst { return []burst{{b: slices.Concat(b...)}} }

// chars puts bursts on the wire.
func chars(l Line, bursts []burst) []Char {
	var c []Char
	now := sim.Time(0)
	for _, x := range bursts {
		now += x.after
		for _, v := range x.b {
			now += l.CharTime()
			c = append(c, Char{At: now, Byte: v, Err: x.err})
		}
	}
	return c
}

// show prints a frame as the tables have it.
func show(f *Frame) string {
	if f.Kind == Noise {
		return fmt.Sprintf("noise %d (%v)", len(f.ADU), f.Bad)
	}
	return fmt.Sprintf("%v %s", f.Kind, hex(f.ADU))
}

// drive feeds characters one by one, each when it has ended, and calls at every
// deadline, as a wire does; or, with whole, all at once, and the rest of the
// silence later.
func drive(f *Framer, c []Char, whole bool, handle func(*Frame)) {
	idle := func(until sim.Time) {
		for {
			d, ok := f.Deadline()
			if !ok || d > until {
				return
			}
			f.Feed(d, nil, handle)
		}
	}
	if len(c) == 0 {
		return
	}
	end := c[len(c)-1].At
	if whole {
		f.Feed(end, c, handle)
	} else {
		for i := range c {
			idle(c[i].At - f.char)
			f.Feed(c[i].At, c[i:i+1], handle)
		}
	}
	idle(end + 10*sim.Second)
}

func frames(f *Framer, c []Char, whole bool) []string {
	var got []string
	drive(f, c, whole, func(fr *Frame) { got = append(got, show(fr)) })
	return got
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

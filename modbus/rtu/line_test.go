package rtu

import (
	"testing"

	"cnuas/internal/sim"
)

// Times of characters and silences: t1.5 and t3.5 follow the characters up to
// 19200 baud and are fixed above (V1.02, 2.5.1.1).
func TestLineTimes(t *testing.T) {
	const us = sim.Microsecond
	for _, c := range []struct {
		l              Line
		bits           int
		char, t15, t35 sim.Time // rounded to the microsecond
	}{
		{Line{9600, 8, Even, 1}, 11, 1146 * us, 1719 * us, 4010 * us},
		{Line{19200, 8, Even, 1}, 11, 573 * us, 859 * us, 2005 * us},
		{Line{19200, 8, None, 1}, 10, 521 * us, 781 * us, 1823 * us},
		{Line{19200, 8, None, 2}, 11, 573 * us, 859 * us, 2005 * us},
		{Line{19200, 7, Odd, 1}, 10, 521 * us, 781 * us, 1823 * us},
		{Line{19201, 8, Even, 1}, 11, 573 * us, 750 * us, 1750 * us},
		{Line{115200, 8, Even, 1}, 11, 95 * us, 750 * us, 1750 * us},
		{Line{4000000, 8, None, 1}, 10, 3 * us, 750 * us, 1750 * us},
	} {
		round := func(x sim.Time) sim.Time { return (x + us/2) / us * us }
		if c.l.Bits() != c.bits || round(c.l.CharTime()) != c.char || round(c.l.T15()) != c.t15 || round(c.l.T35()) != c.t35 {
			t.Errorf("%v: %d bits, %v, %v, %v", c.l, c.l.Bits(), c.l.CharTime(), c.l.T15(), c.l.T35())
		}
	}
	// 115200 baud is no whole number of picoseconds a bit: the error of a
	// character is below one.
	if got := (Line{115200, 8, Even, 1}).CharTime(); got != 95486111 {
		t.Errorf("a character at 115200 8E1 takes %d ps", got)
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Line{19200, 8, Even, 1}.String(): "19200 8E1",
		Line{115200, 7, Odd, 2}.String(): "115200 7O2",
		Line{9600, 8, None, 2}.String():  "9600 8N2",
		Even.String():                    "even",
		Parity(9).String():               "parity(9)",
		Reply.String():                   "reply",
		FrameKind(9).String():            "frame kind 9",
		BadOver.String():                 "overrun",
		Good.String():                    "good",
		Bad(99).String():                 "bad 99",
		OK.String():                      "no exception",
		IllegalDataAddress.String():      "illegal data address (02h)",
		Exception(0x55).String():         "unknown exception (55h)",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The times of the silence that ends a frame are those of the framer's line:
// a pause just below t3.5 is none.
func TestPauseLimit(t *testing.T) {
	for _, l := range []Line{{9600, 8, Even, 1}, {19200, 8, Even, 1}, {115200, 8, None, 1}} {
		r := adu("90 03 00 50 00 02")
		for _, c := range []struct {
			gap  sim.Time
			want int // requests
		}{{l.T35() - 1, 1}, {l.T35(), 0}} {
			n := 0
			drive(NewFramer(l, 0), chars(l, []burst{{0, r[:4], 0}, {c.gap, r[4:], 0}}), false, func(f *Frame) {
				if f.Kind == Request {
					n++
				}
			})
			if n != c.want {
				t.Errorf("%v, pause of %v: %d requests", l, c.gap, n)
			}
		}
	}
}

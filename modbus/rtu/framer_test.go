package rtu

import (
	"testing"

	"cnuas/internal/sim"
)

func hx(s string) []byte {
	var b []byte
	hi, half := byte(0), false
	for _, c := range []byte(s) {
		var v byte
		switch {
		case c >= '0' && c <= '9':
			v = c - '0'
		case c >= 'A' && c <= 'F':
			v = c - 'A' + 10
		case c >= 'a' && c <= 'f':
			v = c - 'a' + 10
		default:
			continue
		}
		if half {
			b = append(b, hi<<4|v)
		} else {
			hi = v
		}
		half = !half
	}
	return b
}

func TestFramerBasic(t *testing.T) {
	l := Line{Baud: 19200, Data: 8, Parity: Even, Stop: 1}
	f := NewFramer(l, 0)
	req := AppendCRC(hx("90 03 00 50 00 04"))
	var got []string
	now := sim.Time(0)
	var cs []Char
	for _, x := range req {
		now += l.CharTime()
		cs = append(cs, Char{At: now, Byte: x})
	}
	f.Feed(now, cs, func(fr *Frame) { got = append(got, fr.Kind.String()) })
	if len(got) != 1 || got[0] != "request" {
		t.Fatal(got)
	}
}

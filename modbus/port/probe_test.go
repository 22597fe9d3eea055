package port

import (
	"slices"
	"testing"

	"cnuas/modbus/orv3"
	"cnuas/modbus/rtu"
)

func TestSpots(t *testing.T) {
	slow := rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}
	plain := rtu.Line{Baud: 19200, Data: 8, Stop: 1}
	has := func(l []spot, line rtu.Line, addr uint8, kind string) bool {
		return slices.ContainsFunc(l, func(s spot) bool {
			return s.line == line && s.addr == addr && (kind == "" && len(s.kinds) == 0 || slices.ContainsFunc(s.kinds, func(k orv3.Kind) bool { return k.Name == kind }))
		})
	}
	type where struct {
		line rtu.Line
		addr uint8
		kind string
	}
	for _, c := range []struct {
		what      string
		o         ProbeOptions
		least     int
		most      int
		with, not []where
	}{
		{"where masters look", ProbeOptions{}, 200, 450,
			[]where{{line, 144, "hpr-psu"}, {slow, 144, "hpr-psu"}, {line, 255, "hpr-psu"}, {slow, 200, "orv3-psu"}, {line, 54, "hpr-cbu"}, {line, 54, "hpr-bbu"}, {plain, 12, "rpu"}, {plain, 14, "valve"}},
			[]where{{slow, 144, ""}, {line, 1, ""}, {slow, 12, "rpu"}, {plain, 144, "hpr-psu"}}},
		{"another line", ProbeOptions{Lines: []rtu.Line{slow}}, 100, 250,
			[]where{{slow, 144, "hpr-psu"}, {slow, 12, "rpu"}, {slow, 255, "hpr-psu"}}, []where{{line, 144, "hpr-psu"}, {slow, 1, ""}}},
		{"all", ProbeOptions{Lines: []rtu.Line{slow}, All: true}, 255 - 1, 255,
			[]where{{slow, 1, ""}, {slow, 144, "hpr-psu"}, {slow, 255, "hpr-psu"}}, nil},
		{"some", ProbeOptions{Lines: []rtu.Line{slow, line}, Addresses: []uint8{7, 144}, All: true}, 4, 4,
			[]where{{slow, 7, ""}, {line, 7, ""}, {line, 144, "hpr-psu"}}, nil},
	} {
		l := c.o.spots()
		if len(l) < c.least || len(l) > c.most {
			t.Errorf("%s: %d addresses, want %d to %d", c.what, len(l), c.least, c.most)
		}
		for _, w := range c.with {
			if !has(l, w.line, w.addr, w.kind) {
				t.Errorf("%s: %+v is not looked for", c.what, w)
			}
		}
		for _, w := range c.not {
			if has(l, w.line, w.addr, w.kind) {
				t.Errorf("%s: %+v is looked for", c.what, w)
			}
		}
	}
}

func TestPick(t *testing.T) {
	for _, k := range orv3.Kinds() {
		l := pick(k.Map.Registers)
		seen := map[uint16]bool{}
		texts, numbers := 0, 0
		for _, r := range l {
			if seen[r.Addr] {
				t.Errorf("%s: register %d twice", k.Name, r.Addr)
			}
			seen[r.Addr] = true
			switch r.Format {
			case orv3.String:
				texts++
			case orv3.Integer, orv3.Float, orv3.Float32:
				numbers++
			}
		}
		if len(k.Map.Registers) > 0 && texts+numbers < 2 {
			t.Errorf("%s: %d texts, %d numbers", k.Name, texts, numbers)
		}
	}
}

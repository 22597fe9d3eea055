package orv3

import (
	"fmt"
	"strconv"
	"strings"

	"cnuas/internal/sim"
)

// source is where a register's value comes from.
type source struct {
	name   string // as the table has it, for show and docs
	fn     signal // nil: text, mirror, bits or nothing
	n      int    // index of the signal: a cell, a fan, a module
	text   string // field of the identity
	shelf  bool   // of the shelf's identity
	mirror uint16 // module register that the first mirrored word shows; 0: no mirror
}

// signal is a quantity of the model in the unit of its registers.
type signal func(d *Device, n int, now sim.Time) float64

type bit struct {
	mask uint64
	fn   condition // nil: 0 until a fault of its name is set
	n    int
	not  bool
	any  uint64 // mask of an any: condition
}

// condition is a truth of the model.
type condition func(d *Device, n int, now sim.Time) bool

type rule struct {
	maps, name, source, unit string
	lsb, zero                float64
}

type bitRule struct {
	maps      string
	addr      uint16
	bit       int // -1: each, with its index
	condition string
}

type access struct {
	maps     string
	addr     uint16
	min, max uint64
	effect   string
}

func readRules() (l []rule) {
	for _, r := range table("assume/sources.csv") {
		x := rule{maps: r.get("map"), name: r.get("name"), source: r.get("source"), unit: r.get("unit")}
		s := r.get("lsb")
		if k, ok := strings.CutSuffix(s, "k"); ok { // tenths of a kelvin
			s, x.zero = k, -273.15
		}
		if s != "" {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || v <= 0 {
				r.bad("lsb", fmt.Errorf("%q", s))
			}
			x.lsb = v
		}
		l = append(l, x)
	}
	return l
}

func readBitRules() (l []bitRule) {
	for _, r := range table("assume/flags.csv") {
		x := bitRule{maps: r.get("map"), addr: uint16(r.int("addr")), bit: -1, condition: r.get("condition")}
		if r.get("bit") != "*" {
			x.bit = r.int("bit")
		}
		l = append(l, x)
	}
	return l
}

func readAccess() (l []access) {
	for _, r := range table("assume/access.csv") {
		l = append(l, access{maps: r.get("map"), addr: uint16(r.int("addr")),
			min: uint64(r.int("min")), max: uint64(r.int("max")), effect: r.get("effect")})
	}
	return l
}

// match reports whether s fits a pattern of letters, ? (one character), * (any)
// and # (digits, whose number it returns; -1 without).
func match(pat, s string) (n int, ok bool) {
	n = -1
	for pat != "" {
		switch pat[0] {
		case '*':
			if len(pat) == 1 {
				return n, true
			}
			for i := 0; i <= len(s); i++ {
				if m, ok := match(pat[1:], s[i:]); ok {
					return max(m, n), true
				}
			}
			return 0, false
		case '#':
			i := 0
			for i < len(s) && s[i] >= '0' && s[i] <= '9' {
				i++
			}
			v, err := strconv.Atoi(s[:i])
			if err != nil {
				return 0, false
			}
			n, s = v, s[i:]
		default:
			if s == "" || pat[0] != '?' && pat[0] != s[0] {
				return 0, false
			}
			s = s[1:]
		}
		pat = pat[1:]
	}
	return n, s == ""
}

// bind gives each register of a map its source, and each flag its condition. A
// register that no rule fits holds what is set, 0 at first: so do those of a
// user's map that we have not heard of.
func (a *atlas) bind(m *Map) {
	a.bindAll(m.Name, m.Registers)
}

func (a *atlas) bindAll(mapName string, l []Register) {
	var fit []rule
	for _, u := range a.rules {
		if _, ok := match(u.maps, mapName); ok {
			fit = append(fit, u)
		}
	}
	for i := range l {
		a.bindRegister(mapName, &l[i], fit)
	}
}

func (a *atlas) bindRegister(mapName string, r *Register, rules []rule) {
	if r.Format == Flags {
		r.src = source{name: "bits"}
		a.bindFlags(mapName, r)
		return
	}
	for _, u := range rules {
		n, ok := match(u.name, r.Name)
		if !ok {
			continue
		}
		r.Unit, r.lsb, r.zero = u.unit, u.lsb, u.zero
		r.src = parseSource(u.source, n)
		return
	}
}

func parseSource(s string, n int) source {
	src := source{name: s, n: max(n, 0)}
	kind, arg, _ := strings.Cut(s, ":")
	switch kind {
	case "text", "shelf":
		src.text, src.shelf = arg, kind == "shelf"
		return src
	case "mirror":
		v, err := strconv.ParseUint(arg, 0, 16)
		if err != nil || v == 0 {
			panic("orv3: source " + s)
		}
		src.mirror = uint16(v)
		return src
	case "const":
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			x, err := strconv.ParseInt(arg, 0, 64)
			if err != nil {
				panic("orv3: source " + s)
			}
			v = float64(x)
		}
		src.fn = func(*Device, int, sim.Time) float64 { return v }
		return src
	case "bits":
		return src
	}
	fn, ok := signals[kind]
	if !ok {
		panic("orv3: assume/sources.csv: no signal " + s)
	}
	src.fn = fn
	if arg != "" {
		src.n, _ = strconv.Atoi(arg)
	}
	return src
}

func (a *atlas) bindFlags(mapName string, r *Register) {
	r.cond = make([]bit, len(r.Flags))
	for i, f := range r.Flags {
		r.cond[i].mask = 1 << f.Bit
		for _, u := range a.bits {
			if u.addr != r.Addr || u.bit >= 0 && u.bit != int(f.Bit) {
				continue
			}
			if _, ok := match(u.maps, mapName); !ok {
				continue
			}
			r.cond[i] = parseCondition(u.condition, f.Bit)
			break
		}
	}
}

func parseCondition(s string, b uint8) bit {
	x := bit{mask: 1 << b, n: int(b)}
	if t, ok := strings.CutPrefix(s, "!"); ok {
		s, x.not = t, true
	}
	kind, arg, has := strings.Cut(s, ":")
	if kind == "any" {
		addr, mask, masked := strings.Cut(arg, "/")
		v, err := strconv.ParseUint(addr, 0, 16)
		x.n, x.any = int(v), ^uint64(0)
		if masked && err == nil {
			x.any, err = strconv.ParseUint(mask, 0, 64)
		}
		if err != nil {
			panic("orv3: condition " + s)
		}
		return x
	}
	if has {
		x.n, _ = strconv.Atoi(arg)
	}
	fn, ok := conditions[kind]
	if !ok {
		panic("orv3: assume/flags.csv: no condition " + s)
	}
	x.fn = fn
	return x
}

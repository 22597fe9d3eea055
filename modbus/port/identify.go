package port

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cnuas/modbus/orv3"
)

// identify finds out what answers at a spot and reads what it says of itself.
func (p *probe) identify(s spot) *Found {
	p.c.Timeout, p.c.Retries = p.o.Timeout, 2
	if p.c.Timeout <= 0 {
		p.c.Timeout = 300 * time.Millisecond
	}
	f := &Found{Address: s.addr, Line: s.line.String()}
	kinds := s.kinds
	prof, ok := p.profile(s)
	if ok {
		f.Profile = prof.Name
		if k, ok := orv3.KindOf(prof.Kind); ok {
			kinds = []orv3.Kind{k}
		}
	}
	k, ok := p.kind(s.addr, kinds)
	regs := prof.Registers
	if ok {
		f.Kind, f.Title = k.Name, k.Title
		if len(k.Map.Registers) > 0 {
			regs = k.Map.Registers
		}
		// Where masters look for one kind only, its address alone told it.
		if l := len(k.Map.Registers); f.Profile == "" && len(kinds) == 1 && l > 0 {
			last := k.Map.Registers[l-1]
			if _, err := p.c.ReadRegisters(s.addr, last.Addr, last.Words); err != nil && !fatal(err) {
				f.Note = "by its address only: it lacks registers of that kind"
			}
		}
	} else {
		f.Note = "it answers, and not as any device that is known to be there"
	}
	for _, r := range pick(regs) {
		w, err := p.c.ReadRegisters(s.addr, r.Addr, r.Words)
		if err != nil {
			if fatal(err) {
				f.Note = err.Error()
				return f
			}
			continue // not every revision has every register
		}
		v := Value{Register: r.Addr, Name: r.Name}
		switch r.Format {
		case orv3.String:
			v.Text = r.DecodeString(w)
			f.Identity = append(f.Identity, v)
		case orv3.Flags:
			v.Text = flags(&r, w)
			f.Flags = append(f.Flags, v)
		default:
			v.Text = number(&r, w)
			f.Values = append(f.Values, v)
		}
	}
	return f
}

// profile compares the texts by which masters tell vendors' devices apart:
// exactly, after NULs were removed.
func (p *probe) profile(s spot) (orv3.Profile, bool) {
	type place struct{ reg, words uint16 }
	read := map[place][]uint16{}
	var shelf *orv3.Profile
	for _, x := range orv3.Profiles() {
		if len(s.kinds) > 0 && !slices.ContainsFunc(s.kinds, func(k orv3.Kind) bool { return k.Name == x.Kind }) {
			continue
		}
		at := place{x.Probe, x.Words}
		if _, ok := read[at]; !ok {
			w, err := p.c.ReadRegisters(s.addr, x.Probe, x.Words)
			if err != nil {
				w = nil
			}
			read[at] = w
		}
		// One word holds a number.
		w := read[at]
		if x.Expect == "" || text(w) != x.Expect && (len(w) != 1 || strconv.Itoa(int(w[0])) != x.Expect) {
			continue
		}
		if !x.IsShelf {
			return x, true
		}
		shelf = &x // a management module answers as its shelf as well
	}
	if shelf != nil {
		return *shelf, true
	}
	return orv3.Profile{}, false
}

// text is the characters of registers without NULs.
func text(w []uint16) string {
	var b []byte
	for _, v := range w {
		for _, c := range []byte{byte(v >> 8), byte(v)} {
			if c != 0 {
				b = append(b, c)
			}
		}
	}
	return string(b)
}

// kind is the one whose registers the device has. Addresses of kinds overlap;
// a device is asked for the last register of each, and for where it is probed.
func (p *probe) kind(addr uint8, kinds []orv3.Kind) (orv3.Kind, bool) {
	if len(kinds) == 1 {
		return kinds[0], true
	}
	best, most := orv3.Kind{}, 0
	for _, k := range kinds {
		n := 0
		if _, err := p.c.ReadRegisters(addr, k.Map.Probe, 1); err == nil {
			n++
		}
		if l := len(k.Map.Registers); l > 0 {
			for _, r := range []orv3.Register{k.Map.Registers[l-1], k.Map.Registers[l/2]} {
				if _, err := p.c.ReadRegisters(addr, r.Addr, r.Words); err == nil {
					n++
				}
			}
		}
		if n > most {
			best, most = k, n
		}
	}
	return best, most > 0
}

// wanted are the values that a short answer has, by what their names contain.
var wanted = []string{"outputpower", "inputpower", "outputvoltage", "outputcurrent", "inputvoltage", "busbarvoltage", "stateofcharge",
	"relativesoc", "batteryvoltage", "temp", "flow", "pressure", "position", "rpm"}

// pick chooses the registers of a short answer: all texts, the first of each
// wanted value, alarms.
func pick(l []orv3.Register) []orv3.Register {
	var out []orv3.Register
	for _, r := range l {
		if r.Format == orv3.String {
			out = append(out, r)
		}
	}
	for _, want := range wanted {
		for _, r := range l {
			n := plain(r.Name)
			if r.Format != orv3.String && r.Format != orv3.Flags && r.Format != orv3.Raw && strings.Contains(n, want) && !limit(n) {
				if !slices.ContainsFunc(out, func(x orv3.Register) bool { return x.Addr == r.Addr }) {
					out = append(out, r)
				}
				break
			}
		}
	}
	for _, r := range l {
		n := plain(r.Name)
		if r.Format == orv3.Flags && !strings.Contains(n, "clear") && (strings.Contains(n, "alarm") || strings.Contains(n, "fault") || strings.Contains(n, "failures")) {
			out = append(out, r)
		}
	}
	return out
}

// limit tells names of settings and records from those of measurements.
func limit(n string) bool {
	for _, s := range []string{"max", "min", "limit", "setpoint", "threshold", "peak", "alarm", "inst", "number"} {
		if strings.Contains(n, s) {
			return true
		}
	}
	return false
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", " ", "", "-", "").Replace(s))
}

func flags(r *orv3.Register, w []uint16) string {
	v := r.Uint(w)
	var l []string
	for _, f := range r.Flags {
		if v>>f.Bit&1 != 0 {
			l = append(l, f.Name)
		}
	}
	if len(l) == 0 {
		return fmt.Sprintf("0x%04X", v)
	}
	return strings.Join(l, " ")
}

func number(r *orv3.Register, w []uint16) string {
	digits := 0
	for s := r.Resolution(); s < 0.999 && digits < 3; s *= 10 {
		digits++
	}
	t := strconv.FormatFloat(r.Decode(w), 'f', digits, 64)
	if r.Unit != "" {
		t += " " + r.Unit
	}
	return t
}

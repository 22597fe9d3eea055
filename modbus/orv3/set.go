package orv3

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Set sets something of a device, "shelf1/psu3", as people write it: a fault or
// a flag with true or false, or a register with a value. It is what SetFault and
// SetRegister do.
func (p *Plant) Set(dev, name, value string) error {
	d, err := p.find(dev)
	if err != nil {
		return err
	}
	if d.IsFault(name) {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s: %s=%s: want true or false", d.Name(), name, value)
		}
		return d.SetFault(name, on)
	}
	return d.SetRegister(name, value)
}

// SetRegister makes a register hold a value, by its name or its address (decimal
// or 0x): text for STRING, a number in the register's unit, or 0x... for its
// bits. "auto" gives it back to the model. Masters see it as any other value.
func (d *Device) SetRegister(name, value string) error {
	i, err := d.register(name)
	if err != nil {
		return err
	}
	r := &d.m.Registers[i]
	p := d.plant
	if value == "auto" {
		p.change()
		d.held[i], d.forced[i] = false, 0
		p.settle()
		return nil
	}
	var buf [128]uint16
	w := buf[:r.Words]
	hex, isHex := strings.CutPrefix(strings.ToLower(value), "0x")
	switch {
	case r.Format == String:
		if len(value) > 2*int(r.Words) {
			return fmt.Errorf("%s: %s: %q has %d characters: it holds %d", d.Name(), r.Name, value, len(value), 2*r.Words)
		}
		r.EncodeString(w, value)
	case isHex:
		v, err := strconv.ParseUint(hex, 16, 64)
		if err != nil || r.Words < 4 && v>>(16*r.Words) != 0 {
			return fmt.Errorf("%s: %s=%s: want up to %d hexadecimal digits", d.Name(), r.Name, value, min(4*int(r.Words), 16))
		}
		r.putRaw(w, v)
	case r.Format == Flags || r.Format == Raw:
		v, err := strconv.ParseUint(value, 10, 64)
		if err != nil || r.Words < 4 && v>>(16*r.Words) != 0 {
			return fmt.Errorf("%s: %s=%s: want a number of %d bits, or set its flags by name", d.Name(), r.Name, value, min(16*int(r.Words), 64))
		}
		r.putRaw(w, v)
	default:
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: %s=%s: want a number%s, 0x... for its bits, or auto", d.Name(), r.Name, value, unitText(r.Unit))
		}
		r.Encode(w, v)
		switch got := r.Decode(w); {
		case v-got > r.Resolution():
			return fmt.Errorf("%s: %s=%s: it holds at most %g%s", d.Name(), r.Name, value, got, unitText(r.Unit))
		case got-v > r.Resolution():
			return fmt.Errorf("%s: %s=%s: it holds at least %g%s", d.Name(), r.Name, value, got, unitText(r.Unit))
		}
	}
	d.store(i, w, d.effect(r))
	if d.effect(r) == "" {
		d.held[i] = true
	}
	return nil
}

func unitText(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}

// effect of a register on the model, if a write to it has one.
func (d *Device) effect(r *Register) string {
	if a := d.access(r.Addr); a != nil {
		return a.effect
	}
	return ""
}

func (d *Device) register(name string) (int, error) {
	if v, err := strconv.ParseUint(name, 0, 16); err == nil {
		if i := d.m.index(uint16(v)); i >= 0 && d.m.Registers[i].Addr == uint16(v) {
			return i, nil
		}
		return 0, fmt.Errorf("%s: no register begins at %s in map %s", d.Name(), name, d.m.Name)
	}
	if r, ok := d.m.ByName(name); ok {
		return d.m.index(r.Addr), nil
	}
	return 0, fmt.Errorf("%s: neither a fault nor a register of map %s: %q (show lists the names)", d.Name(), d.m.Name, name)
}

package orv3

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// ReadRegisters implements rtu.Device. A read that touches a hole of the map
// fails as a whole: masters learn from exception 2 which registers there are.
func (d *Device) ReadRegisters(now sim.Time, addr uint16, dst []uint16) rtu.Exception {
	d.plant.advance(now)
	for n := 0; n < len(dst); {
		a := int(addr) + n
		if a > 0xffff {
			return rtu.IllegalDataAddress
		}
		if w, ok := d.mbox.read(d, now, uint16(a)); ok {
			dst[n] = w
			n++
			continue
		}
		i := d.m.index(uint16(a))
		if i < 0 {
			return rtu.IllegalDataAddress
		}
		var buf [128]uint16
		r := &d.m.Registers[i]
		d.show(i, buf[:r.Words], now)
		n += copy(dst[n:], buf[a-int(r.Addr):r.Words])
	}
	return rtu.OK
}

// show puts the words of register i into w.
func (d *Device) show(i int, w []uint16, now sim.Time) {
	r := &d.m.Registers[i]
	switch {
	case r.Format == Flags:
		r.putRaw(w, d.flags(i, now))
	case d.held[i]:
		copy(w, d.mem[d.off[i]:])
	case r.src.fn != nil:
		r.Encode(w, r.src.fn(d, r.src.n, now))
	case r.src.text != "":
		id := &d.id
		if r.src.shelf && d.over != nil {
			id = d.over
		}
		r.EncodeString(w, id.field(r.src.text))
	case r.src.mirror != 0:
		d.mirror(r, w, now)
	default:
		clear(w)
	}
}

// flags is the value of a FLAGS register: what conditions of the model say, or
// what was written, and what faults force.
func (d *Device) flags(i int, now sim.Time) uint64 {
	r := &d.m.Registers[i]
	if d.held[i] {
		return r.Uint(d.mem[d.off[i]:]) | d.forced[i]
	}
	v := d.forced[i]
	for k := range r.cond {
		c := &r.cond[k]
		var on bool
		switch {
		case c.fn != nil:
			on = c.fn(d, c.n, now)
		case c.any != 0:
			on = d.flagsAt(uint16(c.n), now)&c.any != 0
		default:
			continue
		}
		if on != c.not {
			v |= c.mask
		}
	}
	return v
}

func (d *Device) flagsAt(addr uint16, now sim.Time) uint64 {
	if i := d.m.index(addr); i >= 0 && d.m.Registers[i].Format == Flags {
		return d.flags(i, now)
	}
	return 0
}

// Alarm reports whether the module says that something is wrong with it.
func (d *Device) Alarm(now sim.Time) bool {
	for _, a := range d.kind.alarms {
		if d.flagsAt(a.addr, now)&a.mask != 0 {
			return true
		}
	}
	return false
}

// mirror copies a register of the module whose block of 16 words r lies in.
func (d *Device) mirror(r *Register, w []uint16, now sim.Time) {
	clear(w)
	const blocks = 0x100
	slot := int(r.Addr-blocks)/16 + 1
	m := d.shelf.module(slot)
	if m == nil || !m.in {
		return
	}
	if i := m.m.index(r.src.mirror + (r.Addr-blocks)%16 - 1); i >= 0 && m.m.Registers[i].Words == r.Words {
		m.show(i, w, now)
	}
}

func (s *shelf) module(slot int) *Device {
	for _, d := range s.modules {
		if d.slot.Number == slot {
			return d
		}
	}
	return nil
}

// WriteRegisters implements rtu.Device: all registers, or none. A register that
// may not be written is as one that is not there: exception 2. A value that the
// register does not take is exception 3.
func (d *Device) WriteRegisters(now sim.Time, addr uint16, src []uint16) rtu.Exception {
	if e, ok := d.mbox.write(d, now, addr, src); ok {
		return e
	}
	for _, commit := range [2]bool{false, true} {
		for n := 0; n < len(src); {
			a := int(addr) + n
			if a > 0xffff {
				return rtu.IllegalDataAddress
			}
			i := d.m.index(uint16(a))
			if i < 0 {
				return rtu.IllegalDataAddress
			}
			r := &d.m.Registers[i]
			acc := d.access(r.Addr)
			if acc == nil {
				return rtu.IllegalDataAddress
			}
			var buf [128]uint16
			d.plant.advance(now)
			d.show(i, buf[:r.Words], now)
			n += copy(buf[a-int(r.Addr):r.Words], src[n:])
			v := r.Uint(buf[:])
			if v < acc.min || v > acc.max {
				return rtu.IllegalDataValue
			}
			if commit {
				d.store(i, buf[:r.Words], acc.effect)
			}
		}
	}
	return rtu.OK
}

// access is the row of assume/access.csv that lets a register be written.
func (d *Device) access(addr uint16) *access {
	for i := range world().access {
		x := &world().access[i]
		if x.addr != addr {
			continue
		}
		if _, ok := match(x.maps, d.m.Name); ok || x.maps == d.profileName() {
			return x
		}
	}
	if d.m.Sync && addr == d.m.TimeSync { // of a user's map
		return &access{max: 0xffffffff, effect: "clock"}
	}
	return nil
}

func (d *Device) profileName() string {
	if d.slot.Profile != "" {
		return d.slot.Profile
	}
	return d.kind.Profile
}

// store makes register i hold w and does what that means to the module.
func (d *Device) store(i int, w []uint16, effect string) {
	r := &d.m.Registers[i]
	p := d.plant
	p.change()
	if effect == "clock" {
		d.clockUnix, d.clockAt = int64(r.Uint(w)), p.at
		return
	}
	copy(d.mem[d.off[i]:], w)
	d.held[i] = true
	if effect == "discharge_time" && d.bat != nil {
		d.bat.limit = r.Decode(w)
		d.held[i] = false // the model shows it
	}
	if d.rpu != nil {
		d.rpu.command(effect, r.Decode(w))
	}
	p.settle()
}

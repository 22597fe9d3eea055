package orv3

import (
	"fmt"
	"math/bits"
	"strings"

	"cnuas/internal/sim"
)

// fault is a set of faults that the model acts on.
type fault uint32

const (
	faultFan       fault = 1 << iota // one fan of the module stands still
	faultHot                         // heat from outside
	faultComm                        // the module's controllers do not reach each other
	faultPFC                         // no rectifier: the module gives nothing
	faultDCDC                        // no converter: the module gives nothing
	faultConverter                   // discharge converter of a battery
	faultCharger                     // charger of a battery
	faultPack                        // the pack is off
	faultAged                        // end of life
	faultPump                        // pump 1 of a pump unit
	faultLeak
	faultBlocked
	faultBadCRC // a firmware block is answered with a wrong CRC
	faultUpdate // an image does not verify
)

var faultNames = [...]string{"fan_fault", "over_temperature", "comm_fault", "pfc_fault", "dcdc_fault", "converter_fault", "charger_fault",
	"pack_fault", "end_of_life", "pump_fault", "leak", "blocked", "update_wrong_crc", "update_fails"}

func roleFaults(r Role) fault {
	const update = faultBadCRC | faultUpdate
	switch r {
	case RolePSU, RoleTether:
		return faultFan | faultHot | faultComm | faultPFC | faultDCDC | update
	case RoleBBU, RoleCBU:
		return faultFan | faultHot | faultComm | faultConverter | faultCharger | faultPack | faultAged | update
	case RolePMM:
		return faultComm | update
	case RoleRPU:
		return faultFan | faultHot | faultPump | faultLeak | faultBlocked
	case RoleValve:
		return faultBlocked
	}
	return 0
}

func (d *Device) has(f fault) bool { return d.faults&f != 0 }

// Faults lists the faults that the model of a kind acts on, by name. Besides
// these each flag of a device's map can be set as a fault, by the flag's name:
// it then shows on the wire and in what sums it up, without other effect.
func Faults(kind string) []string {
	k := world().kindOf(kind)
	if k == nil {
		return nil
	}
	all := roleFaults(k.Role)
	if k.Name == "orv2-psu" {
		all |= roleFaults(RoleBBU)
	}
	var l []string
	for i, n := range faultNames {
		if all&(1<<i) != 0 {
			l = append(l, n)
		}
	}
	return l
}

// find returns a device by "shelf/slot".
func (p *Plant) find(name string) (*Device, error) {
	s, slot, _ := strings.Cut(name, "/")
	if d := p.Device(s, slot); d != nil {
		return d, nil
	}
	i := p.Shelf(s)
	if i < 0 {
		return nil, fmt.Errorf("no shelf %q: there are %s", s, p.shelfNames())
	}
	return nil, fmt.Errorf("shelf %s has no %q: it has %s", s, slot, p.shelves[i].slotNames())
}

func (p *Plant) shelfNames() string {
	var l []string
	for _, s := range p.shelves {
		l = append(l, s.cfg.Name)
	}
	return strings.Join(l, ", ")
}

func (s *shelf) slotNames() string {
	var l []string
	for _, d := range s.modules {
		l = append(l, d.slot.Name)
	}
	if s.pmm != nil {
		l = append(l, s.pmm.slot.Name)
	}
	return strings.Join(l, ", ")
}

// SetFault sets or clears a fault of a device, "shelf1/psu3": one of Faults, or
// a flag of its map by name.
func (p *Plant) SetFault(dev, name string, on bool) error {
	d, err := p.find(dev)
	if err != nil {
		return err
	}
	return d.SetFault(name, on)
}

// IsFault reports whether SetFault knows the name.
func (d *Device) IsFault(name string) bool {
	if _, ok := d.faultBit(name); ok {
		return true
	}
	_, _, ok := d.flag(name)
	return ok
}

func (d *Device) faultBit(name string) (fault, bool) {
	want := plain(name)
	for _, n := range Faults(d.kind.Name) {
		if n != want {
			continue
		}
		for i := range faultNames {
			if faultNames[i] == want {
				return 1 << i, true
			}
		}
	}
	return 0, false
}

// flag finds a flag by name, or by "register.flag" where several registers have
// one of that name; without the register it is the first.
func (d *Device) flag(name string) (reg int, f Flag, ok bool) {
	reg0, fl, dotted := strings.Cut(name, ".")
	if !dotted {
		fl, reg0 = name, ""
	}
	for i := range d.m.Registers {
		r := &d.m.Registers[i]
		if r.Format != Flags || reg0 != "" && plain(reg0) != plain(r.Name) {
			continue
		}
		if f, ok := r.FlagByName(fl); ok {
			return i, f, true
		}
	}
	return 0, Flag{}, false
}

// SetFault sets or clears a fault; see Plant.SetFault.
func (d *Device) SetFault(name string, on bool) error {
	p := d.plant
	if f, ok := d.faultBit(name); ok {
		p.change()
		was := d.faults
		if on {
			d.faults |= f
		} else {
			d.faults &^= f
		}
		if d.faults != was {
			n := uint32(bits.TrailingZeros32(uint32(f)))
			if on {
				d.faulted(p.at, eventFault, n)
			} else {
				d.note(p.at, eventFaultEnd, n)
			}
		}
		p.settle()
		return nil
	}
	i, f, ok := d.flag(name)
	if !ok {
		return fmt.Errorf("%s: no fault %q: want one of %s, or a flag of its registers", d.Name(), name, strings.Join(Faults(d.kind.Name), ", "))
	}
	p.change()
	if on {
		d.forced[i] |= 1 << f.Bit
		d.faulted(p.at, eventFlag, uint32(d.m.Registers[i].Addr)<<16|uint32(f.Bit))
	} else {
		d.forced[i] &^= 1 << f.Bit
	}
	return nil
}

func (d *Device) faulted(now sim.Time, code eventCode, value uint32) {
	d.trouble++
	d.note(now, code, value)
}

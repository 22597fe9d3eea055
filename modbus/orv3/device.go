package orv3

import (
	"fmt"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Device is one slave's data: registers over the state of its module. It
// implements rtu.Device, rtu.Files and rtu.Identity.
type Device struct {
	plant *Plant
	shelf *shelf
	kind  *Kind
	slot  SlotConfig
	role  Role
	m     *Map
	id    identity
	over  *identity // of the shelf, for a power management module
	seed  uint64

	in     bool     // plugged
	mem    []uint16 // words of registers that hold what was written or set
	off    []int32  // of each register in mem
	held   []bool   // the register holds instead of showing the model
	forced []uint64 // flags that faults have set, by register
	faults fault

	psu *psu
	bat *battery
	rpu *rpu

	born, onSince            sim.Time
	clockAt                  sim.Time // when the clock was set
	clockUnix                int64
	lastOn, lastOff          int64 // Unix time
	cycles, outages, trouble uint32
	log                      blackBox
	mbox                     mailbox
	stats                    func(slot int) (crc, timeouts uint16)
}

func (p *Plant) newDevice(s *shelf, k *Kind, slot SlotConfig) (*Device, error) {
	name := s.cfg.Name + "/" + slot.Name
	if err := k.CheckAddress(int(slot.Address)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, d := range p.devices {
		if d.shelf.cfg.Name == s.cfg.Name && d.slot.Name == slot.Name {
			return nil, fmt.Errorf("%s: there are two of this name: rename one", name)
		}
	}
	d := &Device{plant: p, shelf: s, kind: k, slot: slot, role: k.Role, in: true, born: p.at, onSince: p.at,
		clockAt: p.at, clockUnix: p.cfg.Unix + int64(p.at/sim.Second)}
	d.seed = mix(p.cfg.Seed ^ mix(uint64(len(p.devices)+1)))
	prof := slot.Profile
	if prof == "" {
		prof = k.Profile
	}
	var pr *Profile
	if prof != "" {
		if pr = world().profile(prof); pr == nil {
			return nil, fmt.Errorf("%s: unknown profile %q: want one of %s", name, prof, profileNames(k.Name))
		}
		if pr.Kind != k.Name || pr.IsShelf {
			return nil, fmt.Errorf("%s: profile %s is not for a %s: want one of %s", name, prof, k.Name, profileNames(k.Name))
		}
	}
	d.id = identityOf(prof, k.Name, d.seed)
	if pr != nil && pr.Shelf != "" {
		x := identityOf(pr.Shelf, k.Name, mix(d.seed))
		d.over = &x
	}
	switch {
	case slot.Map != nil:
		d.m = slot.Map
	default:
		d.m = world().merge(k.Map, pr)
	}
	n := int32(0)
	for i := range d.m.Registers {
		d.off = append(d.off, n)
		n += int32(d.m.Registers[i].Words)
	}
	d.mem = make([]uint16, n)
	d.held = make([]bool, len(d.m.Registers))
	d.forced = make([]uint64, len(d.m.Registers))
	p.equip(d)
	p.devices = append(p.devices, d)
	return d, nil
}

func profileNames(kind string) string {
	s := ""
	for _, p := range world().profiles {
		if p.Kind == kind && !p.IsShelf {
			if s != "" {
				s += ", "
			}
			s += p.Name
		}
	}
	if s == "" {
		return "none: leave it out"
	}
	return s
}

// equip gives a device the electrical part of its kind.
func (p *Plant) equip(d *Device) {
	f, k := &p.f, d.kind.Name
	if d.role == RolePSU || d.role == RoleTether {
		u := &psu{rated: world().figure("rated_" + k), vset: world().figure("vset"), vin: f.vin, mains: true, since: p.at, ready: p.at,
			weight: 1 + f.share*(unit(d.seed, 1)-0.5), temp: f.ambient + 10, rpm: f.fanMin}
		if d.role == RoleTether {
			u.vin = world().figure("vin_dc")
		}
		if k == "orv2-psu" {
			u.vset = world().figure("vset_orv2")
		}
		d.psu = u
		d.lastOn = d.unix(p.at)
	}
	if d.role == RoleBBU || d.role == RoleCBU || k == "orv2-psu" {
		b := &battery{caps: d.role == RoleCBU, cells: world().figure("cells_" + k), charger: world().figure("charge_" + k),
			full: int64(world().figure("energy_"+k) * 1e6), limit: world().figure("discharge_time")}
		b.rated = world().figure("rated_" + k)
		b.stored = b.full
		d.bat = b
		b.temp = d.batTarget(0)
	}
	if d.role == RoleRPU || d.role == RoleValve {
		d.rpu = newRPU(f)
	}
}

// Name is shelf and slot: "shelf1/psu3".
func (d *Device) Name() string { return d.shelf.cfg.Name + "/" + d.slot.Name }

// Address is the slave address.
func (d *Device) Address() uint8 { return d.slot.Address }

// Map is the register map that the device answers; not to be changed.
func (d *Device) Map() *Map { return d.m }

// Line is how the device talks.
func (d *Device) Line() rtu.Line {
	if l := d.shelf.cfg.Line; l.Baud != 0 {
		return l
	}
	return d.m.Line
}

// Role is what the device does.
func (d *Device) Role() Role { return d.role }

// Plugged reports whether the module is in its slot.
func (d *Device) Plugged() bool { return d.in }

// Unplug takes the module out of its slot: it gives no power, and the others
// take over. Whoever runs the segment takes its station off the bus as well.
func (d *Device) Unplug() { d.plug(false) }

// Plug puts the module back.
func (d *Device) Plug() { d.plug(true) }

func (d *Device) plug(in bool) {
	if d.in == in {
		return
	}
	p := d.plant
	p.change()
	d.in = in
	if in {
		d.onSince = p.at
		d.mbox = mailbox{}
		if d.psu != nil {
			d.psu.ready = p.at + p.f.start
			d.psu.stopped = false
		}
	}
	d.shelf.note(p.at, pick(in, eventPlugged, eventUnplugged), uint32(d.slot.Number))
	p.settle()
}

// SetBusStats gives a device the error counters of its segment: of its own
// station by slot 0, and for a power management module of the module in a slot.
// f is called at reads of the registers that show them.
func (d *Device) SetBusStats(f func(slot int) (crc, timeouts uint16)) { d.stats = f }

func (d *Device) busStats(slot int) (crc, timeouts uint16) {
	if d.stats == nil {
		return 0, 0
	}
	return d.stats(slot)
}

// unix is the device's clock, in seconds.
func (d *Device) unix(now sim.Time) int64 {
	return d.clockUnix + int64((now-d.clockAt)/sim.Second)
}

// mix scrambles a number: neighbours come out unlike each other.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a number in [0,1) that belongs to a seed and a purpose.
func unit(seed, purpose uint64) float64 {
	return float64(mix(seed^purpose*0x9e3779b97f4a7c15)>>11) / (1 << 53)
}

// noisy is a measured value: v with noise that holds for a while, whoever reads.
func (d *Device) noisy(v float64, purpose uint64, now sim.Time) float64 {
	f := &d.plant.f
	t := uint64(now / f.noisePeriod)
	return v * (1 + f.noise*(2*unit(d.seed^t<<16, purpose)-1))
}

package orv3

import (
	"fmt"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// PlantConfig is a rack's electricity.
type PlantConfig struct {
	Seed    uint64  // of serial numbers, spread of modules and noise of measurements
	Unix    int64   // wall clock at time zero, seconds since 1970
	Ambient float64 // cold aisle in degrees Celsius; 0: as assume/model.csv has it
	Shelves []ShelfConfig
}

// ShelfConfig is one shelf of a PlantConfig.
type ShelfConfig struct {
	Name  string
	Kind  string       // of Kinds
	Slots []SlotConfig // by ascending Number
	PMM   *SlotConfig  // power management module; nil: none
	Backs int          // BBU or CBU shelf: index of the PSU shelf whose busbar it backs, or -1
	Load  float64      // PSU shelf: watts that it feeds at first
	Line  rtu.Line     // at which its devices talk, where that is not their map's; zero: as the map has it
}

// SlotConfig is one device.
type SlotConfig struct {
	Number  int    // 1 or more; a PMM's is not used
	Name    string // "psu3"
	Address uint8
	Profile string // of Profiles; "": the kind's
	Map     *Map   // replaces the kind's register map; nil: not
}

// Plant is the electricity of a rack. It belongs to one engine and is not safe
// for concurrent use.
type Plant struct {
	proc    *sim.Proc
	cfg     PlantConfig
	f       figures
	shelves []*shelf
	devices []*Device // in the order of shelves and slots, PMMs behind their modules
	at      sim.Time  // up to here the model has been computed
	quiet   bool      // nothing moves: time may be crossed in one stride
	listen  func(now sim.Time, shelf int, on bool)
	tick    sim.Timer
}

type shelf struct {
	plant   *Plant
	index   int
	cfg     ShelfConfig
	kind    *Kind
	modules []*Device
	pmm     *Device
	zone    *zone // own (PSU, tether) or the one it backs; nil: none
	served  bool
}

// NewPlant builds a plant at the process' present time, with mains on and
// batteries full. Errors name the shelf and what is wrong with it.
func NewPlant(p *sim.Proc, cfg PlantConfig) (*Plant, error) {
	pl := &Plant{proc: p, cfg: cfg, f: readFigures(), at: p.Now()}
	if cfg.Ambient != 0 {
		pl.f.ambient = cfg.Ambient
	}
	for i, sc := range cfg.Shelves {
		s := &shelf{plant: pl, index: i, cfg: sc, kind: world().kindOf(sc.Kind)}
		if s.kind == nil {
			return nil, fmt.Errorf("shelf %s: unknown kind %q: want one of %s", sc.Name, sc.Kind, kindNames())
		}
		if s.kind.Role == RolePMM { // it would sum up its own alarms
			return nil, fmt.Errorf("shelf %s: %s is what stands in front of a shelf: give the shelf's kind, and the PMM beside its slots", sc.Name, sc.Kind)
		}
		pl.shelves = append(pl.shelves, s)
		for _, slot := range sc.Slots {
			d, err := pl.newDevice(s, s.kind, slot)
			if err != nil {
				return nil, err
			}
			s.modules = append(s.modules, d)
		}
		if sc.PMM != nil {
			k := world().kindOf(s.kind.PMM)
			if k == nil {
				return nil, fmt.Errorf("shelf %s: a shelf of kind %s has no power management module: leave it out", sc.Name, sc.Kind)
			}
			d, err := pl.newDevice(s, k, *sc.PMM)
			if err != nil {
				return nil, err
			}
			s.pmm = d
		}
	}
	if err := pl.wire(); err != nil {
		return nil, err
	}
	pl.tick.Init(p, (*ticker)(pl), 0, 0)
	pl.settle()
	return pl, nil
}

func kindNames() string {
	s := ""
	for _, k := range world().kinds {
		if k.Role == RolePMM {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += k.Name
	}
	return s
}

// wire makes a busbar for each PSU shelf and joins the batteries to it.
func (p *Plant) wire() error {
	for _, s := range p.shelves {
		if s.kind.Role != RolePSU && s.kind.Role != RoleTether {
			continue
		}
		s.zone = &zone{shelf: s, plant: p, powered: true, demand: watts(s.cfg.Load), restart: never, over: never}
		for _, d := range s.modules {
			s.zone.psus = append(s.zone.psus, d)
			if d.bat != nil {
				s.zone.bats = append(s.zone.bats, d)
			}
		}
	}
	for _, s := range p.shelves {
		if s.kind.Role != RoleBBU && s.kind.Role != RoleCBU || s.cfg.Backs < 0 {
			continue
		}
		if s.cfg.Backs >= len(p.shelves) || p.shelves[s.cfg.Backs].zone == nil || p.shelves[s.cfg.Backs].kind.Role == s.kind.Role {
			return fmt.Errorf("shelf %s backs shelf %d: that is no PSU shelf: name one, or none", s.cfg.Name, s.cfg.Backs)
		}
		s.zone = p.shelves[s.cfg.Backs].zone
		s.zone.bats = append(s.zone.bats, s.modules...)
	}
	for _, s := range p.shelves { // capacitors help after batteries
		if s.zone != nil && s.zone.shelf == s {
			s.zone.order()
		}
	}
	return nil
}

const never = sim.Forever

func watts(w float64) float64 {
	if !(w > 0) { // NaN as well
		return 0
	}
	return min(w, 1e7)
}

// Device returns the device in a slot, by the names of shelf and slot; nil if
// there is none.
func (p *Plant) Device(shelf, slot string) *Device {
	for _, d := range p.devices {
		if d.slot.Name == slot && d.shelf.cfg.Name == shelf {
			return d
		}
	}
	return nil
}

// Devices lists all devices in the order of the configuration, each PMM behind
// its modules.
func (p *Plant) Devices() []*Device { return p.devices }

// SetLoad sets what the nodes fed by a PSU shelf draw from now on, in watts. A
// shelf without a busbar of its own ignores it.
func (p *Plant) SetLoad(shelf int, w float64) {
	z := p.zoneOf(shelf)
	if z == nil || z.demand == watts(w) {
		return
	}
	p.change()
	z.demand = watts(w)
	p.settle()
}

// SetAC switches the mains of a PSU shelf: one phase, 0 to 2, or all with -1.
// The module in slot n hangs on phase (n-1) mod 3. A power tether's mains are
// the busbar of the other rack.
func (p *Plant) SetAC(shelf, phase int, on bool) error {
	z := p.zoneOf(shelf)
	if z == nil {
		return fmt.Errorf("shelf %d has no mains: name a PSU shelf", shelf)
	}
	if phase < -1 || phase > 2 {
		return fmt.Errorf("phase %d: want 0 to 2, or -1 for all", phase)
	}
	p.change()
	for _, d := range z.psus {
		if phase < 0 || (d.slot.Number-1)%3 == phase {
			d.setMains(p.at, on)
		}
	}
	p.settle()
	return nil
}

func (p *Plant) zoneOf(shelf int) *zone {
	if shelf < 0 || shelf >= len(p.shelves) || p.shelves[shelf].zone == nil || p.shelves[shelf].zone.shelf != p.shelves[shelf] {
		return nil
	}
	return p.shelves[shelf].zone
}

// Powered tells whether the nodes of a PSU shelf have power.
func (p *Plant) Powered(shelf int) bool {
	z := p.zoneOf(shelf)
	if z == nil {
		return false
	}
	p.advance(p.proc.Now())
	return z.powered
}

// OnPower is told when the nodes of a PSU shelf lose or regain power. While a
// listener is there and something moves, the model is stepped by events.
func (p *Plant) OnPower(f func(now sim.Time, shelf int, on bool)) {
	p.listen = f
	p.arm()
}

// Shelf returns the index of a shelf by its name; -1 if there is none.
func (p *Plant) Shelf(name string) int {
	for i, s := range p.shelves {
		if s.cfg.Name == name {
			return i
		}
	}
	return -1
}

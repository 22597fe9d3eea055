package orv3

import (
	"fmt"
	"strconv"
	"strings"

	"cnuas/internal/sim"
)

// Snapshot is the state of a plant, for status.
type Snapshot struct {
	At      sim.Time
	Shelves []ShelfState
}

// ShelfState is the state of one shelf.
type ShelfState struct {
	Name           string
	Kind           string
	Role           Role
	Modules        []ModuleState
	PMM            *ModuleState `json:",omitempty"`
	Busbar         float64      `json:",omitempty"` // V
	Load           float64      `json:",omitempty"` // W that the nodes want
	Input          float64      `json:",omitempty"` // W from the mains
	Output         float64      `json:",omitempty"` // W of its modules to the busbar
	Charge         float64      `json:",omitempty"` // W into batteries
	StateOfCharge  float64      `json:",omitempty"` // 0 to 1, of the shelf
	RunTime        float64      `json:",omitempty"` // s until its batteries end; 0 when they do not discharge
	Powered        bool         // PSU shelf: its nodes have power
	RedundancyLost bool         `json:",omitempty"` // one more module less and the load is not carried
	Collapses      int          `json:",omitempty"` // times that the busbar broke down
	Books          *Books       `json:",omitempty"` // of the busbar, on its PSU shelf
}

// ModuleState is one device in short.
type ModuleState struct {
	Name          string // "shelf1/psu3"
	Address       uint8
	Plugged       bool
	Alarm         bool
	Output        float64  `json:",omitempty"` // W; of a battery, negative while it charges
	Temperature   float64  `json:",omitempty"` // C, of the hot spot or the pack
	StateOfCharge float64  `json:",omitempty"` // 0 to 1
	State         string   // "on", "off", "no mains", "starting", "hot", "charging", "discharging", "full", ...
	Flags         []string `json:",omitempty"` // those of its alarm registers that are set
}

// Snapshot returns the state of all shelves now.
func (p *Plant) Snapshot() Snapshot {
	now := p.proc.Now()
	p.advance(now)
	s := Snapshot{At: now}
	for _, x := range p.shelves {
		s.Shelves = append(s.Shelves, x.state(now))
	}
	return s
}

func (s *shelf) state(now sim.Time) ShelfState {
	r := ShelfState{Name: s.cfg.Name, Kind: s.kind.Name, Role: s.kind.Role}
	var stored, full int64
	for _, d := range s.modules {
		m := d.state(now)
		r.Modules = append(r.Modules, m)
		if m.Output > 0 {
			r.Output += m.Output
		}
		if d.psu != nil {
			r.Input += d.psu.out + d.psu.loss
		}
		if b := d.bat; b != nil {
			stored, full = stored+b.stored, full+b.full
			r.Charge += b.in
			if b.discharging {
				if t := d.runTime(now); r.RunTime == 0 || t < r.RunTime {
					r.RunTime = t
				}
			}
		}
	}
	if full > 0 {
		r.StateOfCharge = float64(stored) / float64(full)
	}
	if s.pmm != nil {
		m := s.pmm.state(now)
		r.PMM = &m
	}
	if z := s.zone; z != nil {
		r.Busbar, r.Powered = z.volts, z.powered
		if z.shelf == s {
			b := z.books
			r.Books, r.Load, r.RedundancyLost, r.Collapses = &b, z.demand, z.lost, z.drops
			r.Charge = z.charge
		}
	}
	return r
}

func (d *Device) state(now sim.Time) ModuleState {
	m := ModuleState{Name: d.Name(), Address: d.slot.Address, Plugged: d.in, State: "on"}
	if !d.in {
		m.State = "unplugged"
		return m
	}
	m.Alarm = d.Alarm(now)
	m.Flags = d.alarmFlags(now)
	if u := d.psu; u != nil {
		m.Output, m.Temperature = d.output(), u.temp
		switch {
		case !u.mains:
			m.State = "no mains"
		case u.stopped:
			m.State = "hot"
		case d.mbox.state != running:
			m.State = "boot loader"
		case d.has(faultPFC | faultDCDC):
			m.State = "failed"
		case now < u.ready:
			m.State = "starting"
		}
	}
	if b := d.bat; b != nil {
		m.StateOfCharge = b.soc()
		state := "standby"
		switch {
		case b.discharging:
			state = "discharging"
		case b.charging:
			state = "charging"
		case d.mbox.state != running && d.psu == nil: // of one with both its first word says it
			state = "boot loader"
		case d.has(faultConverter | faultPack):
			state = "failed"
		case b.temp > d.plant.f.batHot:
			state = "hot"
		case b.blocked:
			state = "ended"
		case b.soc() >= d.plant.f.full:
			state = "full"
		}
		if d.psu == nil {
			m.State, m.Output, m.Temperature = state, b.out-b.in, b.temp
		} else if state != "full" {
			m.State += ", battery " + state
		}
	}
	return m
}

// alarmFlags names the flags that make up the module's alarm.
func (d *Device) alarmFlags(now sim.Time) (l []string) {
	for _, a := range d.kind.alarms {
		i := d.m.index(a.addr)
		if i < 0 {
			continue
		}
		v := d.flags(i, now) & a.mask
		for _, f := range d.m.Registers[i].Flags {
			if v>>f.Bit&1 != 0 {
				l = append(l, f.Name)
			}
		}
	}
	return l
}

// DeviceState is everything of one device, for show.
type DeviceState struct {
	ModuleState
	Shelf, Kind string
	Role        Role
	Map         string
	Profile     string `json:",omitempty"`
	Line        string
	Unix        int64 // by its own clock
	Registers   []RegisterState
	Events      []Event // black box, oldest first
	InputJ      float64 `json:",omitempty"` // J since the start: from the mains, or into a battery
	OutputJ     float64 `json:",omitempty"` // J to the busbar
	LossJ       float64 `json:",omitempty"`
}

// RegisterState is one register as masters see it.
type RegisterState struct {
	Addr     uint16
	Words    []uint16
	Name     string
	Format   string
	Value    float64 `json:",omitempty"` // in Unit
	Text     string  // of the value: with its unit, the string, or the flags that are set
	Unit     string  `json:",omitempty"`
	Flags    []Flag  `json:",omitempty"` // those set
	Writable bool    `json:",omitempty"`
	Held     bool    `json:",omitempty"` // set by hand or written; the model does not show
	Source   string  `json:",omitempty"` // what it comes from
}

// Show returns everything of a device, "shelf1/psu3".
func (p *Plant) Show(dev string) (*DeviceState, error) {
	d, err := p.find(dev)
	if err != nil {
		return nil, err
	}
	now := p.proc.Now()
	p.advance(now)
	s := &DeviceState{ModuleState: d.state(now), Shelf: d.shelf.cfg.Name, Kind: d.kind.Name, Role: d.role, Map: d.m.Name,
		Profile: d.profileName(), Line: d.Line().String(), Unix: d.unix(now), Events: d.Events()}
	if u := d.psu; u != nil {
		s.InputJ, s.OutputJ, s.LossJ = float64(u.inJ)/1e6, float64(u.outJ)/1e6, float64(u.lossJ)/1e6
	} else if b := d.bat; b != nil {
		s.InputJ, s.OutputJ, s.LossJ = float64(b.inJ)/1e6, float64(b.outJ)/1e6, float64(b.lossJ)/1e6
	}
	for i := range d.m.Registers {
		s.Registers = append(s.Registers, d.registerState(i, now))
	}
	return s, nil
}

func (d *Device) registerState(i int, now sim.Time) RegisterState {
	r := &d.m.Registers[i]
	w := make([]uint16, r.Words)
	d.show(i, w, now)
	s := RegisterState{Addr: r.Addr, Words: w, Name: r.Name, Format: r.Format.String(), Unit: r.Unit,
		Writable: d.access(r.Addr) != nil, Held: d.held[i], Source: r.src.name}
	switch r.Format {
	case String:
		s.Text = r.DecodeString(w)
	case Flags:
		v := r.Uint(w)
		var names []string
		for _, f := range r.Flags {
			if v>>f.Bit&1 != 0 {
				s.Flags = append(s.Flags, f)
				names = append(names, f.Name)
			}
		}
		s.Value = float64(v)
		s.Text = strings.Join(names, " ")
		if s.Text == "" {
			s.Text = fmt.Sprintf("0x%0*x", 4*int(r.Words), v)
		}
	case Raw:
		s.Text = fmt.Sprintf("%04x", w)
	default:
		s.Value = r.Decode(w)
		s.Text = strconv.FormatFloat(roundTo(s.Value, r.Resolution()), 'f', -1, 64) + unitText(r.Unit)
	}
	return s
}

// roundTo cuts digits that the register cannot tell apart.
func roundTo(v, step float64) float64 {
	digits := 0
	for step < 0.999 && digits < 6 {
		step *= 10
		digits++
	}
	s, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	if err != nil {
		return v
	}
	return s
}

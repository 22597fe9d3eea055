package daemon

import (
	"fmt"
	"strings"
	"time"

	"cnuas/internal/status"
	"cnuas/internal/topology"
	"cnuas/modbus/bus"
	"cnuas/modbus/orv3"
)

// rackStatus is a snapshot of the rack; nil if there is none.
func (d *Daemon) rackStatus() *status.Rack {
	if d.rack == nil {
		return nil
	}
	spec := d.spec().Rack
	r := &status.Rack{Alerts: []string{}}
	var plant orv3.Snapshot
	faults := make([][]bus.Fault, len(spec.Segments))
	counters := make([]bus.Counters, len(spec.Segments))
	d.rack.Do(func() {
		plant = d.rack.Plant().Snapshot()
		for i := range spec.Segments {
			s := d.rack.Segment(spec.Segments[i].Name)
			faults[i], counters[i] = s.Faults(), s.Counters()
		}
	})
	for i := range spec.Segments {
		r.Segments = append(r.Segments, d.segmentStatus(i, counters[i], faults[i]))
	}
	for i := range plant.Shelves {
		s := d.shelfStatus(i, &plant.Shelves[i])
		r.Shelves = append(r.Shelves, s)
	}
	for i := range r.Shelves {
		r.Alerts = append(r.Alerts, alerts(&r.Shelves[i], &plant.Shelves[i], dark(r.Shelves, plant.Shelves, i))...)
	}
	r.Loads = d.rackLoads()
	if b := spec.BMC; b != nil {
		r.BMC = &status.RackBMC{Name: b.Name, Image: b.Image, Machine: b.Machine, Address: b.Addr.String(), State: "off"}
		if d.theBMC() != nil {
			r.BMC.State = "up"
		}
		for _, p := range b.Ports {
			name := ""
			if p >= 0 {
				name = spec.Segments[p].Name
			}
			r.BMC.Ports = append(r.BMC.Ports, name)
		}
	}
	return r
}

func (d *Daemon) segmentStatus(i int, c bus.Counters, faults []bus.Fault) status.RackSegment {
	spec := d.spec().Rack
	x := &spec.Segments[i]
	s := status.RackSegment{
		Name: x.Name, Line: x.Line.String(), TTY: d.rack.TTY(x.Name), Socket: d.rack.Socket(x.Name),
		TurnaroundMS: ms(x.Turnaround), Echo: x.Echo, Faults: []string{}, Masters: []status.RackMaster{},
	}
	for _, c := range d.rack.Clients(x.Name) {
		s.Clients = append(s.Clients, status.RackClient{
			Name: c.Name, Open: c.Open, Line: c.Line, Opened: c.Opened, TxBytes: c.TxBytes, RxBytes: c.RxBytes, Overruns: c.Overruns, Errors: c.Errors,
		})
	}
	for j := range c.Masters {
		m := &c.Masters[j]
		s.Masters = append(s.Masters, status.RackMaster{Name: m.Name, Counters: counted(
			counter{"bytes", m.Bytes}, counter{"requests", m.Requests}, counter{"broadcasts", m.Broadcasts}, counter{"bad_requests", m.BadRequests},
			counter{"replies", m.Replies}, counter{"exceptions", m.Exceptions}, counter{"bad_replies", m.BadReplies},
			counter{"unanswered", m.Unanswered}, counter{"collisions", m.Collisions}, counter{"refused", m.Refused}, counter{"purged", m.Purged},
		)})
	}
	for j := range spec.Shelves {
		if spec.Shelves[j].Segment == i {
			s.Slaves += len(spec.Shelves[j].Devices())
		}
	}
	s.Counters = counted(
		counter{"bytes", c.Bytes}, counter{"requests", c.Requests}, counter{"broadcasts", c.Broadcasts}, counter{"replies", c.Replies},
		counter{"exceptions", c.Exceptions}, counter{"bad_frames", c.BadFrames}, counter{"crc_errors", c.CRCErrors},
		counter{"framing_errors", c.FramingErrors}, counter{"parity_errors", c.ParityErrors}, counter{"lost", c.Lost},
		counter{"collisions", c.Collisions}, counter{"unanswered", c.Unanswered}, counter{"bad_replies", c.BadReplies},
	)
	for j := range faults {
		s.Faults = append(s.Faults, faultText(&faults[j]))
	}
	return s
}

type counter struct {
	name string
	v    uint64
}

// counted is the counters that are not zero.
func counted(l ...counter) map[string]uint64 {
	m := map[string]uint64{}
	for _, c := range l {
		if c.v > 0 {
			m[c.name] = c.v
		}
	}
	return m
}

func faultText(f *bus.Fault) string {
	t := f.Kind.String()
	if f.Station != "" {
		t += " at " + f.Station
	}
	switch {
	case f.Kind == bus.Noise:
		t += fmt.Sprintf(", bursts of %v every %v", f.Burst, f.Every)
	case f.Prob > 0 && f.Prob < 1:
		t += fmt.Sprintf(", probability %g", f.Prob)
	}
	if f.Kind == bus.Late {
		t += fmt.Sprintf(", by %v", f.Delay)
	}
	return t
}

func (d *Daemon) shelfStatus(i int, p *orv3.ShelfState) status.RackShelf {
	spec := d.spec().Rack
	x := &spec.Shelves[i]
	s := status.RackShelf{
		Name: x.Name, Kind: x.Kind, Segment: spec.Segments[x.Segment].Name, Line: x.Line.String(),
		InputW: p.Input, OutputW: p.Output, BusbarV: p.Busbar, RuntimeS: p.RunTime, State: shelfState(p),
	}
	if x.Backs >= 0 {
		s.Backs = spec.Shelves[x.Backs].Name
	}
	for _, n := range x.Feeds {
		s.Feeds = append(s.Feeds, d.spec().Nodes[n].Name)
	}
	if p.Role == orv3.RoleBBU || p.Role == orv3.RoleCBU {
		s.Charge = &p.StateOfCharge
		s.InputW = p.Charge // into the batteries
	}
	modules := p.Modules
	if p.PMM != nil {
		modules = append(modules[:len(modules):len(modules)], *p.PMM)
	}
	for j := range modules {
		m := &modules[j]
		s.Slaves = append(s.Slaves, status.RackDevice{Name: m.Name, Address: int(m.Address), Plugged: m.Plugged, State: m.State, OutputW: m.Output, Alarms: m.Flags})
	}
	return s
}

// noMains is orv3's word for a module without AC.
const noMains = "no mains"

// shelfState is what most modules of a shelf are doing, the worst first.
func shelfState(p *orv3.ShelfState) string {
	if (p.Role == orv3.RolePSU || p.Role == orv3.RoleTether) && !p.Powered {
		return "down"
	}
	count := map[string]int{}
	for i := range p.Modules {
		count[p.Modules[i].State]++
	}
	var l []string
	for i := range p.Modules { // in the order of slots
		s := p.Modules[i].State
		switch n := count[s]; {
		case n == 0:
		case n == len(p.Modules):
			l = append(l, s)
		default:
			l = append(l, fmt.Sprintf("%d %s", n, s))
		}
		count[s] = 0
	}
	return strings.Join(l, ", ")
}

// dark are the nodes of a shelf that no shelf gives power.
func dark(shelves []status.RackShelf, states []orv3.ShelfState, of int) (l []string) {
	lit := map[string]bool{}
	for i := range shelves {
		if states[i].Powered {
			for _, n := range shelves[i].Feeds {
				lit[n] = true
			}
		}
	}
	for _, n := range shelves[of].Feeds {
		if !lit[n] {
			l = append(l, n)
		}
	}
	return l
}

// alerts are what a user should know of a shelf without looking for it; nodes
// are those of its nodes that have no power.
func alerts(s *status.RackShelf, p *orv3.ShelfState, nodes []string) (l []string) {
	source := p.Role == orv3.RolePSU || p.Role == orv3.RoleTether
	switch {
	case source && !p.Powered && len(nodes) == 0 && len(s.Feeds) > 0:
		l = append(l, fmt.Sprintf("the busbar of %s is down: its nodes draw from others", s.Name))
	case source && !p.Powered && len(nodes) == 0:
		l = append(l, fmt.Sprintf("the busbar of %s is down", s.Name))
	case source && !p.Powered:
		l = append(l, fmt.Sprintf("the busbar of %s is down: %s without power (programs in them go on all the same)", s.Name, theNodes(nodes)))
	case source && s.State == noMains:
		l = append(l, fmt.Sprintf("%s has no AC: batteries carry its %.0f W", s.Name, p.Load))
	case source && len(p.Modules) > 0 && idle(p) == len(p.Modules):
		l = append(l, fmt.Sprintf("no module of %s gives power: batteries carry its %.0f W", s.Name, p.Load))
	case source && p.RedundancyLost && idle(p) > 0:
		l = append(l, fmt.Sprintf("%s has lost its redundancy: power comes from %d of its %d modules", s.Name, len(p.Modules)-idle(p), len(p.Modules)))
	case source && p.RedundancyLost:
		l = append(l, s.Name+" has lost its redundancy: with one module less it does not carry its load")
	}
	var out []string
	alarms, order := map[string][]string{}, []string{}
	for i := range p.Modules {
		m := &p.Modules[i]
		_, slot, _ := strings.Cut(m.Name, "/")
		switch {
		case !m.Plugged:
			out = append(out, slot)
		case m.Alarm:
			flags := strings.Join(m.Flags, ", ")
			if alarms[flags] == nil {
				order = append(order, flags)
			}
			alarms[flags] = append(alarms[flags], slot)
		}
	}
	if len(out) > 0 {
		l = append(l, fmt.Sprintf("%s: unplugged: %s", s.Name, strings.Join(out, ", ")))
	}
	for _, flags := range order {
		l = append(l, fmt.Sprintf("%s: alarm %s: %s", s.Name, flags, strings.Join(alarms[flags], ", ")))
	}
	return l
}

// idle is how many modules of a shelf give no power.
func idle(p *orv3.ShelfState) (n int) {
	for i := range p.Modules {
		// One with a battery says of that as well: "on, battery charging".
		if s, _, _ := strings.Cut(p.Modules[i].State, ","); s != "on" {
			n++
		}
	}
	return n
}

func theNodes(l []string) string {
	if len(l) == 1 {
		return "node " + l[0] + " is"
	}
	return fmt.Sprintf("%d nodes are", len(l))
}

func (d *Daemon) rackLoads() []status.RackLoad {
	l := []status.RackLoad{}
	watts, compute := d.loads.now()
	for i, n := range d.spec().Nodes {
		x := status.RackLoad{Node: n.Name, Watts: watts[i], Compute: compute[i], Shelves: []string{}}
		for _, s := range d.spec().Rack.Shelves {
			for _, f := range s.Feeds {
				if f == i {
					x.Shelves = append(x.Shelves, s.Name)
				}
			}
		}
		l = append(l, x)
	}
	return l
}

// rackDevice is everything of one device.
func (d *Daemon) rackDevice(s *topology.RackShelf, x *topology.RackSlot) (*status.RackDevice, error) {
	var p *orv3.DeviceState
	var err error
	d.rack.Do(func() { p, err = d.rack.Plant().Show(s.Name + "/" + x.Name) })
	if err != nil {
		return nil, err
	}
	r := &status.RackDevice{
		Name: p.Name, Kind: p.Kind, Profile: p.Profile, Segment: d.spec().Rack.Segments[s.Segment].Name, Line: s.Line.String(),
		Address: int(p.Address), Plugged: p.Plugged, State: p.State, OutputW: p.Output, Alarms: p.Flags, CanFail: orv3.Faults(p.Kind),
	}
	for _, g := range p.Registers {
		v := status.RackRegister{Address: int(g.Addr), Words: len(g.Words), Name: g.Name, Raw: g.Words, Value: g.Text, Held: g.Held}
		for _, f := range g.Flags {
			v.Flags = append(v.Flags, f.Name)
		}
		r.Registers = append(r.Registers, v)
	}
	for _, e := range p.Events {
		text := time.Unix(e.Unix, 0).UTC().Format(time.DateTime) + " " + e.Name
		if e.Detail != "" {
			text += ": " + e.Detail
		}
		r.Events = append(r.Events, text)
	}
	return r, nil
}

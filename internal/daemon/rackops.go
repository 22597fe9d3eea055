package daemon

import (
	"fmt"
	"strings"
	"time"

	"cnuas/internal/sim"
	"cnuas/internal/status"
	"cnuas/internal/topology"
	"cnuas/modbus/bus"
	"cnuas/modbus/orv3"
)

// RackArgs ask for something about the rack.
type RackArgs struct {
	Action string        `json:"action"`         // as of the command line; names: whether the rack has Name
	Name   string        `json:"name,omitempty"` // segment, shelf, SHELF/SLOT, or node
	Set    []RackSetting `json:"set,omitempty"`
	Phase  int           `json:"phase,omitempty"` // 1 to 3; 0: all
	Watts  float64       `json:"watts,omitempty"`
	Fault  *RackFault    `json:"fault,omitempty"`
}

// RackSetting is a fault of a device, "true" or "false", or a register by name
// or number.
type RackSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// RackFault is a fault of a segment.
type RackFault struct {
	Kind  string        `json:"kind"`            // of bus.FaultKinds
	Share float64       `json:"share"`           // above 0, at most 1
	Delay time.Duration `json:"delay,omitempty"` // late
	Burst time.Duration `json:"burst,omitempty"` // noise
	Every time.Duration `json:"every,omitempty"` // noise
	Slave string        `json:"slave,omitempty"` // SHELF/SLOT; "": all
	For   time.Duration `json:"for"`             // 0: until it is cleared
}

// RackReply is the answer: a line, a rack or a device.
type RackReply struct {
	Done   string             `json:"done,omitempty"`
	Rack   *status.Rack       `json:"rack,omitempty"`
	Device *status.RackDevice `json:"device,omitempty"`
}

// RackOutsideVM refuses a rack in a lab VM.
func RackOutsideVM(s *topology.Spec) error {
	if s.Rack == nil {
		return nil
	}
	return fmt.Errorf("fabric %s has a rack, whose pseudo terminals would be inside of the lab VM, where no client of this machine finds them: bring it up without --vm, or take the rack out of the topology", s.Name)
}

// segment finds a segment by name; "" is the first.
func (d *Daemon) segment(name string) (*topology.RackSegment, error) {
	r := d.spec().Rack
	if name == "" {
		return &r.Segments[0], nil
	}
	var l []string
	for i := range r.Segments {
		if r.Segments[i].Name == name {
			return &r.Segments[i], nil
		}
		l = append(l, r.Segments[i].Name)
	}
	return nil, fmt.Errorf("the rack has no segment %q; it has %s", name, strings.Join(l, ", "))
}

// shelf finds a shelf by name.
func (d *Daemon) shelf(name string) (int, *topology.RackShelf, error) {
	r := d.spec().Rack
	var l []string
	for i := range r.Shelves {
		if r.Shelves[i].Name == name {
			return i, &r.Shelves[i], nil
		}
		l = append(l, r.Shelves[i].Name)
	}
	return 0, nil, fmt.Errorf("the rack has no shelf %q; it has %s", name, strings.Join(l, ", "))
}

// device finds a device by SHELF/SLOT. The slot of a shelf with numbered
// modules can be its number alone; a shelf of one device needs no slot.
func (d *Daemon) device(name string) (*topology.RackShelf, *topology.RackSlot, error) {
	on, slot, named := strings.Cut(name, "/")
	_, s, err := d.shelf(on)
	if err != nil {
		return nil, nil, err
	}
	var l []string
	devices := s.Devices()
	for _, x := range devices {
		if !named && len(devices) == 1 || x.Name == slot || x.Number > 0 && fmt.Sprint(x.Number) == slot {
			return s, x, nil
		}
		l = append(l, x.Name)
	}
	if !named {
		return nil, nil, fmt.Errorf("%s is a shelf: name one of its devices, such as %s/%s; it has %s", s.Name, s.Name, l[0], strings.Join(l, ", "))
	}
	return nil, nil, fmt.Errorf("shelf %s has no %q; it has %s", s.Name, slot, strings.Join(l, ", "))
}

// hasName tells whether the rack has a segment, shelf, device or node of a name.
func (d *Daemon) hasName(name string) bool {
	if _, err := d.segment(name); err == nil {
		return true
	}
	if _, _, err := d.shelf(name); err == nil {
		return true
	}
	if _, _, err := d.device(name); err == nil {
		return true
	}
	return d.node(name) != nil
}

func (d *Daemon) noRack() error {
	return fmt.Errorf("fabric %s has no rack; add [[rack.shelf]] to its topology, or bring up another: cnuas up rack", d.spec().Name)
}

// rackOp does what the command line asks of the rack.
func (d *Daemon) rackOp(a RackArgs) (r RackReply, err error) {
	if d.rack == nil {
		return r, d.noRack()
	}
	switch a.Action {
	case "names":
		if a.Name == "" || d.hasName(a.Name) {
			r.Done = a.Name
		}
	case "status":
		r.Rack = d.rackStatus()
	case "tty", "socket":
		s, err := d.segment(a.Name)
		if err != nil {
			return r, err
		}
		if r.Done = d.rack.TTY(s.Name); a.Action == "socket" {
			r.Done = d.rack.Socket(s.Name)
		}
	case "show":
		s, x, err := d.device(a.Name)
		if err != nil {
			return r, err
		}
		if r.Device, err = d.rackDevice(s, x); err != nil {
			return r, err
		}
	case "set":
		r.Done, err = d.rackSet(a)
	case "ac-loss", "ac-restore":
		r.Done, err = d.rackAC(a)
	case "plug", "unplug":
		r.Done, err = d.rackPlug(a)
	case "load":
		r.Done, err = d.rackLoad(a)
	case "fault":
		r.Done, err = d.rackFault(a)
	case "clear":
		s, err := d.segment(a.Name)
		if err != nil {
			return r, err
		}
		d.rack.Do(func() { d.rack.Segment(s.Name).ClearFaults() })
		r.Done = "segment " + s.Name + " has no injected faults"
	default:
		err = fmt.Errorf("there is no %q of racks", a.Action)
	}
	return r, err
}

func (d *Daemon) rackLoad(a RackArgs) (string, error) {
	for i, n := range d.nodes {
		if n.name() == a.Name {
			d.loads.setCompute(i, a.Watts)
			return fmt.Sprintf("node %s draws %g W for computing, beside what its traffic costs", a.Name, a.Watts), nil
		}
	}
	return "", fmt.Errorf("fabric %s has no node %q; it has %s", d.spec().Name, a.Name, d.nodeNames())
}

// rackAC takes the AC feed of a PSU shelf away, or gives it back.
func (d *Daemon) rackAC(a RackArgs) (string, error) {
	i, s, err := d.shelf(a.Name)
	if err != nil {
		return "", err
	}
	if r := topology.ShelfRole(s.Kind); r != orv3.RolePSU && r != orv3.RoleTether {
		return "", fmt.Errorf("shelf %s is of kind %s, which has no feed of its own; name the PSU shelf that it backs, or that it belongs to", s.Name, s.Kind)
	}
	on := a.Action == "ac-restore"
	d.rack.Do(func() { err = d.rack.Plant().SetAC(i, a.Phase-1, on) })
	if err != nil {
		return "", err
	}
	what := "shelf " + s.Name
	if a.Phase > 0 {
		what = fmt.Sprintf("phase %d of shelf %s", a.Phase, s.Name)
	}
	if on {
		return what + " has AC again", nil
	}
	return what + " has lost AC", nil
}

// rackSet sets faults and registers of a device, in the order given.
func (d *Daemon) rackSet(a RackArgs) (string, error) {
	s, x, err := d.device(a.Name)
	if err != nil {
		return "", err
	}
	name := s.Name + "/" + x.Name
	var done []string
	for _, v := range a.Set {
		d.rack.Do(func() { err = d.rack.Plant().Set(name, v.Name, v.Value) })
		if err != nil && len(done) > 0 {
			err = fmt.Errorf("%w; set before that: %s", err, strings.Join(done, " "))
		}
		if err != nil {
			return "", err
		}
		done = append(done, v.Name+"="+v.Value)
	}
	return name + ": " + strings.Join(done, " "), nil
}

// rackPlug takes a module out of its shelf, or puts it back.
func (d *Daemon) rackPlug(a RackArgs) (string, error) {
	s, x, err := d.device(a.Name)
	if err != nil {
		return "", err
	}
	name := s.Name + "/" + x.Name
	if a.Action == "plug" {
		d.rack.Do(func() { err = d.rack.Plug(name) })
		return name + " is plugged in", err
	}
	d.rack.Do(func() { err = d.rack.Unplug(name) })
	return name + " is unplugged", err
}

// rackFault makes a segment sick.
func (d *Daemon) rackFault(a RackArgs) (string, error) {
	s, err := d.segment(a.Name)
	if err != nil {
		return "", err
	}
	if a.Fault == nil {
		return "", fmt.Errorf("fault: which? use one of %s", strings.Join(bus.FaultKinds(), ", "))
	}
	kind, ok := bus.FaultKindOf(a.Fault.Kind)
	if !ok {
		return "", fmt.Errorf("there is no fault %q of a segment; use one of %s", a.Fault.Kind, strings.Join(bus.FaultKinds(), ", "))
	}
	f := bus.Fault{Kind: kind, Prob: a.Fault.Share, Delay: simTime(a.Fault.Delay), Burst: simTime(a.Fault.Burst), Every: simTime(a.Fault.Every)}
	if kind == bus.Noise {
		f.Prob = 0
	}
	if a.Fault.Slave != "" {
		on, x, err := d.device(a.Fault.Slave)
		if err != nil {
			return "", err
		}
		if d.spec().Rack.Segments[on.Segment].Name != s.Name {
			return "", fmt.Errorf("%s is on segment %s, not on %s", a.Fault.Slave, d.spec().Rack.Segments[on.Segment].Name, s.Name)
		}
		f.Station = on.Name + "/" + x.Name
	}
	d.rack.Do(func() {
		g := d.rack.Segment(s.Name)
		if a.Fault.For > 0 {
			f.Until = g.Now() + simTime(a.Fault.For)
		}
		_, err = g.Inject(f)
	})
	if err != nil {
		return "", err
	}
	done := fmt.Sprintf("segment %s: %s", s.Name, faultText(&f))
	if a.Fault.For > 0 {
		done += fmt.Sprintf(", for %v", a.Fault.For)
	}
	return done, nil
}

func simTime(d time.Duration) sim.Time { return simDuration(d.Nanoseconds()) }

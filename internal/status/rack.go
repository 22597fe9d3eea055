package status

import (
	"fmt"
	"io"
	"strings"
)

// Rack is what stands around the nodes: segments, shelves, a BMC.
type Rack struct {
	Segments []RackSegment `json:"segments"`
	Shelves  []RackShelf   `json:"shelves"`
	Loads    []RackLoad    `json:"loads"` // what nodes draw
	BMC      *RackBMC      `json:"bmc,omitempty"`
	Alerts   []string      `json:"alerts"` // what a user should know: busbars that are down, devices that are unplugged
}

// RackSegment is an RS-485 segment.
type RackSegment struct {
	Name         string            `json:"name"`
	Line         string            `json:"line"` // until a client sets its own: "19200 8E1"
	TTY          string            `json:"tty"`
	Socket       string            `json:"socket"`
	TurnaroundMS float64           `json:"turnaround_ms"`
	Echo         bool              `json:"echo,omitempty"`
	Slaves       int               `json:"slaves"`
	Counters     map[string]uint64 `json:"counters"` // only those above zero
	Faults       []string          `json:"faults"`   // injected and still active
	Clients      []RackClient      `json:"clients"`  // the terminal, and connections of the socket
	Masters      []RackMaster      `json:"masters"`  // what the wire saw of them, and of the BMC's ports
}

// RackMaster is what a segment counts of one master, zeros left out. What a
// client that checks CRCs reports as errors is the sum of bad_requests,
// unanswered and bad_replies.
type RackMaster struct {
	Name     string            `json:"name"` // that of its client
	Counters map[string]uint64 `json:"counters"`
}

// RackClient is a program on a segment, or a terminal that waits for one.
type RackClient struct {
	Name     string `json:"name"`     // "tty", "socket1"
	Open     bool   `json:"open"`     // a program has it open
	Line     string `json:"line"`     // as the program has set it
	Opened   uint64 `json:"opened"`   // how often
	TxBytes  uint64 `json:"tx_bytes"` // from the program to the wire
	RxBytes  uint64 `json:"rx_bytes"`
	Overruns uint64 `json:"overruns"` // bytes that the program did not read in time
	Errors   uint64 `json:"errors"`   // characters with parity or framing errors
}

// RackShelf is a shelf. What it is not is zero: only a PSU shelf has AC, only a
// BBU shelf a charge.
type RackShelf struct {
	Name    string       `json:"name"`
	Kind    string       `json:"kind"`
	Segment string       `json:"segment"`
	Line    string       `json:"line"`
	Feeds   []string     `json:"feeds,omitempty"`
	Backs   string       `json:"backs,omitempty"`
	Slaves  []RackDevice `json:"slaves"`

	State    string   `json:"state"` // "on", "on battery", "down", "charging", "discharging", ...
	InputW   float64  `json:"input_watts"`
	OutputW  float64  `json:"output_watts"`
	BusbarV  float64  `json:"busbar_volts,omitempty"`
	Charge   *float64 `json:"state_of_charge,omitempty"` // 0 to 1
	RuntimeS float64  `json:"runtime_seconds,omitempty"` // until empty, while it discharges
}

// RackDevice is a slave on a segment. Registers and what is below them are there
// only where one device was asked for.
type RackDevice struct {
	Name    string   `json:"name"` // "shelf1/psu3"
	Kind    string   `json:"kind,omitempty"`
	Profile string   `json:"profile,omitempty"`
	Segment string   `json:"segment,omitempty"`
	Line    string   `json:"line,omitempty"`
	Address int      `json:"address"`
	Plugged bool     `json:"plugged"`
	State   string   `json:"state"`
	OutputW float64  `json:"output_watts"`     // of a battery negative while it charges
	Alarms  []string `json:"alarms,omitempty"` // flags of its alarm registers that are set

	CanFail   []string       `json:"can_fail,omitempty"` // faults that cnuas rack set knows besides the flags
	Registers []RackRegister `json:"registers,omitempty"`
	Events    []string       `json:"events,omitempty"` // of its black box, the oldest first
}

// RackRegister is a holding register of one or more words.
type RackRegister struct {
	Address int      `json:"address"`
	Words   int      `json:"words"`
	Name    string   `json:"name"`
	Raw     []uint16 `json:"raw"`
	Value   string   `json:"value"`           // with its unit
	Flags   []string `json:"flags,omitempty"` // set bits by name
	Held    bool     `json:"held,omitempty"`  // set by hand or written: the model does not show
}

// RackLoad is what a node draws.
type RackLoad struct {
	Node    string   `json:"node"`
	Watts   float64  `json:"watts"`
	Compute float64  `json:"compute_watts,omitempty"` // of them, set by cnuas rack load
	Shelves []string `json:"shelves"`                 // that feed it
}

// RackBMC is the guest that manages the rack.
type RackBMC struct {
	Name    string   `json:"name"`
	Image   string   `json:"image"` // "": the stand-in
	Machine string   `json:"machine"`
	Address string   `json:"address"`
	Ports   []string `json:"ports"` // segments; "" is an open port
	State   string   `json:"state"` // "off", "up"
}

// RackExtent says how large a rack is: "4 shelves, 24 slaves on 2 segments".
func RackExtent(shelves, slaves, segments int) string {
	s := fmt.Sprintf("%d shelves", shelves)
	if shelves == 1 {
		s = "1 shelf"
	}
	return s + ", " + count(slaves, "slave", "s") + " on " + count(segments, "segment", "s")
}

// Print writes the rack for a terminal.
func (r *Rack) Print(w io.Writer) {
	t := table(w)
	fmt.Fprintln(t, "SEGMENT\tLINE\tSLAVES\tTTY\tCLIENTS\tCOUNTERS")
	for _, s := range r.Segments {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", s.Name, s.Line, s.Slaves, s.TTY, s.clients(), reasons(s.Counters))
	}
	t.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(t, "SHELF\tKIND\tSEGMENT\tLINE\tSLAVES\tFOR\tSTATE\tIN W\tOUT W\tBUSBAR V\tCHARGE")
	for i := range r.Shelves {
		s := &r.Shelves[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, s.Segment, s.Line, s.addresses(), s.purpose(), s.State,
			figure(s.InputW, "%.0f"), figure(s.OutputW, "%.0f"), figure(s.BusbarV, "%.2f"), s.charge())
	}
	t.Flush()
	fmt.Fprintln(w)
	r.printLoads(w)
	if b := r.BMC; b != nil {
		fmt.Fprintf(w, "bmc: %s, %s at %s", b.Name, b.Machine, b.Address)
		if b.State != "" {
			fmt.Fprintf(w, ", %s", b.State)
		}
		fmt.Fprintln(w)
	}
	for _, s := range r.Segments {
		for _, x := range s.Faults {
			fmt.Fprintf(w, "fault: %s: %s\n", s.Name, x)
		}
	}
	for _, x := range r.Alerts {
		fmt.Fprintf(w, "alert: %s\n", x)
	}
}

func (r *Rack) printLoads(w io.Writer) {
	if len(r.Loads) == 0 {
		return
	}
	t := table(w)
	fmt.Fprintln(t, "NODE\tWATTS\tFED BY")
	for _, l := range r.Loads {
		by := strings.Join(l.Shelves, ", ")
		if by == "" {
			by = "-"
		}
		fmt.Fprintf(t, "%s\t%.0f\t%s\n", l.Node, l.Watts, by)
	}
	t.Flush()
	fmt.Fprintln(w)
}

// clients are those that have the segment open now.
func (s *RackSegment) clients() string {
	var l []string
	for _, c := range s.Clients {
		if c.Open {
			l = append(l, c.Name+" at "+c.Line)
		}
	}
	if len(l) == 0 {
		return "-"
	}
	return strings.Join(l, ", ")
}

// addresses lists those of the slaves: "144-149, 32".
func (s *RackShelf) addresses() string {
	var l []string
	for i := 0; i < len(s.Slaves); {
		j := i
		for j+1 < len(s.Slaves) && s.Slaves[j+1].Address == s.Slaves[j].Address+1 {
			j++
		}
		x := fmt.Sprint(s.Slaves[i].Address)
		if j > i {
			x += fmt.Sprintf("-%d", s.Slaves[j].Address)
		}
		l = append(l, x)
		i = j + 1
	}
	return strings.Join(l, ", ")
}

func (s *RackShelf) purpose() string {
	switch {
	case s.Backs != "":
		return "backs " + s.Backs
	case len(s.Feeds) > 4:
		return fmt.Sprintf("feeds %d nodes", len(s.Feeds))
	case len(s.Feeds) > 0:
		return "feeds " + strings.Join(s.Feeds, ", ")
	}
	return "-"
}

func (s *RackShelf) charge() string {
	if s.Charge == nil {
		return "-"
	}
	c := fmt.Sprintf("%.0f%%", 100**s.Charge)
	if s.RuntimeS > 0 {
		c += fmt.Sprintf(", %.0f s left", s.RuntimeS)
	}
	return c
}

func figure(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// printRack is the rack in the status of a fabric: a line a shelf.
func (f *Fabric) printRack(w io.Writer) {
	r := f.Rack
	if r == nil {
		return
	}
	t := table(w)
	fmt.Fprintln(t, "SHELF\tKIND\tSEGMENT\tSLAVES\tFOR\tSTATE\tIN W\tOUT W\tCHARGE")
	for i := range r.Shelves {
		s := &r.Shelves[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, s.Segment, s.addresses(), s.purpose(), s.State,
			figure(s.InputW, "%.0f"), figure(s.OutputW, "%.0f"), s.charge())
	}
	t.Flush()
	fmt.Fprintln(w)
	for _, x := range r.Alerts {
		fmt.Fprintf(w, "alert: %s\n", x)
	}
	if len(r.Alerts) > 0 {
		fmt.Fprintln(w)
	}
}

// Print writes a device and its registers for a terminal.
func (d *RackDevice) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s", d.Name, d.Kind)
	if d.Profile != "" {
		fmt.Fprintf(w, " (%s)", d.Profile)
	}
	fmt.Fprintf(w, ", address %d (0x%02X) on %s at %s", d.Address, d.Address, d.Segment, d.Line)
	fmt.Fprintln(w)
	fmt.Fprintf(w, "state: %s, output %.0f W\n", d.State, d.OutputW)
	if len(d.Alarms) > 0 {
		fmt.Fprintf(w, "alarms: %s\n", strings.Join(d.Alarms, ", "))
	}
	if len(d.CanFail) > 0 {
		fmt.Fprintf(w, "can fail by: %s\n", strings.Join(d.CanFail, ", "))
	}
	fmt.Fprintln(w)
	t := table(w)
	fmt.Fprintln(t, "REGISTER\tNAME\tVALUE\tRAW")
	for _, r := range d.Registers {
		raw := []string{}
		for _, v := range r.Raw {
			raw = append(raw, fmt.Sprintf("%04X", v))
		}
		if len(raw) > 4 {
			raw = append(raw[:3], "...")
		}
		held := ""
		if r.Held {
			held = " (held)"
		}
		fmt.Fprintf(t, "%d\t%s\t%s%s\t%s\n", r.Address, r.Name, r.Value, held, strings.Join(raw, " "))
	}
	t.Flush()
	for _, e := range d.Events {
		fmt.Fprintf(w, "event: %s\n", e)
	}
}

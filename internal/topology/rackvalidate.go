package topology

import (
	"fmt"

	"cnuas/modbus/rtu"
)

// rack checks the invariants of a rack: indexes that lead somewhere, names that
// are unique, lines and addresses in range.
func (v *validator) rack() {
	r := v.s.Rack
	for i := range v.s.Nodes {
		if p := v.s.Nodes[i].Power; (p != nil) != (r != nil) || p != nil && !(p.Idle >= 0 && p.Peak >= p.Idle && p.Peak <= maxPower) {
			v.fail("%s: power %v", v.s.Nodes[i].Name, p)
		}
	}
	if r == nil {
		return
	}
	names := map[string]bool{}
	for _, s := range r.Segments {
		if checkName(s.Name) != nil || names[s.Name] || s.Turnaround < 0 || s.Turnaround > MaxDelay {
			v.fail("segment %q: bad or double name, or turnaround %v", s.Name, s.Turnaround)
		}
		names[s.Name] = true
		v.line(s.Line, "segment "+s.Name)
	}
	if len(r.Segments) == 0 {
		v.fail("the rack has no segment")
	}
	shelves := map[string]bool{}
	at := map[string]string{}
	for i := range r.Shelves {
		s := &r.Shelves[i]
		if checkName(s.Name) != nil || shelves[s.Name] || shelfKindOf(s.Kind) == nil {
			v.fail("shelf %q: bad or double name, or kind %q", s.Name, s.Kind)
		}
		shelves[s.Name] = true
		v.line(s.Line, "shelf "+s.Name)
		if s.Segment < 0 || s.Segment >= len(r.Segments) || s.Backs < -1 || s.Backs >= len(r.Shelves) || s.Backs == i {
			v.fail("shelf %s: segment %d, backs %d", s.Name, s.Segment, s.Backs)
			continue
		}
		for _, n := range s.Feeds {
			if n < 0 || n >= len(v.s.Nodes) {
				v.fail("shelf %s feeds node %d", s.Name, n)
			}
		}
		last := 0
		for _, d := range s.Devices() {
			where := fmt.Sprintf("segment %d, address %d, %v", s.Segment, d.Address, s.Line)
			if o := at[where]; o != "" || d.Address == 0 || d.Name == "" {
				v.fail("%s/%s has no address or that of %q", s.Name, d.Name, o)
			}
			at[where] = s.Name + "/" + d.Name
			if d != s.PMM && d.Number <= last {
				v.fail("shelf %s: slots do not ascend", s.Name)
			}
			last = max(last, d.Number)
		}
	}
	if m := r.BMC; m != nil {
		v.name(m.Name)
		v.mac(m.MAC, m.Name)
		ok := m.Machine != "" && len(m.Ports) >= portsPerBridge && len(m.Ports)%portsPerBridge == 0 && len(m.Ports) <= 3*portsPerBridge
		for _, p := range m.Ports {
			ok = ok && p >= -1 && p < len(r.Segments)
		}
		if !ok || v.s.Management == nil || m.Addr.Masked() != v.s.Management.Prefix {
			v.fail("BMC %s: machine %q, ports %v, address %v", m.Name, m.Machine, m.Ports, m.Addr)
		}
	}
}

func (v *validator) line(l rtu.Line, who string) {
	if l.Baud < 50 || l.Baud > 4_000_000 || l.Data < 7 || l.Data > 8 || l.Parity > rtu.Even || l.Stop < 1 || l.Stop > 2 {
		v.fail("%s: line %v", who, l)
	}
}

// Devices are the modules of the shelf in the order of its slots, and its PMM
// behind them.
func (s *RackShelf) Devices() []*RackSlot {
	var l []*RackSlot
	for i := range s.Slots {
		l = append(l, &s.Slots[i])
	}
	if s.PMM != nil {
		l = append(l, s.PMM)
	}
	return l
}

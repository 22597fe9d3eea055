package sm

import (
	"fmt"

	"cnuas/internal/wire"
	"cnuas/sm/route"
)

// Routing sums up the forwarding tables of the last complete sweep.
type Routing struct {
	Wanted    string // the engine of Config
	Engine    string // that made the tables; "" if none did
	Fallback  string // why it is not the one that was wanted; "" if it is
	Warnings  []string
	VLs       int      // virtual lanes that the engine needs for its service levels
	TopLID    wire.LID // LinearFDBTop
	MaxLID    wire.LID
	Blocks    int // of linear forwarding tables, in all switches
	Stale     int // of them: not acknowledged
	Unreached int // pairs of a switch with ends and an end's LID without a route, though links join them
	Groups    int // multicast LIDs
	MFTBlocks int // of multicast forwarding tables, in all switches
}

func (m *Manager) routing() Routing {
	r := Routing{Wanted: string(m.cfg.Engine), Groups: len(m.groups)}
	s := m.sub
	if s == nil {
		return r
	}
	r.Fallback, r.MaxLID = s.fallback, s.MaxLID
	if t := s.tables; t != nil {
		r.Engine, r.VLs, r.TopLID, r.Unreached = string(t.Engine), t.VLs, wire.LID(t.TopLID), t.Unreached
		r.Warnings = append(r.Warnings, t.Warnings...)
	}
	for _, n := range s.switches {
		r.Blocks += len(n.Switch.valid)
		for _, ok := range n.Switch.valid {
			if !ok {
				r.Stale++
			}
		}
		r.MFTBlocks += len(n.Switch.mft)
	}
	return r
}

// Verification is what following every path of the tables finds.
type Verification struct {
	Paths      int    // pairs of a switch and a LID with a path that ends where it should
	Broken     int    // pairs with a path that does not
	Unreached  int    // pairs of end ports' switches without one, though links join them
	Apart      int    // the same, where one side is a switch: up and down paths leave them out
	Longer     int    // paths that are not minimal
	MaxHops    int    // links between switches on the longest path
	Faults     int    // the first wrong entries that Text names
	CreditLoop string // "" if packets between end ports cannot wait for each other in a circle
	Text       []string
}

// OK tells that every end port reaches every other that links join it with, and
// that there is no credit loop.
func (v *Verification) OK() bool { return v.Broken == 0 && v.Unreached == 0 && v.CreditLoop == "" }

// Verify follows every path of the tables that the sweep computed. It takes as
// long as computing them, once for each sweep. Without tables there is nothing
// to find.
func (s *Subnet) Verify() *Verification {
	if s == nil || s.tables == nil {
		return &Verification{}
	}
	if s.verified != nil {
		return s.verified
	}
	v := &Verification{}
	s.verified = v
	r, err := route.Check(s.fabric, s.tables)
	if err != nil {
		v.Broken, v.Text = 1, append(v.Text, err.Error())
		return v
	}
	v.Paths, v.Broken, v.Unreached, v.Apart, v.Longer, v.MaxHops, v.Faults = r.Paths, r.Broken, r.Unreached, r.Apart, r.Longer, r.MaxHops, len(r.Faults)
	for _, f := range r.Faults {
		v.Text = append(v.Text, fmt.Sprintf("%v: LID %d by port %d leads astray", s.switches[f.Switch].Info.NodeGUID, f.LID, f.Port))
	}
	lane, loop, err := route.CreditLoop(s.fabric, s.tables, route.EndPairs)
	if err == nil && loop != nil {
		v.CreditLoop = fmt.Sprintf("lane %d:", lane)
		for _, c := range loop {
			v.CreditLoop += fmt.Sprintf(" %v/%d", s.switches[c.Switch].Info.NodeGUID, c.Port)
		}
	}
	return v
}

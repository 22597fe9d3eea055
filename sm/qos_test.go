package sm_test

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/route"
	"cnuas/sm/smtest"
)

// ring is six switches in a circle with a host each: minimal paths make a
// credit loop on one lane.
func ring(vls mad.VLs) *smtest.Fabric {
	f, pr := smtest.New(sim.NewEngine(1)), smtest.EDR()
	pr.VLs = vls
	for i := range 6 {
		s := f.Add(mad.NodeSwitch, fmt.Sprintf("s%d", i+1), wire.GUID(0x200000+0x100*i), 4, &pr)
		h := f.Add(mad.NodeCA, fmt.Sprintf("h%d", i+1), wire.GUID(0x100000+0x100*i), 1, &pr)
		f.Plug(h.Ports[1], s.Ports[1])
	}
	for i := range 6 {
		f.Plug(f.Node(fmt.Sprintf("s%d", i+1)).Ports[2], f.Node(fmt.Sprintf("s%d", (i+1)%6+1)).Ports[3])
	}
	return f
}

// TestLanes: dfsssp breaks the loop of a ring by service levels, every port
// maps them to lanes of their own, and paths are asked for with them.
func TestLanes(t *testing.T) {
	f := ring(mad.VL0to3)
	m := up(t, f, "h1", sm.Config{Engine: route.EngineDFSSSP, QoS: sm.DefaultQoS(), Strict: true})
	s := m.Subnet()
	if v := s.Verify(); !v.OK() || s.Tables().VLs < 2 || v.Longer != 0 {
		t.Fatalf("%d lanes, %v", s.Tables().VLs, v.Lines())
	}
	levels := map[uint8]bool{}
	s.EndPorts(func(a *sm.Port) {
		s.EndPorts(func(b *sm.Port) { levels[s.SL(a, b.LID)] = true })
	})
	if len(levels) != s.Tables().VLs || !levels[0] {
		t.Errorf("levels %v, %d lanes", levels, s.Tables().VLs)
	}
	for _, n := range f.Nodes {
		for i, v := range n.SL2VL {
			for sl := range levels {
				if v.VL[sl] != sl && n.Type == mad.NodeSwitch && n.Ports[i&0xff].Peer != nil {
					t.Errorf("%s %#x: SL %d has lane %d", n.Name, i, sl, v.VL[sl])
				}
			}
		}
	}
	// On one lane the ring has a loop, which Verify finds; without QoS the lanes
	// are not there, which is said.
	f = ring(mad.VL0to3)
	m = up(t, f, "h1", sm.Config{Engine: route.EngineMinHop})
	if v := m.Subnet().Verify(); v.CreditLoop == "" || v.OK() || !strings.Contains(strings.Join(v.Lines(), "\n"), "paths: NOT OK") {
		t.Errorf("minhop on a ring: %v", v.Lines())
	}
	f = ring(mad.VL0to3)
	m = up(t, f, "h1", sm.Config{Engine: route.EngineDFSSSP})
	if !strings.Contains(notes(m), "and QoS is off") {
		t.Errorf("without QoS: %q", notes(m))
	}
	// With a lane only dfsssp refuses, and the reason is told.
	f = ring(mad.VL0)
	m = up(t, f, "h1", sm.Config{Engine: route.EngineDFSSSP, QoS: sm.DefaultQoS()})
	if r := m.Status().Routing; r.Engine != "minhop" || !strings.Contains(r.Fallback, "not enough virtual lanes") {
		t.Errorf("one lane: %+v", r)
	}
	reach(t, f)
}

// TestVLArb: tables longer than a block, tables longer than a port has, lanes
// that a link has not, the limit of the high table, and a mapping of one's own.
func TestVLArb(t *testing.T) {
	q := &sm.QoS{HighLimit: 7, SL2VL: []uint8{3, 2, 1, 0, 9}}
	for i := range 64 {
		q.Low = append(q.Low, mad.VLArbEntry{VL: uint8(i % 4), Weight: uint8(i + 1)})
	}
	q.High = []mad.VLArbEntry{{VL: 0, Weight: 100}, {VL: 14, Weight: 9}}
	for _, capacity := range []uint8{8, 64} {
		f, pr := smtest.New(sim.NewEngine(1)), smtest.EDR()
		pr.VLs, pr.VLArbCap = mad.VL0to3, capacity
		s := f.Add(mad.NodeSwitch, "s", 0x200000, 4, &pr)
		for i, n := range []string{"a", "b"} {
			f.Plug(f.Add(mad.NodeCA, n, wire.GUID(0x100000+0x10*i), 1, &pr).Ports[1], s.Ports[i+1])
		}
		m := up(t, f, "a", sm.Config{QoS: q})
		for _, p := range []*smtest.Port{s.Ports[1], f.Node("b").Ports[1]} {
			low, second, high := p.VLArb[mad.VLArbLowFirst].Entry, p.VLArb[mad.VLArbLowSecond].Entry, p.VLArb[mad.VLArbHighFirst].Entry
			if low[7] != q.Low[7] || (low[8] == q.Low[8]) != (capacity == 64) || (second[31] == q.Low[63]) != (capacity == 64) {
				t.Errorf("%d entries, %s: low table %v %v", capacity, p.Node.Name, low, second)
			}
			if high[0] != q.High[0] || high[1] != (mad.VLArbEntry{}) || p.Info.VLHighLimit != 7 {
				t.Errorf("%d entries, %s: high table %v, limit %d", capacity, p.Node.Name, high[:2], p.Info.VLHighLimit)
			}
		}
		if v := s.SL2VL[1<<8|2]; v.VL != [16]uint8{3, 2, 1, 0, 1, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3} {
			t.Errorf("SL2VL %v", v.VL)
		}
		if e := m.Status().Errors; len(e) > 0 {
			t.Errorf("%v", e)
		}
	}
}

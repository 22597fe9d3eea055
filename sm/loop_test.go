package sm_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/route"
	"cnuas/sm/smtest"
)

// TestLoopbackCables: a cable between two ports of one switch, of one adapter,
// and parallel cables. They come up, and no route goes by a loop.
func TestLoopbackCables(t *testing.T) {
	for _, e := range []route.Engine{route.EngineMinHop, route.EngineUpDown, route.EngineFatTree, route.EngineDFSSSP} {
		f, pr := smtest.FT2x2x8(sim.NewEngine(1)), smtest.IBSim()
		f.Plug(f.Node("L1").Ports[7], f.Node("L1").Ports[8])
		f.Plug(f.Node("S2").Ports[7], f.Node("S2").Ports[8])
		f.Plug(f.Node("S1").Ports[7], f.Node("L2").Ports[7]) // beside the one that is there
		m := up(t, f, "H1", sm.Config{Engine: e})
		reach(t, f)
		if s := m.Status(); s.Stats.SweepErrors > 0 || s.Stats.Nodes != 12 {
			t.Errorf("%s: %d nodes, %v", e, s.Stats.Nodes, s.Errors)
		}
		if v := m.Subnet().Verify(); !v.OK() || v.Longer > 0 {
			t.Errorf("%s: %v", e, v.Lines())
		}
		for _, p := range []*smtest.Port{f.Node("L1").Ports[7], f.Node("L1").Ports[8], f.Node("S2").Ports[8], f.Node("S1").Ports[7]} {
			if p.Info.PortState != mad.PortActive {
				t.Errorf("%s: %s port %d is %v", e, p.Node.Name, p.Num, p.Info.PortState)
			}
		}
		n := f.Node("L1")
		for l, p := range n.LFT {
			if p == 7 || p == 8 {
				t.Errorf("%s: L1 sends LID %d by the loop", e, l)
			}
		}
		d := f.Add(mad.NodeCA, "D", 0x500000, 2, &pr)
		f.Plug(d.Ports[1], d.Ports[2])
		// The manager at an adapter that is joined with itself.
		o := f.Manage(d.Ports[1], sm.Config{})
		o.Start()
		f.Run(2 * sim.Second)
		if o.State() != mad.SMMaster || d.Ports[2].Info.PortState != mad.PortActive || d.Ports[1].Info.LID == d.Ports[2].Info.LID {
			t.Errorf("an adapter joined with itself: %v, %v, LIDs %d and %d, %v", o.State(), d.Ports[2].Info.PortState, d.Ports[1].Info.LID, d.Ports[2].Info.LID, o.Status().Errors)
		}
	}
}

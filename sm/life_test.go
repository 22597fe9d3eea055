package sm_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/route"
	"cnuas/sm/smtest"
)

// TestLIDsKept: LIDs of a previous life are kept, and those of ports that are
// away are not given to others.
func TestLIDsKept(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	f.Node("H3").Ports[1].Info.LID = 77 // what a port has counts if nothing is remembered
	m := up(t, f, "H1", sm.Config{LIDs: []sm.GUIDLID{{GUID: 0x100003, LID: 40}, {GUID: 0x999, LID: 1}, {GUID: 0x100009, LID: 40}, {GUID: 0x200003, LID: 0xc001}}})
	want := map[string]wire.LID{"H2": 40, "H3": 77}
	seen := map[wire.LID]string{}
	for _, n := range f.Nodes {
		p := n.Ports[0]
		if p == nil {
			p = n.Ports[1]
		}
		l := p.Info.LID
		if w := want[n.Name]; w != 0 && l != w || l == 1 || l == 0 || seen[l] != "" {
			t.Errorf("%s has LID %d, as %s", n.Name, l, seen[l])
		}
		seen[l] = n.Name
	}
	kept := m.LIDs()
	g := smtest.FT2x2x8(sim.NewEngine(2))
	up(t, g, "H8", sm.Config{LIDs: kept}) // another manager, at another port
	if lids(f) != lids(g) {
		t.Errorf("LIDs %s\nwere %s", lids(g), lids(f))
	}
	reach(t, g)
}

func TestLMC(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	up(t, f, "H1", sm.Config{LMC: 2})
	for _, n := range f.Nodes {
		if p := n.Ports[1]; n.Type == mad.NodeCA && (p.Info.LMC != 2 || p.Info.LID&3 != 0) {
			t.Errorf("%s: LID %d, LMC %d", n.Name, p.Info.LID, p.Info.LMC)
		} else if n.Type == mad.NodeSwitch && n.Ports[0].Info.LMC != 0 {
			t.Errorf("%s: LMC %d", n.Name, n.Ports[0].Info.LMC)
		}
	}
	reach(t, f)
	for i := range wire.LID(4) {
		if _, err := f.Hops(f.Node("H2").Ports[1], f.Node("H7").Ports[1].Info.LID+i); err != nil {
			t.Error(err)
		}
	}
}

// TestMKey: ports are locked, the manager has the key, another has not.
func TestMKey(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{MKey: 0xabc, MKeyBits: 2, MKeyLease: 60})
	if p := f.Node("H5").Ports[1].Info; p.MKey != 0xabc || p.MKeyProtectBits != 2 || p.MKeyLeasePeriod != 60 {
		t.Errorf("M_Key %#x, %d, %d s", p.MKey, p.MKeyProtectBits, p.MKeyLeasePeriod)
	}
	m.Heavy()
	f.Run(sim.Second)
	if s := m.Status().Stats; s.Timeouts > 0 {
		t.Errorf("%d timeouts with the key", s.Timeouts)
	}
	o := f.Manage(f.Node("H8").Ports[1], sm.Config{Priority: 15, Timeout: 10 * sim.Millisecond})
	o.Start()
	f.Run(sim.Second)
	if o.State() == mad.SMMaster && len(o.Subnet().Nodes) > 1 {
		t.Error("a manager without the key sees the subnet")
	}
	if m.State() != mad.SMMaster {
		t.Errorf("the one with the key is %v", m.State())
	}
	n := 0
	for _, x := range m.Status().TrapCounts {
		if x.Trap == mad.TrapBadMKey {
			n = int(x.Count)
		}
	}
	if n == 0 {
		t.Error("no trap 256 came")
	}
}

// TestTraps: each is answered with TrapRepress, whatever the manager makes of it.
func TestTraps(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{})
	h, before := f.Node("H6"), m.Status().Stats.Heavy
	for _, trap := range []mad.Trap{129, 130, 131, 256, 257, 258, 259} {
		h.Trap(h.Ports[1], trap, &mad.Notice{})
		f.Run(200 * sim.Millisecond)
		if h.TrapsPending() != 0 {
			t.Errorf("trap %v is not repressed", trap)
		}
	}
	s := m.Status()
	if s.Stats.Heavy != before || len(s.TrapCounts) != 7 {
		t.Errorf("%d heavy sweeps, %d kinds of trap", s.Stats.Heavy-before, len(s.TrapCounts))
	}
	h.Trap(h.Ports[1], 144, &mad.Notice{})
	f.Run(200 * sim.Millisecond)
	if m.Status().Stats.Heavy != before+1 || h.TrapsPending() != 0 {
		t.Error("trap 144 does not lead to a heavy sweep")
	}
	// The answer gets lost: the trap comes again and is a repetition.
	f.Drop = func(_ *smtest.Port, d *sm.Datagram) bool { return d.Packet().Method() == mad.MethodTrapRepress }
	h.Trap(h.Ports[1], 130, &mad.Notice{})
	f.Run(350 * sim.Millisecond)
	f.Drop = nil
	f.Run(300 * sim.Millisecond)
	if a := m.Status().Stats; a.TrapsAgain < 2 || h.TrapsPending() != 0 {
		t.Errorf("%d repetitions, %d pending", a.TrapsAgain, h.TrapsPending())
	}
}

func TestReregister(t *testing.T) {
	f := smtest.FatTree(sim.NewEngine(1), 4, smtest.EDR())
	m := up(t, f, "h1", sm.Config{})
	h := f.Node("h9").Ports[1]
	if h.Reregister != 1 {
		t.Errorf("%d ClientReregister after the first sweep", h.Reregister)
	}
	m.Heavy()
	f.Run(sim.Second)
	if h.Reregister != 1 {
		t.Errorf("%d after another sweep", h.Reregister)
	}
	peer := f.Pull(h)
	f.Run(sim.Second)
	f.Plug(h, peer)
	f.Run(sim.Second)
	if h.Reregister != 2 {
		t.Errorf("%d after the link came back", h.Reregister)
	}
}

// TestReregisterAfterReturn: ports that a cable between switches, or the
// manager's own, took away were forgotten, members of groups too. Their own links
// stay Active meanwhile, so nothing but ClientReregister tells them.
func TestReregisterAfterReturn(t *testing.T) {
	for _, c := range []struct {
		name   string
		cables [][2]any
	}{
		{"links of a leaf", [][2]any{{"L2", 5}, {"L2", 6}}},
		{"the manager's port", [][2]any{{"H1", 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := smtest.FT2x2x8(sim.NewEngine(1))
			f.Node("H8").Ports[1].Info.CapabilityMask |= mad.CapClientReregistration
			h := f.Node("H8").Ports[1]
			m := up(t, f, "H1", sm.Config{Sweep: sim.Second})
			if h.Reregister != 1 {
				t.Fatalf("%d ClientReregister after the first sweep", h.Reregister)
			}
			var ends [][2]*smtest.Port
			for _, x := range c.cables {
				p := f.Node(x[0].(string)).Ports[x[1].(int)]
				ends = append(ends, [2]*smtest.Port{p, f.Pull(p)})
			}
			f.Run(5 * sim.Second)
			if m.Subnet().PortByGUID(h.GUID) != nil || h.Info.PortState != mad.PortActive {
				t.Fatal("H8 is to be out of reach with an Active port")
			}
			lost := 0
			f.Drop = func(p *smtest.Port, d *sm.Datagram) bool { // a sweep in which nothing can be set
				drop := d.Packet().Method() == mad.MethodSet && d.Packet().Attr() == mad.AttrPortInfo
				lost += map[bool]int{true: 1}[drop]
				return drop
			}
			for _, e := range ends {
				f.Plug(e[0], e[1])
			}
			f.Run(5 * sim.Second)
			f.Drop = nil
			f.Run(5 * sim.Second)
			reach(t, f)
			if lost == 0 {
				t.Error("no Set of PortInfo was lost")
			}
			if h.Reregister != 2 {
				t.Errorf("%d ClientReregister after the return", h.Reregister)
			}
			m.Heavy()
			f.Run(sim.Second)
			if h.Reregister != 2 {
				t.Errorf("%d after another sweep", h.Reregister)
			}
		})
	}
}

// TestSpec brings up the shipped InfiniBand topologies with every engine.
func TestSpec(t *testing.T) {
	for _, file := range []string{"ib-fat-tree", "ib-two-hosts"} {
		spec, err := topology.Load("../topologies/" + file + ".toml")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []route.Engine{route.EngineMinHop, route.EngineUpDown, route.EngineFatTree, route.EngineDFSSSP} {
			f := smtest.FromSpec(sim.NewEngine(1), spec)
			s := &spec.SMs[0]
			m := up(t, f, spec.Nodes[s.Node].Name, sm.Config{Engine: e, QoS: sm.DefaultQoS()})
			reach(t, f)
			t.Logf("%s %s: %d nodes, %d SMPs, engine %s, errors %v", file, e, m.Status().Stats.Nodes, m.Status().Stats.SMPs, m.Status().Stats.Engine, m.Status().Errors)
		}
	}
}

// TestBackToBack: two hosts and no switch.
func TestBackToBack(t *testing.T) {
	f, pr := smtest.New(sim.NewEngine(1)), smtest.EDR()
	a, b := f.Add(mad.NodeCA, "a", 0x10, 1, &pr), f.Add(mad.NodeCA, "b", 0x20, 1, &pr)
	f.Plug(a.Ports[1], b.Ports[1])
	up(t, f, "a", sm.Config{})
	if a.Ports[1].Info.PortState != mad.PortActive || b.Ports[1].Info.PortState != mad.PortActive || b.Ports[1].Info.LID == 0 {
		t.Errorf("%v, %v, LID %d", a.Ports[1].Info.PortState, b.Ports[1].Info.PortState, b.Ports[1].Info.LID)
	}
	reach(t, f)
}

// TestTwoPorts: an adapter with both ports in the subnet.
func TestTwoPorts(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	pr := smtest.IBSim()
	d := f.Add(mad.NodeCA, "D", 0x500000, 2, &pr)
	f.Plug(d.Ports[1], f.Node("S1").Ports[5])
	f.Plug(d.Ports[2], f.Node("L2").Ports[8])
	m := up(t, f, "H1", sm.Config{})
	reach(t, f)
	for _, p := range d.Ports[1:] {
		if p.Info.LID == 0 || p.Info.PortState != mad.PortActive || m.Subnet().PortByGUID(p.GUID) == nil {
			t.Errorf("port %d: LID %d, %v", p.Num, p.Info.LID, p.Info.PortState)
		}
		if _, err := f.Hops(f.Node("H3").Ports[1], p.Info.LID); err != nil {
			t.Error(err)
		}
	}
	if d.Ports[1].Info.LID == d.Ports[2].Info.LID {
		t.Error("both ports have one LID")
	}
}

// TestStandalone: a manager whose own port does not answer, or has no cable.
func TestStandalone(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	f.Node("H1").Dead = true
	m := f.Manage(f.Node("H1").Ports[1], sm.Config{})
	m.Start()
	f.Run(5 * sim.Second)
	if m.State() == mad.SMMaster {
		t.Error("master of nothing")
	}
	f.Node("H1").Dead = false
	f.Run(5 * sim.Second)
	if m.State() != mad.SMMaster {
		t.Errorf("%v", m.State())
	}
	reach(t, f)
	f = smtest.FT2x2x8(sim.NewEngine(1))
	h := f.Node("H1").Ports[1]
	peer := f.Pull(h)
	m = f.Manage(h, sm.Config{Sweep: sim.Second})
	m.Start()
	f.Run(5 * sim.Second)
	f.Plug(h, peer)
	f.Run(3 * sim.Second)
	reach(t, f)
	if h.Info.PortState != mad.PortActive {
		t.Errorf("port is %v", h.Info.PortState)
	}
}

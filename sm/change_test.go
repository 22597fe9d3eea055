package sm_test

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

func lids(f *smtest.Fabric) string {
	var s strings.Builder
	for _, n := range f.Nodes {
		p := n.Ports[0]
		if p == nil {
			p = n.Ports[1]
		}
		fmt.Fprintf(&s, "%s=%d ", n.Name, p.Info.LID)
	}
	return s.String()
}

// TestSpineCable: trap 128 leads to new routes with the old LIDs, and only
// blocks that changed are sent.
func TestSpineCable(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{})
	before, s := lids(f), m.Status()
	spine := f.Node("S1").Ports[2]
	peer := f.Pull(spine)
	f.Run(sim.Second)
	reach(t, f)
	if now := lids(f); now != before {
		t.Errorf("LIDs %s\nwere %s", now, before)
	}
	a := m.Status()
	if a.Stats.Heavy != s.Stats.Heavy+1 && a.Stats.Heavy != s.Stats.Heavy+2 {
		t.Errorf("%d heavy sweeps after one cable", a.Stats.Heavy-s.Stats.Heavy)
	}
	if a.Stats.Traps == 0 || f.Node("S1").TrapsPending()+f.Node("L2").TrapsPending() > 0 {
		t.Errorf("%d traps came, %d+%d wait for their TrapRepress", a.Stats.Traps, f.Node("S1").TrapsPending(), f.Node("L2").TrapsPending())
	}
	if took := a.Stats.LastUp - a.Stats.LastTrap; took > 10*sim.Millisecond {
		t.Errorf("%v from trap to new routes", took)
	}
	f.Plug(spine, peer)
	f.Run(sim.Second)
	reach(t, f)
	if spine.Info.PortState != mad.PortActive || lids(f) != before {
		t.Errorf("plugged again: port is %v, LIDs %s", spine.Info.PortState, lids(f))
	}
	set := func(m *sm.Manager) uint64 { return counts(m)[mad.AttrLinearForwarding].Set }
	n := set(m)
	m.Heavy()
	f.Run(sim.Second)
	if set(m) != n {
		t.Errorf("a sweep without a change sent %d blocks", set(m)-n)
	}
}

func TestLightSweeps(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	f.TrapTries = 0 // the traps are lost
	m := up(t, f, "H1", sm.Config{Sweep: 10 * sim.Second})
	f.Run(60 * sim.Second)
	s := m.Status().Stats
	if s.Light != 6 || s.Heavy != 1 {
		t.Fatalf("%d light sweeps, %d heavy ones in 61 s", s.Light, s.Heavy)
	}
	f.Pull(f.Node("S2").Ports[1])
	f.Run(11 * sim.Second)
	reach(t, f)
	if s := m.Status().Stats; s.Heavy != 2 {
		t.Errorf("%d heavy sweeps", s.Heavy)
	}
	// A switch that began anew is programmed anew.
	f.Node("S1").Reboot()
	f.Run(11 * sim.Second)
	reach(t, f)
}

func TestHostComesAndGoes(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{})
	h, before := f.Node("H8").Ports[1], f.Node("H8").Ports[1].Info.LID
	f.Pull(h)
	f.Run(sim.Second)
	if m.Subnet().PortByGUID(h.GUID) != nil {
		t.Error("H8 is still there")
	}
	f.Node("H8").Reboot()
	f.Plug(h, f.Node("S1").Ports[7]) // another place
	f.Run(sim.Second)
	if h.Info.LID != before || h.Info.PortState != mad.PortActive {
		t.Errorf("H8 has LID %d, had %d; %v", h.Info.LID, before, h.Info.PortState)
	}
	reach(t, f)
}

// TestMovedCable: a cable that moves while the subnet is swept.
func TestMovedCable(t *testing.T) {
	moved := 0
	for after := 1; after < 430; after += 3 {
		f := smtest.FT2x2x8(sim.NewEngine(1))
		f.TrapTries = 0
		seen := 0
		h := f.Node("H2").Ports[1]
		f.See = func(*smtest.Port, *sm.Datagram) {
			if seen++; seen == after {
				f.Pull(h)
				f.Plug(h, f.Node("L2").Ports[8])
			}
		}
		m := f.Manage(f.Node("H1").Ports[1], sm.Config{Sweep: sim.Second})
		m.Start()
		f.Run(5 * sim.Second)
		for _, e := range m.Status().Errors {
			if strings.Contains(e.Text, "duplicate") {
				t.Errorf("moved after %d datagrams: %s", after, e.Text)
			}
			if strings.Contains(e.Text, "has moved") {
				moved++
			}
		}
		reach(t, f)
	}
	if moved == 0 {
		t.Error("no sweep noticed that a port was in two places")
	}
}

func TestDuplicateGUIDs(t *testing.T) {
	// Two adapters: both routes are named, the rest works.
	f := smtest.FT2x2x8(sim.NewEngine(1))
	twin := func(a, b string) {
		x, y := f.Node(a), f.Node(b)
		x.Info.NodeGUID, x.Info.SystemImageGUID = y.Info.NodeGUID, y.Info.SystemImageGUID
		for i, p := range x.Ports {
			if p != nil {
				p.GUID = y.Ports[i].GUID
			}
		}
	}
	twin("H8", "H2")
	m := up(t, f, "H1", sm.Config{})
	want := "duplicate GUID 0x0000000000100002: port 1 is reached by route 0,1,2 and by route 0,1,5,2,4"
	if !hasError(m, want) {
		t.Errorf("errors %v, want %q", m.Status().Errors, want)
	}
	if l := f.Node("H8").Ports[1].Info.LID; l != 0 {
		t.Errorf("the second has LID %d", l)
	}
	if _, err := f.Hops(f.Node("H7").Ports[1], f.Node("H2").Ports[1].Info.LID); err != nil {
		t.Error(err)
	}
	if m.Status().Stats.Nodes != 11 {
		t.Errorf("%d nodes", m.Status().Stats.Nodes)
	}
	// Two switches.
	f = smtest.FT2x2x8(sim.NewEngine(1))
	twin("S2", "S1")
	m = f.Manage(f.Node("H1").Ports[1], sm.Config{})
	m.Start()
	f.Run(sim.Second)
	found := false
	for _, e := range m.Status().Errors {
		found = found || strings.Contains(e.Text, "duplicate GUID 0x0000000000200002") && strings.Count(e.Text, "route 0,") == 2
	}
	if !found {
		t.Errorf("two switches: errors %v", m.Status().Errors)
	}
	// A switch and an adapter.
	f = smtest.FT2x2x8(sim.NewEngine(1))
	f.Node("H6").Info.NodeGUID = f.Node("S1").Info.NodeGUID
	m = f.Manage(f.Node("H1").Ports[1], sm.Config{})
	m.Start()
	f.Run(sim.Second)
	if !hasError(m, "duplicate GUID 0x0000000000200002: a switch by route 0,1,5 and a CA by route 0,1,5,2,2") {
		t.Errorf("switch and adapter: errors %v", m.Status().Errors)
	}
	// Port GUIDs only.
	f = smtest.FT2x2x8(sim.NewEngine(1))
	f.Node("H6").Ports[1].GUID = f.Node("H3").Ports[1].GUID
	m = f.Manage(f.Node("H1").Ports[1], sm.Config{})
	m.Start()
	f.Run(sim.Second)
	if !hasError(m, "duplicate GUID 0x0000000000100005 of a port: by route 0,1,3 and by route 0,1,5,2,2") {
		t.Errorf("port GUIDs: errors %v", m.Status().Errors)
	}
}

func hasError(m *sm.Manager, text string) bool {
	for _, e := range m.Status().Errors {
		if e.Text == text {
			return true
		}
	}
	return false
}

// TestLoss: with SMPs lost the subnet comes up all the same, later.
func TestLoss(t *testing.T) {
	for _, x := range []struct {
		loss float64
		end  sim.Time
	}{{0.01, 5 * sim.Second}, {0.05, 20 * sim.Second}, {0.1, 60 * sim.Second}, {0.2, 300 * sim.Second}} {
		f := smtest.FT2x2x8(sim.NewEngine(7))
		f.Loss = x.loss
		m := f.Manage(f.Node("H1").Ports[1], sm.Config{})
		m.Start()
		f.Run(x.end)
		for n := 0; n < 30 && (m.Subnet() == nil || m.Status().Stats.SweepErrors > 0 || m.Status().Sweeping != "idle"); n++ {
			f.Run(10 * sim.Second)
		}
		reach(t, f)
		s := m.Status().Stats
		if s.Timeouts == 0 || s.Retries == 0 || m.State() != mad.SMMaster || s.SweepErrors > 0 {
			t.Errorf("loss %v: %+v", x.loss, s)
		}
		t.Logf("loss %v: %d SMPs, %d timeouts, %d given up, %d heavy sweeps, up after %v", x.loss, s.SMPs, s.Timeouts, s.GaveUp, s.Heavy, s.LastUp)
	}
}

// TestLateAnswers: what comes after it was given up, or twice, is dropped and
// counted.
func TestLateAnswers(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	f.AgentDelay = 300 * sim.Millisecond // above the timeout of 200 ms
	m := f.Manage(f.Node("H1").Ports[1], sm.Config{})
	m.Start()
	f.Run(60 * sim.Second)
	s := m.Status().Stats
	if s.Stale == 0 || s.Retries == 0 {
		t.Errorf("%d stale answers, %d repetitions", s.Stale, s.Retries)
	}
	reach(t, f)
}

// TestDeadAgent: a host that does not answer does not stop the others.
func TestDeadAgent(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	f.Node("H3").Dead = true
	m := f.Manage(f.Node("H1").Ports[1], sm.Config{})
	m.Start()
	f.Run(2 * sim.Second)
	if !hasError(m, "route 0,1,3: no usable answer to NodeInfo") || m.Status().Stats.Nodes != 11 {
		t.Errorf("%d nodes, errors %v", m.Status().Stats.Nodes, m.Status().Errors)
	}
	f.Node("H3").Dead = false
	f.Run(5 * sim.Second) // a sweep with errors is followed by another
	reach(t, f)
	if l := f.Node("H3").Ports[1].Info.LID; l == wire.LID(0) {
		t.Error("H3 has no LID")
	}
}

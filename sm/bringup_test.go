package sm_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

// up starts a manager at a node's first port and runs until it is at rest.
func up(t *testing.T, f *smtest.Fabric, name string, cfg sm.Config) *sm.Manager {
	t.Helper()
	m := f.Manage(f.Node(name).Ports[1], cfg)
	m.Start()
	f.Run(sim.Second)
	if m.State() != mad.SMMaster || m.Subnet() == nil {
		t.Fatalf("state %v, phase %s, errors %v", m.State(), m.Status().Sweeping, m.Status().Errors)
	}
	return m
}

// reach checks that every end port reaches every other.
func reach(t *testing.T, f *smtest.Fabric) {
	t.Helper()
	bad := 0
	for _, a := range f.Nodes {
		for _, b := range f.Nodes {
			for _, p := range b.Ports {
				if p == nil || p.Info.LID == 0 || a.Type != mad.NodeCA || p.Node.Type == mad.NodeCA && p.Peer == nil {
					continue
				}
				if _, err := f.Hops(a.Ports[1], p.Info.LID); err != nil && bad < 5 {
					t.Error(err)
					bad++
				}
			}
		}
	}
}

func counts(m *sm.Manager) map[mad.AttrID]sm.AttrCount {
	c := map[mad.AttrID]sm.AttrCount{}
	for _, a := range m.Status().Attributes {
		c[a.Attr] = a
	}
	return c
}

func TestBringUp(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{})
	reach(t, f)
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			if p != nil && p.Peer != nil && p.Info.PortState != mad.PortActive {
				t.Errorf("%s port %d is %v", n.Name, p.Num, p.Info.PortState)
			}
		}
	}
	// What opensm 3.3.23 sends on the same fabric (golden/ib/README.md). Its
	// questions are all asked; some of its Sets are not needed, as LID and
	// settings of a port go in one. The 16 ports without a cable are asked once
	// more when PortStateChange has been cleared.
	c := counts(m)
	for _, x := range []struct {
		attr     mad.AttrID
		get, set uint64
	}{
		{mad.AttrNodeInfo, 14, 0}, {mad.AttrNodeDescription, 12, 0}, {mad.AttrSwitchInfo, 4, 8},
		{mad.AttrPortInfo, 44 + 16, 76}, {mad.AttrPKeyTable, 52, 0}, {mad.AttrLinearForwarding, 0, 4},
	} {
		if got := c[x.attr]; got.Get != x.get || got.Set != x.set {
			t.Errorf("%s: %d Get, %d Set; want %d, %d", got.Name, got.Get, got.Set, x.get, x.set)
		}
	}
	s := m.Status()
	if len(s.Errors) > 0 || s.Stats.Timeouts > 0 || s.Stats.SweepErrors > 0 {
		t.Errorf("%d timeouts, errors %v", s.Stats.Timeouts, s.Errors)
	}
	t.Logf("%d SMPs, up in %v of simulated time", s.Stats.SMPs, s.Stats.LastHeavy)
}

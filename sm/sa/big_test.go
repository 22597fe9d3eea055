package sa_test

import (
	"fmt"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

// TestLargeTables: tables of thousands of segments, asked for by several ports
// at the same time, whole and in the right order.
func TestLargeTables(t *testing.T) {
	l := labOf(t, smtest.FatTree(sim.NewEngine(1), 8, smtest.EDR()), "h1", sm.Config{LMC: 2}) // 80 switches, 128 hosts
	c := l.port("h77").Client()
	nodes, _ := table[mad.NodeRecord](l, c, mad.AttrNodeRecord, 0, nil)
	if len(nodes) != 208 {
		t.Fatalf("%d nodes", len(nodes))
	}
	// Any of a port's LIDs means the port.
	for i := range wire.LID(5) {
		r, st := get(l, c, mad.AttrNodeRecord, comp(&mad.NodeRecord{}, "LID"), &mad.NodeRecord{LID: l.lid("h9") + i})
		if ok := st == 0 && r.LID == l.lid("h9") && r.NodeDescription.String() == "h9"; ok != (i < 4) {
			t.Errorf("LID %d of h9: %v, %s", i, st, r.NodeDescription.String())
		}
	}
	for _, window := range []int{1, 8, 64} {
		c.Window = window
		paths, r := table(l, c, mad.AttrPathRecord, comp(&mad.PathRecord{}, "NumbPath"), &mad.PathRecord{NumbPath: 1})
		if want := 208 * 208; len(paths) != want || r.Segments != (want*64+199)/200 {
			t.Fatalf("window %d: %d paths in %d segments, want %d", window, len(paths), r.Segments, want)
		}
		seen := map[[2]wire.LID]bool{}
		for _, p := range paths {
			seen[[2]wire.LID{p.SLID, p.DLID}] = true
		}
		if len(seen) != len(paths) {
			t.Errorf("window %d: %d different paths of %d", window, len(seen), len(paths))
		}
	}
	if ports, _ := table[mad.PortInfoRecord](l, c, mad.AttrPortInfoRecord, 0, nil); len(ports) != 128+80*9 {
		t.Errorf("%d ports", len(ports))
	}
	l.LossQP1 = 0.02
	for range 3 {
		if lft, r := table[mad.LinearForwardingRecord](l, c, mad.AttrLinearForwardingRecord, 0, nil); len(lft) == 0 || len(lft)%80 != 0 {
			t.Errorf("2 %% lost: %d blocks, %v", len(lft), r.Status)
		}
	}
	l.LossQP1 = 0
	l.Run(10 * sim.Second)
	if s := l.a.Stats(); s.OpenSessions != 0 {
		t.Errorf("%d sessions left", s.OpenSessions)
	}
}

// TestManySubscribers: every host has several subscriptions; each report comes
// once, though a part of the datagrams is lost.
func TestManySubscribers(t *testing.T) {
	l := labOf(t, smtest.FatTree(sim.NewEngine(1), 8, smtest.EDR()), "h1", sm.Config{})
	var cs []*smtest.Client
	for i := range 128 {
		c := l.port(fmt.Sprintf("h%d", i+1)).Client()
		cs = append(cs, c)
		for _, trap := range []mad.Trap{64, 65, 66, 67, 128} {
			w := everything()
			w.TrapNumber = trap
			if r := c.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w); r.Status != 0 || !r.Answered {
				t.Fatalf("h%d: %v", i+1, r.Status)
			}
		}
	}
	if x, _ := table[mad.InformInfoRecord](l, cs[1], mad.AttrInformInfoRecord, 0, nil); len(x) != 640 {
		t.Errorf("%d subscriptions", len(x))
	}
	l.LossQP1 = 0.1
	leaf := l.port("h128").Peer
	l.Pull(l.port("h128"))
	l.Run(5 * sim.Second)
	l.LossQP1 = 0
	s := l.a.Stats()
	if s.Reports != 2*127+1 || s.ReportsLost < 1 || s.ReportsLost > 3 || s.Subscribers != 635 { // 65 and 128, which h128 is also sent in vain
		t.Errorf("%d reports, %d lost, %d subscriptions", s.Reports, s.ReportsLost, s.Subscribers)
	}
	for i, c := range cs[:127] {
		got := map[mad.Trap]bool{}
		for _, r := range c.Reports {
			got[r.TrapNumber] = true
		}
		if len(got) != 2 && s.ReportsLost == 0 {
			t.Errorf("h%d has reports %v", i+1, got)
		}
		c.Reports = nil
	}
	l.Plug(l.port("h128"), leaf)
	l.Run(5 * sim.Second)
	for i, c := range cs[:127] {
		if len(c.Reports) != 2 || len(cs[127].Reports) != 0 {
			t.Errorf("h%d: %d reports that h128 is back", i+1, len(c.Reports))
		}
	}
	// Nobody answers: reports are given up, and the table of them has room again.
	for _, c := range cs {
		c.Mute = true
	}
	for range 20 {
		peer := l.Pull(l.port("h128"))
		l.Run(150 * sim.Millisecond)
		l.Plug(l.port("h128"), peer)
		l.Run(150 * sim.Millisecond)
	}
	l.Run(10 * sim.Second)
	a := l.a.Stats()
	if lost := a.ReportsLost - s.ReportsLost; lost != a.Reports-s.Reports-2*127 || lost < 80*127 {
		t.Errorf("%d reports, %d lost", a.Reports-s.Reports, lost)
	}
}

package sm_test

import (
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/sm"
	"cnuas/sm/route"
	"cnuas/sm/smtest"
)

// TestStatusText: what `cnuas sm status` prints says what there is.
func TestStatusText(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := f.Manage(f.Node("H1").Ports[1], sm.Config{Engine: route.EngineUpDown, Priority: 3})
	s := m.Status()
	before := strings.Join(s.Lines(), "\n")
	for _, w := range []string{"state: NotActive for", "master: not known", "subnet: not up yet", "routing: none, updn is wanted"} {
		if !strings.Contains(before, w) {
			t.Errorf("before the start no %q in\n%s", w, before)
		}
	}
	m.Start()
	f.Run(sim.Second)
	s = m.Status()
	text := strings.Join(s.Lines(), "\n")
	for _, w := range []string{
		"state: Master for ", "priority 3", "master: 0x0000000000100001 at LID 1", "12 nodes, 4 of them switches", "routing: updn\n",
		"tables: top LID 12 of 12, 4 blocks, 0 of them not acknowledged, 1 virtual lanes, 0 pairs without a route", "  NodeInfo: 14 Get, 0 Set",
		"SMPs: ", "traps: 0", "handovers: 0 in, 0 out",
	} {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
	if r := s.Routing; r.Engine != "updn" || r.Blocks != 4 || r.TopLID != 12 || r.Fallback != "" {
		t.Errorf("%+v", r)
	}
	v := m.Subnet().Verify()
	if !v.OK() || v.Paths == 0 || v.Apart == 0 || v.MaxHops != 2 || v.Longer != 0 || m.Subnet().Verify() != v {
		t.Errorf("%+v", v)
	}
	if l := strings.Join(v.Lines(), "\n"); !strings.HasPrefix(l, "paths: ok; ") || !strings.HasSuffix(l, "credit loops: none") {
		t.Error(l)
	}
}

// TestFallback: an engine that refuses is named with its reason, and minhop
// does instead; a strict manager has no tables.
func TestFallback(t *testing.T) {
	ring := func() *smtest.Fabric {
		f := smtest.FT2x2x8(sim.NewEngine(1))
		f.Plug(f.Node("S1").Ports[8], f.Node("S2").Ports[8]) // no tree any more
		return f
	}
	f := ring()
	m := up(t, f, "H1", sm.Config{Engine: route.EngineFatTree})
	s := m.Status()
	if r := s.Routing; r.Engine != "minhop" || r.Wanted != "ftree" || !strings.Contains(r.Fallback, "not a fat tree") {
		t.Errorf("%+v", r)
	}
	if text := strings.Join(s.Lines(), "\n"); !strings.Contains(text, "routing: minhop instead of ftree: not a fat tree") {
		t.Error(text)
	}
	reach(t, f)
	f = ring()
	m = f.Manage(f.Node("H1").Ports[1], sm.Config{Engine: route.EngineFatTree, Strict: true})
	m.Start()
	f.Run(sim.Second)
	s = m.Status()
	if r := s.Routing; r.Engine != "" || r.Fallback == "" || s.Stats.SweepErrors == 0 {
		t.Errorf("strict: %+v", r)
	}
	if v := (*sm.Subnet)(nil).Verify(); !v.OK() {
		t.Errorf("%+v", v)
	}
}

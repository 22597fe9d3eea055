package sm_test

import (
	"runtime"
	"testing"
	"time"

	"cnuas/internal/sim"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

// TestK24 brings up 4176 nodes. opensm on ibsim takes 6.5 s for it, with
// 203906 SMPs.
func TestK24(t *testing.T) {
	for _, smps := range []int{4, 64} {
		f := smtest.FatTree(sim.NewEngine(1), 24, smtest.IBSim())
		begin := time.Now()
		m := f.Manage(f.Node("h1").Ports[1], sm.Config{MaxSMPs: smps})
		m.Start()
		for m.Subnet() == nil && f.Eng.Now() < 100*sim.Second {
			f.Run(10 * sim.Millisecond)
		}
		wall := time.Since(begin)
		s := m.Status()
		if s.Stats.Nodes != 4176 || s.Stats.SweepErrors != 0 {
			t.Fatalf("%d nodes, errors %v", s.Stats.Nodes, s.Errors)
		}
		for _, x := range []string{"h2", "h1728", "h3456"} {
			if _, err := f.Hops(f.Node("h1").Ports[1], f.Node(x).Ports[1].Info.LID); err != nil {
				t.Error(err)
			}
		}
		begin = time.Now()
		m.Heavy()
		for m.Status().Stats.LastUp == s.Stats.LastUp {
			f.Run(10 * sim.Millisecond)
		}
		again := time.Since(begin)
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		t.Logf("%d SMPs outstanding: %d SMPs in %v of simulated time, %.2f s of wall time; again %d SMPs in %v, %.2f s; heap %d MB", smps, s.Stats.SMPs,
			s.Stats.LastHeavy, wall.Seconds(), m.Status().Stats.SMPs-s.Stats.SMPs, m.Status().Stats.LastHeavy, again.Seconds(), mem.HeapAlloc>>20)
		for _, a := range s.Attributes {
			t.Logf("  %-24s %6d Get %6d Set", a.Name, a.Get, a.Set)
		}
	}
}

package fabric

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
)

// TestScaleIB brings a fat tree of three levels up, with real switches and
// adapters. The environment CNUAS_IB_K chooses the ports of a switch:
// scripts/bench/ibscale takes 34, which is 9826 hosts and 1445 switches.
func TestScaleIB(t *testing.T) {
	k := 8
	if v, err := strconv.Atoi(os.Getenv("CNUAS_IB_K")); err == nil {
		k = v
	}
	began := time.Now()
	s, problems := topology.Parse("scale.toml", fmt.Appendf(nil, "name = \"scale\"\n[generate]\ntype = \"ib-fat-tree\"\nk = %d\n[sm]\nengine = \"ftree\"\nsweep = \"0s\"\n", k))
	if s == nil {
		t.Fatal(problems)
	}
	parsed := time.Since(began)
	f := buildIB(t, s, Options{})
	built := time.Since(began) - parsed
	m := f.sms[0].m
	if !until(f, 100*sim.Second, func() bool { return m.Subnet() != nil && m.Status().Sweeping == "idle" }) {
		t.Fatalf("not up:\n%s", strings.Join(f.SMReport(1 << 20)[0].Lines, "\n"))
	}
	up := time.Since(began) - parsed - built
	x := m.Status()
	if want := len(s.Nodes) + len(s.Switches); x.Stats.Nodes != want || x.Stats.SweepErrors != 0 || !isUp(f) {
		t.Errorf("%d of %d nodes, errors %v", x.Stats.Nodes, want, x.Errors)
	}
	last := f.nodes[len(f.nodes)-1].ibs[0]
	for _, i := range []int{0, len(f.nodes) / 2, len(f.nodes) - 2} {
		if _, err := f.walk(f.nodes[i].ibs[0], last.Port().LID()); err != nil {
			t.Error(err)
		}
	}
	if bad := f.Check(); len(bad) != 0 {
		t.Error(bad)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("%d hosts, %d switches, %d links: read in %.1f s, built in %.1f s, up in %.1f s of wall time and %v of simulated time; %d SMPs, %d events; %d MB from the system, %d MB of heap in use",
		len(s.Nodes), len(s.Switches), len(s.Links), parsed.Seconds(), built.Seconds(), up.Seconds(), x.Stats.LastHeavy, x.Stats.SMPs, f.Engine.Fired(), mem.Sys>>20, mem.HeapInuse>>20)
	if mem.Sys > 4<<30 {
		t.Errorf("%d MB of memory, more than 4 GB", mem.Sys>>20)
	}
}

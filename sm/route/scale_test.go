package route

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// TestScale routes 3456 ends at 720 switches with every engine and verifies it.
// Times are printed, not judged: other work shares the machine.
func TestScale(t *testing.T) {
	s := threeLevels(24, 0)
	for _, e := range engines {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		tab, err := Compute(e, s, Options{})
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		r, err := Check(s, tab)
		if err != nil || !r.OK() || r.Longer > 0 || r.MaxHops != 4 || tab.VLs != 1 {
			t.Errorf("%s: %+v, %d lanes, %v", e, r, tab.VLs, err)
		}
		checked := time.Since(start)
		start = time.Now()
		if _, l, err := CreditLoop(s, tab, EndPairs); err != nil || l != nil {
			t.Errorf("%s: loop %v, %v", e, l, err)
		}
		t.Logf("%-6s %6.0f ms, %5.1f MB in %d allocations; Check %.0f ms, CreditLoop %.0f ms; %d pairs of switches apart", e, ms(took),
			float64(after.TotalAlloc-before.TotalAlloc)/1e6, after.Mallocs-before.Mallocs, ms(checked), ms(time.Since(start)), r.Apart)
		if n := after.Mallocs - before.Mallocs; n > 2000 {
			t.Errorf("%s: %d allocations", e, n)
		}
	}
}

// TestScaleMulticast makes a group of all ends and one for each, as IPv6 over
// InfiniBand has, on the same tree.
func TestScaleMulticast(t *testing.T) {
	s := threeLevels(24, 0)
	groups := []Group{{MLID: 0xc000}}
	for i := range s.Ends {
		m := Member{End: int32(i)}
		groups[0].Members = append(groups[0].Members, m)
		groups = append(groups, Group{0xc001 + uint16(i), []Member{m}, []Member{{End: int32(i * 7 % len(s.Ends))}}})
	}
	start := time.Now()
	l, err := Multicast(s, groups)
	if err != nil || len(l) != len(groups) || len(l[0].Lost) > 0 {
		t.Fatal(err)
	}
	t.Logf("%d groups: %.0f ms; the first has %d switches, root %d", len(l), ms(time.Since(start)), len(l[0].Ports), l[0].Root)
	if l[0].Root < 576 || len(l[0].Ports) != 1+24+288 {
		t.Errorf("root %d, %d switches", l[0].Root, len(l[0].Ports))
	}
	if got := flood(t, s, &l[0], groups[0].Members[0]); len(got) != len(s.Ends)-1 {
		t.Errorf("%d ends are reached", len(got))
	}
	delivered(t, s, groups[9], &l[9])
}

// TestScaleLevels: in a large tree with broken links dfsssp needs one level for
// data and several for paths of switches.
func TestScaleLevels(t *testing.T) {
	s := threeLevels(24, 0)
	for i := range 40 {
		s.Cut(i*37%576, 13+i*5%12)
	}
	check := func(s *Subnet, p Pairs, want int) {
		start := time.Now()
		tab, err := DFSSSP(s, Options{Pairs: p})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("pairs %d: %.0f ms, %d levels", p, ms(time.Since(start)), tab.VLs)
		if _, l, err := CreditLoop(s, tab, p); l != nil || err != nil {
			t.Errorf("%v, %v", l, err)
		}
		if tab.VLs > want {
			t.Errorf("%d levels, want %d", tab.VLs, want)
		}
	}
	check(s, EndPairs, 1)
	s = threeLevels(16, 0)
	for i := range 10 {
		s.Cut(i*37%256, 9+i*5%8)
	}
	check(s, PortPairs, 4)
	check(s, AllPairs, 4)
	check(torus(12, 12, 4), EndPairs, 8)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func BenchmarkEngines(b *testing.B) {
	for _, k := range []int{24, 34} { // 4176 and 11271 nodes
		s := threeLevels(k, 0)
		for _, e := range engines {
			b.Run(fmt.Sprintf("k=%d/%s", k, e), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Compute(e, s, Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

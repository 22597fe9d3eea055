package route

import (
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

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func BenchmarkEngines(b *testing.B) {
	s := threeLevels(24, 0)
	for _, e := range engines {
		b.Run(string(e), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compute(e, s, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

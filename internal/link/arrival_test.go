package link

import (
	"fmt"
	"testing"

	"cnuas/internal/sim"
)

// Delivery by the headers keeps the order, a latency is added to both, and the
// rate and the overhead are those that were set.
func TestArrival(t *testing.T) {
	e, a, b, _ := pair(t, Gbps, sim.Microsecond)
	a.p.SetOverhead(2)
	a.p.SetRate(8 * Gbps) // 1 ns a byte
	if b.p.Rate() != 8*Gbps {
		t.Error("the rate is that of both directions")
	}
	b.p.SetArrival(61, 100*sim.Nanosecond)
	for i, n := range []int{1000, 10, 1000} {
		a.q.Push(a.frame(i, n))
	}
	a.p.Kick()
	e.RunUntil(sim.Second)
	if got, want := fmt.Sprint(b.got), "[1.161us:0 2.114us:1 2.175us:2]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// With KeepCorrupt a frame that is hit arrives, and is marked.
func TestKeepCorrupt(t *testing.T) {
	e, a, b, pool := pair(t, Gbps, sim.Microsecond)
	b.p.KeepCorrupt()
	a.p.SetLoss(1)
	a.q.Push(a.frame(1, 100))
	a.p.Kick()
	e.RunUntil(sim.Second)
	if len(b.got) != 1 || a.p.Counters.Corrupted != 1 || a.p.Counters.LossDrops != 0 || b.p.Counters.RxFrames != 1 || pool.Live() != 0 {
		t.Errorf("got %v, %+v", b.got, a.p.Counters)
	}
	if g := pool.Get(); g.Meta.Corrupt {
		t.Error("a frame from the pool is corrupt")
	}
}

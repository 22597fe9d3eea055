package link

import (
	"fmt"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

// station sends what is in its queue and records what arrives.
type station struct {
	e    *sim.Engine
	pool *frame.Pool
	q    frame.FIFO
	got  []string
	p    *Port
	link []bool
}

func (s *station) Receive(_ int, f *frame.Frame) {
	s.got = append(s.got, fmt.Sprintf("%v:%d", s.e.Now(), f.Meta.Tag))
	s.pool.Put(f)
}
func (s *station) Dequeue(int) *frame.Frame   { return s.q.Pop() }
func (s *station) LinkChanged(_ int, up bool) { s.link = append(s.link, up) }
func (s *station) frame(tag, n int) *frame.Frame {
	f := s.pool.Get()
	f.Head(14)
	f.Len, f.Meta.Tag = int32(n), uint64(tag)
	return f
}

func pair(t testing.TB, r Rate, d sim.Time) (*sim.Engine, *station, *station, *frame.Pool) {
	e, pool := sim.NewEngine(1), &frame.Pool{}
	a, b := &station{e: e, pool: pool}, &station{e: e, pool: pool}
	a.p, b.p = NewPort(e, pool, a, 0, "a"), NewPort(e, pool, b, 0, "b")
	if err := Connect(a.p, b.p, Config{Rate: r, Delay: d}); err != nil {
		t.Fatal(err)
	}
	return e, a, b, pool
}

func TestSerialisationAndDelay(t *testing.T) {
	// 1000+20 bytes at 10 Gb/s: 816 ns on the wire, then 500 ns of delay.
	e, a, b, pool := pair(t, 10*Gbps, 500*sim.Nanosecond)
	for i := range 3 {
		a.q.Push(a.frame(i, 1000))
	}
	a.p.Kick()
	e.RunUntil(sim.Second)
	want := "[1.316us:0 2.132us:1 2.948us:2]"
	if got := fmt.Sprint(b.got); got != want {
		t.Errorf("arrivals %s, want %s", got, want)
	}
	if c := a.p.Counters; c.TxFrames != 3 || c.TxBytes != 3000 {
		t.Errorf("counters %+v", c)
	}
	if pool.Live() != 0 {
		t.Errorf("%d frames left", pool.Live())
	}
}

func TestControlGoesFirstAndNothingOvertakes(t *testing.T) {
	e, a, b, _ := pair(t, 1*Gbps, sim.Microsecond)
	for i := range 2 {
		a.q.Push(a.frame(i, 1000))
	}
	a.p.Kick() // frame 0 is on the wire now
	a.p.SendControl(a.frame(9, 64))
	e.RunUntil(sim.Second)
	if got := fmt.Sprint(b.got); got != "[9.160us:0 9.832us:9 17.992us:1]" {
		t.Errorf("order %s", got)
	}
}

func TestLinkDownLosesAndCounts(t *testing.T) {
	e, a, b, pool := pair(t, 10*Gbps, 10*sim.Microsecond)
	for i := range 4 {
		a.q.Push(a.frame(i, 1000))
	}
	a.p.Kick()
	e.RunUntil(2 * sim.Microsecond) // three begun, none arrived
	b.p.SetUp(false)
	e.RunUntil(5 * sim.Microsecond)
	if a.p.Up() || a.p.Counters.DownDrops != 3 || len(b.got) != 0 {
		t.Errorf("up %v drops %d got %v", a.p.Up(), a.p.Counters.DownDrops, b.got)
	}
	a.p.SetUp(true)
	e.RunUntil(sim.Second)
	if got := fmt.Sprint(b.got); got != "[15.816us:3]" {
		t.Errorf("after the link came up: %s", got)
	}
	if fmt.Sprint(a.link, b.link) != "[false true] [false true]" {
		t.Errorf("link changes %v %v", a.link, b.link)
	}
	if pool.Live() != 0 {
		t.Errorf("%d frames left", pool.Live())
	}
}

func TestLossIsCounted(t *testing.T) {
	e, a, b, pool := pair(t, 10*Gbps, 0)
	a.p.SetLoss(0.1)
	for i := range 10000 {
		a.q.Push(a.frame(i, 100))
	}
	a.p.Kick()
	e.RunUntil(sim.Second)
	d := a.p.Counters.LossDrops
	if d < 850 || d > 1150 || int(d)+len(b.got) != 10000 || pool.Live() != 0 {
		t.Errorf("dropped %d, arrived %d, live %d", d, len(b.got), pool.Live())
	}
}

func TestConnectRefuses(t *testing.T) {
	e, pool := sim.NewEngine(1), &frame.Pool{}
	a, b := NewPort(e, pool, nil, 0, "a"), NewPort(e, pool, nil, 0, "b")
	for _, c := range []Config{{0, 0}, {-1, 0}, {Gbps, -1}} {
		if Connect(a, b, c) == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	if Connect(a, a, Config{Gbps, 0}) == nil {
		t.Error("a port was connected to itself")
	}
	if err := Connect(a, b, Config{Gbps, 0}); err != nil {
		t.Error(err)
	}
	if Connect(a, b, Config{Gbps, 0}) == nil {
		t.Error("second link on a port")
	}
}

func TestHopAllocatesNothing(t *testing.T) {
	e, a, b, _ := pair(t, 100*Gbps, 300*sim.Nanosecond)
	b.got = make([]string, 0)
	n := testing.AllocsPerRun(100, func() {
		for i := range 10 {
			a.q.Push(a.frame(i, 1000))
		}
		a.p.Kick()
		e.RunUntil(e.Now() + 10*sim.Microsecond)
		b.got = b.got[:0]
	})
	// The station's record allocates (one string with two arguments per frame);
	// the link must add nothing to it.
	m := testing.AllocsPerRun(100, func() {
		for range 10 {
			f := a.frame(0, 1000)
			b.Receive(0, f)
		}
		b.got = b.got[:0]
	})
	if n > m {
		t.Errorf("%v allocations for 10 frames over a link, the station alone makes %v", n, m)
	}
}

func TestRateString(t *testing.T) {
	for r, want := range map[Rate]string{10 * Gbps: "10Gbps", 2500 * Mbps: "2.5Gbps", 100 * Mbps: "100Mbps", 1: "1bps"} {
		if got := r.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(r), got, want)
		}
	}
}

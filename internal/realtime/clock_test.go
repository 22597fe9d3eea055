package realtime

import (
	"testing"
	"time"

	"cnuas/internal/sim"
)

func newClock(t *testing.T, scale float64) *clock {
	t.Helper()
	cfg := Config{Scale: scale}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	return &clock{scale: cfg.Scale, lim: cfg.Limits}
}

func TestClockFollowsTheWall(t *testing.T) {
	for _, c := range []struct {
		scale float64
		wall  time.Duration
		want  sim.Time
	}{
		{1, 0, 0},
		{1, 1, sim.Nanosecond},
		{1, 67 * time.Millisecond, 67 * sim.Millisecond},
		{1, 100 * 24 * time.Hour, 8640000 * sim.Second},
		{40, 40 * time.Microsecond, sim.Microsecond},
		{40, 1, 25 * sim.Picosecond},
		{0.5, time.Second, 2 * sim.Second},
	} {
		k := newClock(t, c.scale)
		if got := k.at(c.wall); got != c.want {
			t.Errorf("scale %v: clock shows %v after %v, want %v", c.scale, got, c.wall, c.want)
		}
	}
}

// A wait computed by wallOf must not end before the clock shows the time, and
// not a nanosecond later than necessary.
func TestWallOfIsTheInverse(t *testing.T) {
	for _, scale := range []float64{1, 40, 3.7, 0.25, 1e6} {
		k := newClock(t, scale)
		k.origin, k.slip = 12345, 678*sim.Microsecond
		for _, at := range []sim.Time{0, 1, 999, 1000, 1001, 25001, sim.Microsecond + 1, 67 * sim.Millisecond, 3*sim.Second + 7} {
			w := k.wallOf(at)
			if k.at(w) < at {
				t.Errorf("scale %v: at %v the clock shows %v, before %v", scale, w, k.at(w), at)
			}
			if w > 0 && scale >= 1 && k.at(w-1) >= at {
				t.Errorf("scale %v: %v is reached before %v", scale, at, w)
			}
		}
	}
}

// step is one observation: after wall, the earliest event left is lag behind.
type step struct {
	wall time.Duration
	lag  sim.Time
	slip sim.Time // expected of this observation
}

func TestElasticClock(t *testing.T) {
	const us, ms = sim.Microsecond, sim.Millisecond
	const wus = time.Microsecond
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"small lag never slips", []step{{100 * wus, 100 * us, 0}, {5000 * wus, 99 * us, 0}, {50000 * wus, 100 * us, 0}}},
		{"a late wake-up is caught up", []step{
			{2000 * wus, 2 * ms, 0}, {2100 * wus, 1600 * us, 0}, {2500 * wus, 500 * us, 0}, {2900 * wus, 40 * us, 0}}},
		{"catching up slowly is enough", []step{ // 10 % faster than the wall
			{2000 * wus, 2000 * us, 0}, {2500 * wus, 1950 * us, 0}, {3000 * wus, 1900 * us, 0}, {3500 * wus, 1850 * us, 0}, {4000 * wus, 1800 * us, 0}}},
		{"overload slips after the grace", []step{
			{1000 * wus, 110 * us, 0}, {1300 * wus, 250 * us, 0}, {1500 * wus, 350 * us, 0}, {1501 * wus, 351 * us, 331 * us}}},
		{"no progress slips", []step{
			{1000 * wus, 900 * us, 0}, {1400 * wus, 880 * us, 0}, {1501 * wus, 870 * us, 850 * us}}},
		{"progress begins a new grace", []step{
			{1000 * wus, 900 * us, 0}, {1400 * wus, 860 * us, 0}, {1800 * wus, 860 * us, 0}, {1901 * wus, 860 * us, 840 * us}}},
		{"an interrupted stretch begins anew", []step{
			{1000 * wus, 150 * us, 0}, {1400 * wus, 50 * us, 0}, {1600 * wus, 150 * us, 0}, {2000 * wus, 180 * us, 0}, {2101 * wus, 200 * us, 180 * us}}},
	} {
		k := newClock(t, 1)
		total := sim.Time(0)
		for i, s := range c.steps {
			got := k.observe(s.wall, k.at(s.wall)-s.lag)
			if got != s.slip {
				t.Errorf("%s: step %d slips %v, want %v", c.name, i, got, s.slip)
			}
			total += s.slip
		}
		if k.slip != total {
			t.Errorf("%s: slip %v in all, want %v", c.name, k.slip, total)
		}
	}
}

func TestLimitsAreInSimulatedTime(t *testing.T) {
	k := newClock(t, 40)
	// 2 ms of wall time are 50 us of a fabric slowed down 40 times: within Lag.
	at := 2 * time.Millisecond
	if s := k.observe(at, 0); s != 0 || k.behind {
		t.Errorf("slip %v, behind %v for a lag of %v", s, k.behind, k.at(at))
	}
	// Grace is 500 us simulated, 20 ms of wall time.
	k.observe(10*time.Millisecond, 0)
	if s := k.observe(29*time.Millisecond, 0); s != 0 {
		t.Errorf("slipped %v within the grace", s)
	}
	if s := k.observe(31*time.Millisecond, 0); s != 775*sim.Microsecond-20*sim.Microsecond {
		t.Errorf("slipped %v", s)
	}
}

func TestFreeze(t *testing.T) {
	k := newClock(t, 1)
	if s := k.freeze(15*time.Millisecond, 5*sim.Millisecond); s != 0 {
		t.Errorf("a lag of exactly the limit slipped %v", s)
	}
	wall := 5 * time.Second
	if s := k.freeze(wall, 67*sim.Millisecond); s != 4933*sim.Millisecond-20*sim.Microsecond {
		t.Errorf("slipped %v", s)
	}
	if got := k.at(wall); got != 67*sim.Millisecond+20*sim.Microsecond {
		t.Errorf("after the freeze the clock shows %v", got)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		cfg Config
		ok  bool
	}{
		{Config{}, true},
		{Config{Scale: 40}, true},
		{Config{Scale: -1}, false},
		{Config{Scale: 1e7}, false},
		{Config{Limits: Limits{Lag: sim.Microsecond}}, false}, // below Residue
		{Config{Limits: Limits{Lag: sim.Second}}, false},      // above Freeze
	} {
		if err := c.cfg.complete(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}

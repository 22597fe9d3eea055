package realtime

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/sim"
)

// rings is a Work whose doorbell is an eventfd, with one ring: a counter that
// programs increase.
type rings struct {
	fd             int
	posted, taken  atomic.Uint64
	quiet          bool // the doorbell does not ring unless armed
	armed          atomic.Bool
	arms, disarms  atomic.Int32
	drains, sweeps atomic.Int32
	at             chan time.Time
	beforeArm      func()
}

func newRings(t *testing.T) *rings {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) }) // after the loop ended
	return &rings{fd: fd, at: make(chan time.Time, 1000)}
}

func (r *rings) post() {
	r.posted.Add(1)
	if r.armed.Load() {
		unix.Write(r.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

func (r *rings) Sweep() bool {
	r.sweeps.Add(1)
	found := false
	for r.taken.Load() < r.posted.Load() {
		r.taken.Add(1)
		r.at <- time.Now()
		found = true
	}
	return found
}

func (r *rings) Arm() bool {
	if f := r.beforeArm; f != nil {
		r.beforeArm = nil
		f()
	}
	r.arms.Add(1)
	r.armed.Store(true)
	return r.taken.Load() < r.posted.Load()
}

func (r *rings) Disarm()      { r.disarms.Add(1); r.armed.Store(false) }
func (r *rings) FD() int      { return r.fd }
func (r *rings) Drain()       { r.drains.Add(1); var b [8]byte; unix.Read(r.fd, b[:]) }
func (r *rings) WQEs() uint64 { return r.taken.Load() }

func (r *rings) expect(t *testing.T) time.Time {
	t.Helper()
	select {
	case x := <-r.at:
		return x
	case <-time.After(5 * time.Second):
		t.Fatalf("posted work was not found: %d of %d", r.taken.Load(), r.posted.Load())
	}
	return time.Time{}
}

func TestDoorbellWakes(t *testing.T) {
	l := loop(t, sim.NewEngine(1), Config{})
	r := newRings(t)
	if err := l.SetWork(r); err != nil {
		t.Fatal(err)
	}
	run(t, l)
	for range 20 {
		time.Sleep(2 * time.Millisecond) // asleep and armed
		r.post()
		r.expect(t)
	}
	if r.drains.Load() == 0 {
		t.Error("the doorbell was never drained")
	}
	s := l.Mark()
	time.Sleep(50 * time.Millisecond)
	if n := l.Since().Loops; n > 5 {
		t.Errorf("%d turns in 50 ms after the last doorbell (%+v)", n, s)
	}
}

// Work that appears between the last sweep and arming must not be slept over.
func TestNoLostDoorbell(t *testing.T) {
	l := loop(t, sim.NewEngine(1), Config{})
	r := newRings(t)
	r.beforeArm = func() { r.posted.Add(1) } // and the bell does not ring
	l.SetWork(r)
	run(t, l)
	r.expect(t)
}

// Posting at random moments, against a loop that falls asleep in between.
func TestDoorbellsAtRandomMoments(t *testing.T) {
	l := loop(t, sim.NewEngine(1), Config{})
	r := newRings(t)
	l.SetWork(r)
	run(t, l)
	for i := range 2000 {
		r.post()
		r.expect(t)
		for end := time.Now().Add(time.Duration(i%37) * time.Microsecond); time.Now().Before(end); {
		}
	}
}

// A ring that a Do makes valid is looked at although no doorbell rings.
func TestDoSweeps(t *testing.T) {
	l := loop(t, sim.NewEngine(1), Config{})
	r := newRings(t)
	l.SetWork(r)
	run(t, l)
	time.Sleep(10 * time.Millisecond)
	l.Do(func() { r.posted.Add(1) })
	r.expect(t)
}

// A loop that stays busy takes the watch back; one that sleeps after each
// request keeps it.
func TestLazyDisarm(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	r := newRings(t)
	l.SetWork(r)
	run(t, l)
	for range 5 {
		time.Sleep(time.Millisecond)
		r.post()
		r.expect(t)
	}
	time.Sleep(time.Millisecond)
	if n := r.disarms.Load(); n != 0 {
		t.Errorf("disarmed %d times in a ping-pong", n)
	}
	c := &churn{p: e.NewProc(), step: sim.Microsecond}
	l.Do(func() { c.p.At(e.Now(), c, 0, 0) })
	time.Sleep(30 * time.Millisecond)
	if n := r.disarms.Load(); n == 0 {
		t.Error("a loop busy for 30 ms did not take the watch back")
	}
}

// decide is checked alone: spin only after a burst.
func TestAdaptiveSpin(t *testing.T) {
	for _, c := range []struct {
		wqes  uint64
		since time.Duration
		sleep bool
	}{
		{0, 0, true}, {7, 0, true}, {8, 0, false}, {100, 9 * time.Microsecond, false}, {100, 10 * time.Microsecond, true},
	} {
		l := loop(t, sim.NewEngine(1), Config{})
		r := newRings(t)
		l.work, l.wqes = r, r
		r.taken.Store(c.wqes)
		r.posted.Store(c.wqes)
		s := sleeper{l: l, idling: true, idle: time.Second}
		if _, sleep := s.decide(time.Second+c.since, false); sleep != c.sleep {
			t.Errorf("%d requests since the wake, idle for %v: sleep %v", c.wqes, c.since, sleep)
		}
		l.Stop()
	}
}

// The turn is the hot path of a real-time run.
func TestTurnAllocatesNothing(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	defer l.Stop()
	r := newRings(t)
	l.SetWork(r)
	l.AddFlusher(func() {})
	c := &churn{p: e.NewProc(), step: sim.Microsecond}
	c.p.At(0, c, 0, 0)
	s := sleeper{l: l}
	wall := time.Duration(0)
	l.t0 = time.Now()
	n := testing.AllocsPerRun(200, func() {
		wall += 50 * time.Microsecond
		l.mu.Lock()
		busy := l.turn(wall)
		s.decide(wall, busy)
		l.mu.Unlock()
		l.evs = l.poll.wait(l.evs[:0], 0)
	})
	if n != 0 {
		t.Errorf("%v allocations per turn, want 0", n)
	}
}

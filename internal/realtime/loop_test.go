package realtime

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/sim"
)

// run starts l and ends it with the test.
func run(t testing.TB, l *Loop) {
	t.Helper()
	end := make(chan error, 1)
	go func() { end <- l.Run() }()
	t.Cleanup(func() {
		l.Stop()
		select {
		case err := <-end:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("Run did not end after Stop")
		}
	})
}

func loop(t testing.TB, e *sim.Engine, cfg Config) *Loop {
	t.Helper()
	l, err := New(e, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bell is a handler that notes the wall time of its events.
type bell struct {
	rang chan time.Time
	at   sim.Time
}

func (b *bell) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	b.at = now
	b.rang <- time.Now()
}

func TestEventsHappenByTheClock(t *testing.T) {
	for _, scale := range []float64{1, 10} {
		e := sim.NewEngine(1)
		l := loop(t, e, Config{Scale: scale})
		b := &bell{rang: make(chan time.Time, 1)}
		p := e.NewProc()
		run(t, l)
		var t0 time.Time
		var s0 sim.Time
		for range 5 {
			l.Do(func() {
				t0, s0 = time.Now(), e.Now()
				p.At(s0+2*sim.Millisecond, b, 0, 0)
			})
			got := (<-b.rang).Sub(t0)
			want := time.Duration(float64(2*time.Millisecond) * scale)
			if got < want-50*time.Microsecond {
				t.Errorf("scale %v: event %v after Do, before its time %v", scale, got, want)
			}
			if got > want+50*time.Millisecond {
				t.Errorf("scale %v: event %v after Do, want %v", scale, got, want)
			}
			if b.at != s0+2*sim.Millisecond {
				t.Errorf("scale %v: event handled at %v, scheduled for %v", scale, b.at, s0+2*sim.Millisecond)
			}
		}
	}
}

// An idle loop must sleep: neither time nor turns pass.
func TestIdleCostsNothing(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	b := &bell{rang: make(chan time.Time, 1)}
	e.NewProc().At(sim.Second*3600, b, 0, 0) // a timer far away
	run(t, l)
	time.Sleep(20 * time.Millisecond)
	l.Mark()
	time.Sleep(300 * time.Millisecond)
	s := l.Since()
	if s.Loops > 5 || s.Busy() > 0.01 {
		t.Errorf("idle: %d turns, %.2f %% of a core in %v", s.Loops, 100*s.Busy(), s.Wall)
	}
	if s.Engine < 290*sim.Millisecond {
		t.Errorf("idle: simulated time advanced by %v in %v", s.Engine, s.Wall)
	}
}

// Do must see the time that has passed while the engine had nothing to do, and
// an event that it schedules earlier than the sleeper's deadline must wake it.
func TestDoAdvancesAndWakes(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	b := &bell{rang: make(chan time.Time, 1)}
	p := e.NewProc()
	p.At(3600*sim.Second, b, 0, 0)
	var commits, flushes atomic.Int32
	l.SetCommit(func() { commits.Add(1) })
	l.AddFlusher(func() { flushes.Add(1) })
	run(t, l)
	time.Sleep(30 * time.Millisecond)
	c0, f0 := commits.Load(), flushes.Load()
	var now sim.Time
	l.Do(func() { now = e.Now(); p.At(now+100*sim.Microsecond, b, 0, 0) })
	if now < 20*sim.Millisecond {
		t.Errorf("Do sees engine time %v after 30 ms", now)
	}
	if commits.Load() == c0 || flushes.Load() == f0 {
		t.Error("effects of Do were not committed and flushed")
	}
	select {
	case <-b.rang:
	case <-time.After(5 * time.Second):
		t.Fatal("the loop slept over an event that Do scheduled")
	}
}

func TestDoWithoutRun(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	n := 0
	l.Do(func() { n++ })
	end := make(chan error, 1)
	go func() { end <- l.Run() }()
	l.Do(func() { n++ })
	l.Stop()
	if err := <-end; err != nil && err != ErrClosed {
		t.Fatal(err)
	}
	l.Do(func() { n++ })
	if n != 3 {
		t.Fatalf("%d of the functions ran", n)
	}
	if err := l.Run(); err != ErrClosed {
		t.Errorf("second Run: %v", err)
	}
}

type fn func()

func (f fn) HandleEvent(sim.Time, uint32, uint64) { f() }

func TestDoInsideTheEngine(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	done := make(chan bool, 1)
	e.NewProc().At(sim.Millisecond, fn(func() { l.Do(func() { done <- true }); l.Stats() }), 0, 0)
	run(t, l)
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("Do from an event handler deadlocks")
	}
}

// churn keeps an engine busy without end.
type churn struct {
	p    *sim.Proc
	step sim.Time
	cost time.Duration
}

func (c *churn) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	for t := time.Now(); time.Since(t) < c.cost; {
	}
	c.p.At(now+c.step, c, 0, 0)
}

// Calls of Do must get in between the turns of a busy loop, and the loop must
// get its turns between a flood of calls.
func TestDoHasPriorityButDoesNotStarve(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	c := &churn{p: e.NewProc(), step: sim.Microsecond}
	c.p.At(0, c, 0, 0)
	run(t, l)
	time.Sleep(20 * time.Millisecond)

	var worst, sum time.Duration
	const n = 200
	for range n {
		t0 := time.Now()
		l.Do(func() {})
		d := time.Since(t0)
		sum += d
		worst = max(worst, d)
		time.Sleep(100 * time.Microsecond)
	}
	t.Logf("Do against a busy loop: mean %v, worst %v", sum/n, worst)
	if sum/n > 5*time.Millisecond {
		t.Errorf("Do takes %v on average", sum/n)
	}

	l.Mark()
	var stop atomic.Bool
	var wg sync.WaitGroup
	var dos atomic.Int64
	for range 3 {
		wg.Go(func() {
			for !stop.Load() {
				l.Do(func() {})
				dos.Add(1)
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	stop.Store(true)
	wg.Wait()
	s := l.Since()
	t.Logf("flood: %d calls, %d turns, %d events, max lag %v, slip %v", dos.Load(), s.Loops, s.Events, s.MaxLag, s.Slip)
	if s.Events < 1000 || dos.Load() < 100 {
		t.Errorf("flood of Do: %d calls, %d events in %v", dos.Load(), s.Events, s.Wall)
	}
}

// An engine that needs twice the time it has must slip about half of the time
// and say so, while its lag stays bounded.
func TestOverloadSlips(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	c := &churn{p: e.NewProc(), step: 10 * sim.Microsecond, cost: 20 * time.Microsecond}
	c.p.At(0, c, 0, 0)
	run(t, l)
	time.Sleep(300 * time.Millisecond)
	s := l.Stats()
	t.Logf("slip share %.2f, late %.2f, max lag %v, slips %d", s.SlipShare(), s.LateShare(), s.MaxLag, s.Slips)
	if s.SlipShare() < 0.3 || s.Slips == 0 {
		t.Errorf("slip share %.2f in %d slips of an engine loaded to 200 %%", s.SlipShare(), s.Slips)
	}
	// What is missing is the lag of this moment, which is long if the loop's
	// thread has no core just now.
	if wall := sim.Time(s.Wall) * sim.Nanosecond; s.Engine+s.Slip > wall {
		t.Errorf("engine %v and slip %v exceed the wall %v", s.Engine, s.Slip, s.Wall)
	}
}

// A thread that loses its core for 2 ms handles events late, but neither slips
// nor loses time.
func TestLateWakeupIsCaughtUp(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{Limits: Limits{Freeze: sim.Second}})
	c := &churn{p: e.NewProc(), step: 50 * sim.Microsecond}
	c.p.At(0, c, 0, 0)
	run(t, l)
	time.Sleep(50 * time.Millisecond)
	before := l.Mark()
	l.Do(func() { time.Sleep(5 * time.Millisecond) }) // as good as being descheduled
	time.Sleep(30 * time.Millisecond)
	s := l.Since()
	if s.MaxLag < 4*sim.Millisecond || s.Late < 50 {
		t.Errorf("max lag %v, %d late events after a stop of 5 ms", s.MaxLag, s.Late)
	}
	if s.Slip != 0 {
		t.Errorf("slipped %v where the engine could catch up", s.Slip)
	}
	// Events that are due at this moment may wait for the thread's core.
	if want := uint64((s.Engine - s.MaxLag) / c.step); s.Events < want-2 {
		t.Errorf("%d events in %v, want %d", s.Events, s.Engine, want)
	}
	if before.MaxLag == 0 && before.Events > 0 {
		t.Error("no lag at all is not credible")
	}
}

// After a stop longer than Freeze the clock stands where it stood.
func TestFreezeDoesNotBurst(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	c := &churn{p: e.NewProc(), step: 50 * sim.Microsecond}
	c.p.At(0, c, 0, 0)
	run(t, l)
	time.Sleep(20 * time.Millisecond)
	l.Mark()
	l.Do(func() { time.Sleep(100 * time.Millisecond) })
	time.Sleep(5 * time.Millisecond)
	s := l.Since()
	if s.Freezes == 0 || s.Slip < 80*sim.Millisecond {
		t.Errorf("%d freezes, slip %v after a stop of 100 ms", s.Freezes, s.Slip)
	}
	if s.Events > 1000 {
		t.Errorf("%d events in a burst after the freeze", s.Events)
	}
}

// pipe is a Poller that reads one byte at a time.
type pipe struct {
	r, w int
	got  atomic.Int32
	read chan byte
}

func newPipe(t *testing.T) *pipe {
	p := make([]int, 2)
	if err := unix.Pipe2(p, unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(p[0]) })
	return &pipe{r: p[0], w: p[1], read: make(chan byte, 100)}
}

func (p *pipe) Readable() {
	var b [1]byte
	if n, _ := unix.Read(p.r, b[:]); n == 1 {
		p.got.Add(1)
		p.read <- b[0]
	}
}

func (p *pipe) expect(t *testing.T, what string, want bool) {
	t.Helper()
	d := 5 * time.Second
	if !want {
		d = 20 * time.Millisecond
	}
	select {
	case <-p.read:
		if !want {
			t.Errorf("%s: it was told", what)
		}
	case <-time.After(d):
		if want {
			t.Fatalf("%s: it was not told", what)
		}
	}
}

func TestDescriptors(t *testing.T) {
	for _, ppoll := range []bool{false, true} {
		noPwait2.Store(ppoll)
		t.Cleanup(func() { noPwait2.Store(false) })
		e := sim.NewEngine(1)
		l := loop(t, e, Config{})
		a, b := newPipe(t), newPipe(t)
		if err := l.AddFD(a.r, a); err != nil {
			t.Fatal(err)
		}
		run(t, l)
		l.Do(func() {
			if err := l.AddFD(b.r, b); err != nil {
				t.Error(err)
			}
			if l.AddFD(a.r, a) == nil {
				t.Error("a descriptor was added twice")
			}
		})
		unix.Write(a.w, []byte{1, 2})
		a.expect(t, "first byte", true)
		a.expect(t, "second byte, level-triggered", true)

		l.Do(func() { l.EnableFD(b.r, false); l.EnableFD(b.r, false) })
		unix.Write(b.w, []byte{1})
		b.expect(t, "switched off", false)
		l.Do(func() { l.EnableFD(b.r, true) })
		b.expect(t, "switched on again", true)

		l.Do(func() { l.RemoveFD(a.r); l.RemoveFD(a.r); l.EnableFD(a.r, true) })
		unix.Write(a.w, []byte{3})
		a.expect(t, "removed", false)
		// Its slot serves another one.
		c := newPipe(t)
		l.Do(func() { l.AddFD(c.r, c) })
		unix.Write(c.w, []byte{1})
		c.expect(t, "in a used slot", true)

		// A hang-up ends the watching instead of spinning on it.
		unix.Close(c.w)
		time.Sleep(50 * time.Millisecond)
		s := l.Mark()
		time.Sleep(50 * time.Millisecond)
		if n := l.Since().Loops; s.Hangups != 1 || n > 20 {
			t.Errorf("after a hang-up: %d counted, %d turns in 50 ms", s.Hangups, n)
		}
		unix.Close(a.w)
		unix.Close(b.w)
		l.Stop()
	}
}

// An event that epoll reported must not reach a descriptor that another
// Poller removed, or put into its slot, in the same batch.
func TestStaleEvents(t *testing.T) {
	e := sim.NewEngine(1)
	l := loop(t, e, Config{})
	defer l.Stop()
	a, b := newPipe(t), newPipe(t)
	l.AddFD(a.r, a)
	old := event{key: l.key(0)}
	l.RemoveFD(a.r)
	l.dispatch([]event{old})
	unix.Write(b.w, []byte{1})
	l.AddFD(b.r, b)
	l.dispatch([]event{old})
	if n := b.got.Load(); n != 0 {
		t.Error("an event of the slot's former user was delivered")
	}
	l.dispatch([]event{{key: l.key(0)}})
	if n := b.got.Load(); n != 1 {
		t.Error("the present user's event was not delivered")
	}
}

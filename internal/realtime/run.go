package realtime

import (
	"fmt"
	"runtime"
	"time"

	"cnuas/internal/sim"
)

const (
	// near: an event that comes sooner than this is waited for by spinning,
	// because a sleep would end 17 us late at the median.
	near = 20 * time.Microsecond

	// checkEvery bounds the cost of looking at descriptors while turns find
	// work: about 0.3 us each time.
	checkEvery = 10 * time.Microsecond

	// lazyDisarm: how long the loop has been awake before it takes the watch
	// of doorbells back. A program in a ping-pong would pay for it each time.
	lazyDisarm = time.Millisecond

	// A turn ends after maxTurn even if its events are slow ones; the time is
	// looked at after each chunk of events.
	maxTurn = 250 * time.Microsecond
	chunk   = 32

	// lastDay is where a loop ends, before the engine's clock overflows.
	lastDay = sim.Forever - 86400*sim.Second
)

// Run drives the engine until Stop. It returns nil after Stop and an error if
// the loop ended before, or when the simulated time ends after 105 days.
func (l *Loop) Run() error {
	l.mu.Lock()
	if l.began || l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.began = true
	l.t0 = time.Now()
	l.clock.origin = l.eng.Now()
	l.mu.Unlock()
	end := make(chan error)
	go func() {
		// Never unlocked: the thread has attributes of its own and ends here.
		runtime.LockOSThread()
		end <- l.run()
	}()
	return <-end
}

func (l *Loop) run() error {
	defer func() {
		l.mu.Lock()
		l.st.cpu = l.cpu()
		l.st.wall = time.Since(l.t0)
		l.tid.Store(0)
		l.close()
		l.mu.Unlock()
	}()

	l.mu.Lock()
	err := l.thread()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	s := sleeper{l: l}
	for !l.stop.Load() {
		l.turning.Store(true)
		l.mu.Lock()
		l.turning.Store(false)
		wall := time.Since(l.t0)
		busy := l.turn(wall)
		d, sleep := s.decide(wall, busy)
		now := l.eng.Now()
		l.mu.Unlock()
		if now > lastDay {
			return fmt.Errorf("realtime: the simulated clock reached its end at %v; restart the fabric", now)
		}
		l.yield()
		if sleep {
			l.evs = l.poll.wait(l.evs[:0], d)
		}
	}
	return nil
}

// now is the engine's time by the clock.
func (l *Loop) now() sim.Time { return l.clock.at(time.Since(l.t0)) }

// yield lets every Do that waits now have the engine first. Those that come
// later wait for a turn: a program that floods the daemon with commands does
// not stop the fabric.
func (l *Loop) yield() {
	a := l.arrived.Load()
	for l.entered.Load() < a {
		runtime.Gosched()
	}
}

// turn is one pass. It reports whether it found anything to do.
func (l *Loop) turn(wall time.Duration) (busy bool) {
	l.asleep = false
	l.st.loops++
	e := l.eng
	target := l.clock.at(wall)
	e.Advance(target)
	if len(l.evs) == 0 && wall-l.st.checked >= checkEvery {
		l.evs = l.poll.check(l.evs)
		l.st.checked = wall
	}
	if len(l.evs) > 0 {
		busy = true
		l.dispatch(l.evs)
		l.evs = l.evs[:0]
	}
	if l.work != nil && l.work.Sweep() {
		busy = true
		l.st.sweeps++
	}
	if l.events(wall, target) {
		busy = true
	}
	l.effects()
	return busy
}

// events handles what is due and keeps the account of lag.
func (l *Loop) events(wall time.Duration, target sim.Time) bool {
	e := l.eng
	next, ok := e.Next()
	if !ok || next > target {
		return false
	}
	if d := l.clock.freeze(wall, next); d > 0 {
		target -= d
		l.st.freezes++
	}
	lag := target - next
	l.st.lag = lag
	l.st.maxLag = max(l.st.maxLag, lag)
	l.markMax = max(l.markMax, lag)
	fired := e.Fired()
	more := l.someEvents(wall, target)
	l.st.events += e.Fired() - fired
	if more {
		if next, ok = e.Next(); ok {
			if l.clock.observe(wall, next) > 0 {
				l.st.slips++
			}
			return true
		}
	}
	l.clock.behind = false
	return true
}

// someEvents handles due events up to the bound of a turn, in events and in
// time, and reports whether more are due. Late ones are handled in runs of
// their own, so that counting them costs nothing per event.
func (l *Loop) someEvents(wall time.Duration, target sim.Time) (more bool) {
	e := l.eng
	late := target - l.cfg.Limits.Late
	for n := 0; n < l.cfg.MaxEvents; n += chunk {
		next, ok := e.Next()
		if !ok || next > target {
			e.Advance(target)
			return false
		}
		if next < late {
			before := e.Fired()
			e.RunSome(late-1, chunk)
			more = true
			l.st.late += e.Fired() - before
		} else if more = e.RunSome(target, chunk); !more {
			return false
		}
		if time.Since(l.t0)-wall > maxTurn {
			break
		}
	}
	return more
}

package realtime

import (
	"time"

	"cnuas/internal/sim"
)

// counters are what the loop counts; guarded by the engine's lock.
type counters struct {
	wall, cpu   time.Duration
	checked     time.Duration
	lag, maxLag sim.Time
	slip        sim.Time
	engine      sim.Time
	events      uint64
	late        uint64
	slips       uint64
	freezes     uint64
	loops       uint64
	sleeps      uint64
	wakes       uint64
	sweeps      uint64
	dos         uint64
	hangups     uint64
	sliceErr    error
}

// Stats tells how faithfully the engine followed the clock, over a span of
// time. Two figures decide: SlipShare, the time that the fabric lost because
// the machine is too slow for it, and LateShare, the events that programs saw
// late although no time was lost. MaxLag is for information: single lags of 1
// to 3 ms are usual on shared cores.
type Stats struct {
	Wall   time.Duration // span, 0 before Run
	Engine sim.Time      // simulated time that passed in it
	Scale  float64       // wall time per simulated time

	Lag     sim.Time // when events were last due
	MaxLag  sim.Time // largest in the span
	Slip    sim.Time // simulated time that the clock was set back
	Slips   uint64   // how often because of overload
	Freezes uint64   // how often because the process stood still

	Events uint64 // handled
	Late   uint64 // of these, later than Limits.Late

	CPU     time.Duration // processor time of the engine's thread
	Loops   uint64        // turns
	Sleeps  uint64
	Wakes   uint64 // sleeps ended by Do or Stop
	Sweeps  uint64 // that found work
	Dos     uint64 // calls of Do
	Hangups uint64 // descriptors dropped after an error

	// SliceErr: the scheduler refused the short time slice; latencies of
	// programs then have tails of milliseconds.
	SliceErr error `json:"-"`
}

// SlipShare is the share of the span's simulated time that was lost, 0 to 1.
// 0.32 means that what ran at 100 Gb/s in the fabric ran at 68 Gb/s by the
// (scaled) wall clock.
func (s Stats) SlipShare() float64 {
	all := s.Slip + s.Engine
	if all <= 0 {
		return 0
	}
	return float64(s.Slip) / float64(all)
}

// LateShare is the share of events that were handled late, 0 to 1.
func (s Stats) LateShare() float64 {
	if s.Events == 0 {
		return 0
	}
	return float64(s.Late) / float64(s.Events)
}

// Busy is the share of a core that the engine's thread used, 0 to 1.
func (s Stats) Busy() float64 {
	if s.Wall <= 0 {
		return 0
	}
	return float64(s.CPU) / float64(s.Wall)
}

// Stats returns the figures since Run began. It takes the engine for a moment.
func (l *Loop) Stats() Stats { return l.sample(false, false) }

// Since returns the figures since the last Mark, or since Run began.
func (l *Loop) Since() Stats { return l.sample(true, false) }

// Mark begins a new span for Since and returns the one that ends.
func (l *Loop) Mark() Stats { return l.sample(true, true) }

func (l *Loop) sample(sinceMark, mark bool) Stats {
	if !l.onEngineThread() {
		l.hold()
		defer l.mu.Unlock()
	}
	c := l.st
	if l.began && !l.closed {
		c.wall = time.Since(l.t0)
		c.cpu = l.cpu()
		l.st.cpu = c.cpu
	}
	c.slip = l.clock.slip
	// A sleeping engine's own clock stands still until the next event; the
	// time has passed all the same.
	c.engine = l.eng.Now() - l.clock.origin
	if l.began && !l.closed && l.asleep {
		c.engine = max(c.engine, l.now()-l.clock.origin)
	}
	var from counters
	worst := c.maxLag
	if sinceMark {
		from, worst = l.mark, l.markMax
	}
	if mark {
		l.mark, l.markMax = c, 0
	}
	return Stats{
		// A sleep that ends in a slip leaves the engine before where the sample
		// during it saw the clock.
		Wall: c.wall - from.wall, Engine: max(0, c.engine-from.engine), Scale: l.cfg.Scale,
		Lag: c.lag, MaxLag: worst, Slip: c.slip - from.slip,
		Slips: c.slips - from.slips, Freezes: c.freezes - from.freezes,
		Events: c.events - from.events, Late: c.late - from.late,
		CPU: c.cpu - from.cpu, Loops: c.loops - from.loops, Sleeps: c.sleeps - from.sleeps,
		Wakes: c.wakes - from.wakes, Sweeps: c.sweeps - from.sweeps, Dos: c.dos - from.dos,
		Hangups: c.hangups - from.hangups, SliceErr: c.sliceErr,
	}
}

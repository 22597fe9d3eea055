package realtime

import (
	"fmt"
	"math"
	"time"

	"cnuas/internal/sim"
)

// Config tells how a Loop follows the clock. The zero value is real time with
// the values that measurements on two shared cores found best.
type Config struct {
	// Scale is wall time per simulated time: 40 runs the fabric 40 times
	// slower. 0 means 1; otherwise 0.01 to 10^6.
	Scale float64

	// Slice is the time slice asked of the scheduler for the engine's thread
	// (sched_setattr), 0 for 100 us. A short slice makes the kernel prefer the
	// thread when it wakes; it needs no privilege. Negative: leave it alone.
	Slice time.Duration

	// MaxEvents bounds one turn, so that descriptors, doorbells and Do are
	// looked at between; 0 for 512, which are about 100 us of work.
	MaxEvents int

	// Spin is how long the loop goes on looking for work before it sleeps, after
	// a wake that handled BurstWQEs or more work requests: work then comes in
	// bursts. Otherwise it sleeps at once, because the program that must see
	// the result may need this core. 0 for 10 us and 8; negative Spin: never.
	Spin      time.Duration
	BurstWQEs int

	// Limits of the elastic clock; zero fields take their defaults.
	Limits Limits
}

// Limits of the elastic clock, all in simulated time.
type Limits struct {
	// Late: an event handled later than this counts as late. Default 100 us.
	Late sim.Time

	// Lag up to this is normal and never slips. Default 100 us.
	Lag sim.Time

	// Grace is how long a lag above Lag may go without shrinking. The engine
	// catches up as long as the lag falls by a sixteenth of Grace in each
	// Grace; otherwise it is overloaded and the clock slips. Default 500 us.
	Grace sim.Time

	// Freeze: a lag above this is not caught up at all, the clock slips at
	// once. A stopped process or a suspended machine must not make seconds of
	// frames and timers happen in one burst. Default 10 ms.
	Freeze sim.Time

	// Residue is the lag that a slip leaves. Default 20 us.
	Residue sim.Time
}

// Ranges of Config.Scale.
const (
	MinScale = 0.01
	MaxScale = 1e6
)

func (c *Config) complete() error {
	if c.Scale == 0 {
		c.Scale = 1
	}
	if math.IsNaN(c.Scale) || c.Scale < MinScale || c.Scale > MaxScale {
		return fmt.Errorf("realtime: scale %v is not in %v to %v", c.Scale, MinScale, float64(MaxScale))
	}
	orDur(&c.Slice, 100*time.Microsecond)
	orDur(&c.Spin, 10*time.Microsecond)
	if c.MaxEvents <= 0 {
		c.MaxEvents = 512
	}
	if c.BurstWQEs <= 0 {
		c.BurstWQEs = 8
	}
	l := &c.Limits
	orTime(&l.Late, 100*sim.Microsecond)
	orTime(&l.Lag, 100*sim.Microsecond)
	orTime(&l.Grace, 500*sim.Microsecond)
	orTime(&l.Freeze, 10*sim.Millisecond)
	orTime(&l.Residue, 20*sim.Microsecond)
	if l.Residue > l.Lag || l.Lag > l.Freeze {
		return fmt.Errorf("realtime: limits must be ordered: residue %v, lag %v, freeze %v", l.Residue, l.Lag, l.Freeze)
	}
	return nil
}

func orDur(d *time.Duration, def time.Duration) {
	if *d == 0 {
		*d = def
	}
}

func orTime(t *sim.Time, def sim.Time) {
	if *t <= 0 {
		*t = def
	}
}

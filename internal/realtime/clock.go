package realtime

import (
	"time"

	"cnuas/internal/sim"
)

// clock is the elastic clock. It reads no clock itself: wall is the time since
// the loop began.
type clock struct {
	scale  float64
	origin sim.Time // engine time when the loop began
	slip   sim.Time // simulated time that the clock was set back, in all
	lim    Limits

	behind bool     // lag is above lim.Lag
	ref    sim.Time // least lag of this stretch that counts as progress
	since  sim.Time // elapsed when it was reached
}

// elapsed is the simulated time that fits into wall.
func (c *clock) elapsed(wall time.Duration) sim.Time {
	if c.scale == 1 {
		return sim.Time(wall) * sim.Nanosecond
	}
	return sim.Time(float64(wall) * float64(sim.Nanosecond) / c.scale)
}

// at is the engine's time at wall.
func (c *clock) at(wall time.Duration) sim.Time { return c.origin + c.elapsed(wall) - c.slip }

// wallOf is the wall time at which the clock shows t, rounded up to whole
// nanoseconds. It is negative for a time before the loop began.
func (c *clock) wallOf(t sim.Time) time.Duration {
	d := t + c.slip - c.origin
	if c.scale == 1 {
		n := d / sim.Nanosecond
		if n*sim.Nanosecond < d {
			n++
		}
		return time.Duration(n)
	}
	n := time.Duration(float64(d) / float64(sim.Nanosecond) * c.scale)
	for c.elapsed(n) < d {
		n++
	}
	return n
}

// freeze slips if the earliest event, at next, is so late that the process
// must have stood still. It is called before the events of a turn are handled.
func (c *clock) freeze(wall time.Duration, next sim.Time) sim.Time {
	if c.at(wall)-next <= c.lim.Freeze {
		return 0
	}
	return c.back(wall, next)
}

// observe is told, after the events of a turn were handled, the time of the
// earliest one that is left, and slips if the engine is overloaded.
func (c *clock) observe(wall time.Duration, next sim.Time) sim.Time {
	lag := c.at(wall) - next
	if lag <= c.lim.Lag {
		c.behind = false
		return 0
	}
	e := c.elapsed(wall)
	switch {
	case !c.behind:
		c.behind, c.ref, c.since = true, lag, e
	case lag <= c.ref-c.lim.Grace/16:
		c.ref, c.since = lag, e
	case e-c.since > c.lim.Grace:
		return c.back(wall, next)
	}
	return 0
}

// back sets the clock back so that next is late by lim.Residue only.
func (c *clock) back(wall time.Duration, next sim.Time) sim.Time {
	d := c.at(wall) - next - c.lim.Residue
	c.slip += d
	c.behind = false
	return d
}

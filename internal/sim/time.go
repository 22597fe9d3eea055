package sim

import "fmt"

// Time is a point or a span of simulated time in picoseconds. One byte at
// 400 Gb/s lasts 20 ps; the range of an int64 is 106 days.
type Time int64

// Units of Time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond

	// Forever is later than every event.
	Forever Time = 1<<63 - 1
)

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Nanoseconds returns t in whole nanoseconds, rounded towards zero.
func (t Time) Nanoseconds() int64 { return int64(t / Nanosecond) }

// String prints t in the largest unit that leaves a number of at least one.
func (t Time) String() string {
	a := t
	if a < 0 {
		a = -a
	}
	switch {
	case a >= Second:
		return fmt.Sprintf("%.3fs", t.Seconds())
	case a >= Millisecond:
		return fmt.Sprintf("%.3fms", float64(t)/float64(Millisecond))
	case a >= Microsecond:
		return fmt.Sprintf("%.3fus", float64(t)/float64(Microsecond))
	case a >= Nanosecond:
		return fmt.Sprintf("%.3fns", float64(t)/float64(Nanosecond))
	}
	return fmt.Sprintf("%dps", int64(t))
}

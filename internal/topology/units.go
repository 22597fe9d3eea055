package topology

import (
	"fmt"
	"math/big"
	"strings"

	"cnuas/internal/sim"
)

// Bounds of what a file can ask for.
const (
	MinRate   = 1_000_000         // bits per second
	MaxRate   = 1_600_000_000_000 // bits per second: the fastest Ethernet there is (IEEE 802.3dj)
	MaxDelay  = sim.Second        // one way
	MaxBuffer = 16 << 30          // bytes

	// PerMetre is the propagation delay of a metre of fibre or copper, about
	// two thirds of the speed of light.
	PerMetre = 5 * sim.Nanosecond
)

// unit is a suffix and what one of it is in base units: a fraction, because a
// millimetre is 5 ps and a centimetre 50.
type unit struct {
	suffix string
	base   int64
}

var (
	rateUnits = []unit{
		{"bps", 1}, {"Kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12},
		{"b/s", 1}, {"Kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12},
	}
	timeUnits = []unit{
		{"ps", 1}, {"ns", int64(sim.Nanosecond)}, {"us", int64(sim.Microsecond)},
		{"µs", int64(sim.Microsecond)}, {"ms", int64(sim.Millisecond)}, {"s", int64(sim.Second)},
	}
	lengthUnits = []unit{
		{"mm", int64(PerMetre / 1000)}, {"cm", int64(PerMetre / 100)}, {"m", int64(PerMetre)}, {"km", int64(1000 * PerMetre)},
	}
	sizeUnits = []unit{
		{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	}
)

// quantity reads a decimal number with a unit, exactly; the result is rounded
// down to whole base units.
func quantity(s string, units []unit) (int64, error) {
	num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµ/")
	suffix := s[len(num):]
	num = strings.TrimRight(num, " ")
	digits := strings.TrimPrefix(num, "-")
	whole, frac, dot := strings.Cut(digits, ".")
	if !decimal(whole) || dot && !decimal(frac) || len(digits) > 30 {
		return 0, fmt.Errorf("%q is not a number with a unit", s)
	}
	if suffix == "" {
		return 0, fmt.Errorf("%q has no unit", s)
	}
	for _, u := range units {
		if u.suffix != suffix {
			continue
		}
		r, _ := new(big.Rat).SetString(num)
		r.Mul(r, new(big.Rat).SetInt64(u.base))
		q := new(big.Int).Quo(r.Num(), r.Denom())
		if !q.IsInt64() {
			return 0, fmt.Errorf("%q is out of range", s)
		}
		return q.Int64(), nil
	}
	return 0, fmt.Errorf("%q has the unknown unit %q", s, suffix)
}

func decimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// ParseRate reads a bit rate such as "25Gbps" or "2.5Gb/s", in bits per second.
func ParseRate(s string) (int64, error) {
	v, err := quantity(s, rateUnits)
	switch {
	case err != nil:
		return 0, err
	case v <= 0:
		return 0, fmt.Errorf("rate %q is not above zero", s)
	case v < MinRate:
		return 0, fmt.Errorf("rate %q is below 1 Mb/s", s)
	case v > MaxRate:
		return 0, fmt.Errorf("rate %q is above 1.6 Tb/s", s)
	}
	return v, nil
}

// ParseDelay reads a time such as "500ns".
func ParseDelay(s string) (sim.Time, error) { return delay(s, timeUnits, "delay") }

// ParseLength reads a cable length such as "10m" and returns its delay.
func ParseLength(s string) (sim.Time, error) { return delay(s, lengthUnits, "length") }

func delay(s string, units []unit, what string) (sim.Time, error) {
	v, err := quantity(s, units)
	switch {
	case err != nil:
		return 0, err
	case v < 0:
		return 0, fmt.Errorf("%s %q is negative", what, s)
	case sim.Time(v) > MaxDelay:
		return 0, fmt.Errorf("%s %q is a delay above 1 s", what, s)
	}
	return sim.Time(v), nil
}

// ParseSize reads a number of bytes such as "400KB" (1000) or "64KiB" (1024).
func ParseSize(s string) (int64, error) {
	v, err := quantity(s, sizeUnits)
	switch {
	case err != nil:
		return 0, err
	case v < 0:
		return 0, fmt.Errorf("size %q is negative", s)
	case v > MaxBuffer:
		return 0, fmt.Errorf("size %q is above 16 GiB", s)
	}
	return v, nil
}

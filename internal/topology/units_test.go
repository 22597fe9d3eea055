package topology

import (
	"testing"

	"cnuas/internal/sim"
)

func TestUnits(t *testing.T) {
	rate := func(s string) (int64, error) { return ParseRate(s) }
	delay := func(s string) (int64, error) { v, err := ParseDelay(s); return int64(v), err }
	length := func(s string) (int64, error) { v, err := ParseLength(s); return int64(v), err }
	for _, c := range []struct {
		parse func(string) (int64, error)
		in    string
		want  int64 // -1: an error
	}{
		{rate, "10Gbps", 10e9},
		{rate, "2.5Gbps", 2.5e9},
		{rate, "2.5 Gb/s", 2.5e9},
		{rate, "1.6Tbps", MaxRate},
		{rate, "1.6000000000001Tbps", MaxRate}, // rounded down to whole bits per second
		{rate, "1.600000000001Tbps", -1},
		{rate, "1000Kbps", 1e6},
		{rate, "999.999Kbps", -1},
		{rate, "999999999999999999999999999999Tbps", -1},
		{rate, "10gbps", -1},
		{rate, "10 Gbit", -1},
		{rate, "Gbps", -1},
		{rate, ".5Gbps", -1},
		{rate, "5.Gbps", -1},
		{rate, "+5Gbps", -1},
		{rate, "0x10Gbps", -1},
		{rate, "", -1},
		{delay, "500ns", int64(500 * sim.Nanosecond)},
		{delay, "0.5us", int64(500 * sim.Nanosecond)},
		{delay, "1.25µs", int64(1250 * sim.Nanosecond)},
		{delay, "0ns", 0},
		{delay, "1s", int64(sim.Second)},
		{delay, "1000.000000001ms", -1},
		{delay, "-1ns", -1},
		{delay, "1m", -1},
		{length, "3m", int64(15 * sim.Nanosecond)},
		{length, "100m", int64(500 * sim.Nanosecond)},
		{length, "0.5m", 2500},
		{length, "30cm", 1500},
		{length, "1mm", 5},
		{length, "2km", int64(10 * sim.Microsecond)},
		{ParseSize, "16MB", 16e6},
		{ParseSize, "64KiB", 65536},
		{ParseSize, "1.5KB", 1500},
		{ParseSize, "16GiB", MaxBuffer},
		{ParseSize, "17GiB", -1},
		{ParseSize, "10kB", -1},
	} {
		got, err := c.parse(c.in)
		if c.want < 0 {
			if err == nil {
				t.Errorf("%q: %d, want an error", c.in, got)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%q: %d, %v; want %d", c.in, got, err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"h1": true, "leaf-1.rack_2": true, "7": true, "-h1": false, ".h1": false, "h/1": false, "h 1": false,
		"hö": false, "h:1": false, "": false, "abcdefghijklmnopqrstuvwxyz012345": true, "abcdefghijklmnopqrstuvwxyz0123456": false,
	} {
		if got := checkName(name) == nil; got != want {
			t.Errorf("checkName(%q) = %v", name, got)
		}
	}
	for name, want := range map[string]bool{
		"eth0": true, "lo": false, "all": false, "default": false, "abcdefghijklmno": true, "abcdefghijklmnop": false, "a/b": false,
	} {
		if got := checkInterface(name) == nil; got != want {
			t.Errorf("checkInterface(%q) = %v", name, got)
		}
	}
}

func TestSuggest(t *testing.T) {
	keys := []string{"delay", "ip", "length", "lossless", "rate"}
	for got, want := range map[string]string{
		"losless": `did you mean "lossless"?`,
		"lenght":  `did you mean "length"?`,
		"Rate":    `did you mean "rate"?`,
		"address": `did you mean "ip"?`,
		"latency": `did you mean "delay"?`,
		"colour":  "known: delay, ip, length, lossless, rate",
	} {
		if s := suggest(got, keys); s != want {
			t.Errorf("suggest(%q) = %q, want %q", got, s, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if d := distance(c.a, c.b); d != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, d, c.want)
		}
	}
}

func TestMAC(t *testing.T) {
	for s, want := range map[string]bool{
		"02:00:00:00:01:00": true, "02:00:00:00:01": false, "02-00-00-00-01-00": false, "2:0:0:0:1:0": false, "02:00:00:00:01:0g": false, "+2:00:00:00:01:00": false, "": false,
	} {
		m, err := ParseMAC(s)
		if (err == nil) != want || want && m.String() != s {
			t.Errorf("ParseMAC(%q) = %v, %v", s, m, err)
		}
	}
}

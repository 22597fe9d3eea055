package ether

import (
	"net/netip"
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
)

func TestNewNamesEveryProblem(t *testing.T) {
	ok := func() Config {
		return Config{Name: "s9", Ports: []PortConfig{{}, {Mode: Routed}}, Lossless: 1 << 3,
			Interfaces: []Interface{{Port: 1, Addrs: []netip.Prefix{prefix("10.0.0.1/24")}}}}
	}
	for _, c := range []struct {
		want  string // parts, separated by |
		spoil func(*Config)
	}{
		{"dscp 5 maps to priority 9", func(c *Config) { c.Classifier.DSCP[5] = 9 }},
		{"group address", func(c *Config) { c.MAC[0] = 1 }},
		{"1024", func(c *Config) { c.Ports = make([]PortConfig, 1025); c.Interfaces = nil }},
		{"not be negative", func(c *Config) { c.AgeingTime = -1 }},
		{"priority 3: xon 20 is above xoff 10", func(c *Config) { c.PFC[3] = PFC{Xoff: 10, Xon: 20} }},
		{"priority 3: pfc thresholds", func(c *Config) { c.PFC[3].Alpha = -1 }},
		{"priority 1: alpha", func(c *Config) { c.Lossy[1].Alpha = -1 }},
		{"priority 4: ecn needs|priority 4: ecn pmax 2", func(c *Config) { c.ECN[4] = ECN{Enable: true, KMin: 2, KMax: 1, PMax: 2} }},
		{"vlan 4095", func(c *Config) { c.Ports[0].Access = 4095 }},
		{"vlan 0: use", func(c *Config) { c.Ports[0].Tagged = []uint16{0} }},
		{"both tagged and untagged", func(c *Config) { c.Ports[0] = PortConfig{Access: 7, Tagged: []uint16{7}} }},
		{"routed port has no VLANs", func(c *Config) { c.Ports[1].Access = 2 }},
		{"unknown mode", func(c *Config) { c.Ports[0].Mode = 2 }},
		{"port s9:1: headroom", func(c *Config) { c.Ports[0].Headroom = -1 }},
		{"not a routed port", func(c *Config) { c.Interfaces[0].Port = 0 }},
		{"two router interfaces", func(c *Config) { c.Interfaces = append(c.Interfaces, c.Interfaces[0]) }},
		{"vlan 5000", func(c *Config) { c.Interfaces[0].VID = 5000 }},
		{"not usable", func(c *Config) { c.Interfaces[0].Addrs = []netip.Prefix{{}} }},
		{"not usable", func(c *Config) { c.Addrs = []netip.Addr{addr("224.0.0.1")} }},
		{"no next hop", func(c *Config) { c.Routes = []Route{{Prefix: prefix("1.0.0.0/8")}} }},
		{"not a prefix", func(c *Config) { c.Routes = []Route{{}} }},
		{"other IP version", func(c *Config) {
			c.Routes = []Route{{Prefix: prefix("fd00::/8"), NextHops: []NextHop{{Gateway: addr("10.0.0.2")}}}}
		}},
		{"no interface's subnet", func(c *Config) {
			c.Routes = []Route{{Prefix: prefix("1.0.0.0/8"), NextHops: []NextHop{{Gateway: addr("10.9.0.2")}}}}
		}},
		{"port 0 is not a routed port", func(c *Config) {
			c.Routes = []Route{{Prefix: prefix("1.0.0.0/8"), NextHops: []NextHop{{Port: 0, MAC: [6]byte{2}}}}}
		}},
		{"needs a gateway or a unicast MAC", func(c *Config) {
			c.Routes = []Route{{Prefix: prefix("1.0.0.0/8"), NextHops: []NextHop{{Port: 1}}}}
		}},
		{"neighbour 9.9.9.9 is in no", func(c *Config) { c.Neighbours = []Neighbour{{Addr: addr("9.9.9.9")}} }},
		{"group address", func(c *Config) { c.Neighbours = []Neighbour{{Addr: addr("10.0.0.2"), MAC: [6]byte{1}}} }},
		{"larger or the headroom smaller", func(c *Config) { c.BufferBytes = 1000 }},
	} {
		cfg := ok()
		c.spoil(&cfg)
		_, err := New(sim.NewEngine(1), &frame.Pool{}, cfg)
		for _, part := range strings.Split(c.want, "|") {
			if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "switch s9: ") {
				t.Errorf("error %v, want %q in it", err, part)
			}
		}
	}
	s, err := New(sim.NewEngine(1), &frame.Pool{}, ok())
	if err != nil {
		t.Fatal(err)
	}
	if s.Port(1).Name != "s9:2" || s.Name() != "s9" || s.NumPorts() != 2 {
		t.Errorf("names %s %s, %d ports", s.Name(), s.Port(1).Name, s.NumPorts())
	}
}

func TestPortMAC(t *testing.T) {
	for _, c := range []struct {
		base [6]byte
		i    int
		want [6]byte
	}{
		{[6]byte{2, 0, 0, 0, 0, 0}, 0, [6]byte{2, 0, 0, 0, 0, 1}},
		{[6]byte{2, 0, 0, 0, 0, 0xff}, 0, [6]byte{2, 0, 0, 0, 1, 0}},
		{[6]byte{2, 0, 0, 0xff, 0xff, 0xf0}, 0x1f, [6]byte{2, 0, 1, 0, 0, 0x10}},
	} {
		if got := PortMAC(c.base, c.i); got != c.want {
			t.Errorf("port %d of % x: % x, want % x", c.i, c.base, got, c.want)
		}
	}
}

func TestHeadroom(t *testing.T) {
	// 100 Gb/s and 500 ns: 12500 bytes on the wire, three frames of 4200+20, and
	// 8 PFC frames of 84.
	for _, c := range []struct {
		rate  link.Rate
		delay sim.Time
		frame int
		want  int64
	}{
		{100 * link.Gbps, 500 * sim.Nanosecond, 4200, 12500 + 12660 + 672},
		{10 * link.Gbps, 0, 1518, 3*1538 + 672},
		{link.Gbps, 1, 1518, 1 + 3*1538 + 672}, // a part of a byte counts as one
		{800 * link.Gbps, sim.Millisecond, 9216, 200_000_000 + 3*9236 + 672},
	} {
		if got := Headroom(c.rate, c.delay, c.frame); got < c.want || got > c.want+1 {
			t.Errorf("%v, %v, %d bytes: %d, want %d", c.rate, c.delay, c.frame, got, c.want)
		}
	}
}

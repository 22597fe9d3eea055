package topology

import (
	"fmt"
	"testing"

	"cnuas/internal/sim"
)

// pair is two hosts on a switch, with keys of the file in front.
func pair(front string) string {
	return front + `
[[node]]
name = "h1"
[[node]]
name = "h2"
[[switch]]
name = "s1"
[[link]]
a = "h1:eth0"
b = "s1:1"
[[link]]
a = "h2:eth0"
b = "s1:2"
`
}

func TestQoS(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       func(q QoS) string // what is wrong; "" if nothing
	}{
		{"defaults", "", func(q QoS) string {
			return differ(q.Trust == TrustDSCP, q.DSCP[26] == 3, q.DSCP[48] == 6, q.DSCP[0] == 0, q.PCP[5] == 5, q.Untagged == 0,
				q.PFC, q.Lossless == 1<<3, q.Strict == 1<<6, q.Weights == [8]uint16{1, 1, 1, 1, 1, 1, 1, 1},
				q.Buffer == 16e6, q.Alpha == 0.125, q.AlphaLossy == 1, q.Xoff == 0, q.XonOffset == 2*4222,
				q.ECN == [8]ECN{3: {true, 40_000, 160_000, 0.2}})
		}},
		{"maps are changed entry by entry", "[qos]\ndscp = { 26 = 5, 0 = 1 }\npcp = { 7 = 0 }\nuntagged = 2\ntrust = 'pcp'", func(q QoS) string {
			return differ(q.Trust == TrustPCP, q.DSCP[26] == 5, q.DSCP[27] == 3, q.DSCP[0] == 1, q.DSCP[1] == 0, q.PCP[7] == 0, q.PCP[6] == 6, q.Untagged == 2)
		}},
		{"static thresholds", "[qos]\nxoff = '100KB'", func(q QoS) string {
			return differ(q.Xoff == 100_000, q.Xon == 100_000-2*4222, q.XonOffset == 2*4222)
		}},
		{"a small static threshold", "[qos]\nxoff = '10KB'", func(q QoS) string { return differ(q.Xoff == 10_000, q.Xon == 5_000) }},
		{"both static thresholds", "[qos]\nxoff = '100KB'\nxon = '30KB'", func(q QoS) string { return differ(q.Xon == 30_000, q.XonOffset == 70_000) }},
		{"no PFC: marked, but not lossless", "[qos]\npfc = false\nlossless = [3, 4]", func(q QoS) string {
			return differ(!q.PFC, q.Lossless == 0, q.ECN[3].Enable, q.ECN[4].Enable, !q.ECN[5].Enable)
		}},
		{"nothing lossless", "[qos]\nlossless = []", func(q QoS) string { return differ(q.PFC, q.Lossless == 0, q.ECN == [8]ECN{}) }},
		{"ECN off", "[qos.ecn]\npriorities = []", func(q QoS) string { return differ(q.Lossless == 8, q.ECN == [8]ECN{}) }},
		{"ECN of other priorities", "[qos.ecn]\npriorities = [0, 7]\nkmin = '1KB'\nkmax = '2KB'\npmax = 1", func(q QoS) string {
			return differ(q.ECN == [8]ECN{0: {true, 1000, 2000, 1}, 7: {true, 1000, 2000, 1}})
		}},
		{"kmin alone", "[qos.ecn]\nkmin = '1MB'", func(q QoS) string { return differ(q.ECN[3].KMin == 1e6, q.ECN[3].KMax == 4e6) }},
		{"kmax alone", "[qos.ecn]\nkmax = '40KB'", func(q QoS) string { return differ(q.ECN[3].KMin == 10_000, q.ECN[3].KMax == 40_000) }},
		{"a weight makes a priority not strict", "[qos.scheduler]\nweights = { 6 = 10, 3 = 4 }", func(q QoS) string {
			return differ(q.Strict == 0, q.Weights == [8]uint16{1, 1, 1, 4, 1, 1, 10, 1})
		}},
		{"a profile inherits", "[defaults.switch]\nqos = 'x'\n[qos]\nbuffer = '8MB'\ndscp = { 1 = 7 }\n[qos.x]\nalpha = 2\ndscp = { 2 = 6 }", func(q QoS) string {
			return differ(q.Profile == "x", q.Buffer == 8e6, q.Alpha == 2, q.DSCP[1] == 7, q.DSCP[2] == 6)
		}},
		{"thresholds grow with the rate", "[defaults.link]\nrate = '100Gbps'", func(q QoS) string { return differ(q.ECN[3] == ECN{true, 400_000, 1_600_000, 0.2}) }},
		{"but not below five frames", "[defaults.link]\nrate = '1Gbps'", func(q QoS) string { return differ(q.ECN[3] == ECN{true, 5 * 4222, 20 * 4222, 0.2}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustParse(t, pair(c.text))
			if bad := c.want(s.Switches[0].QoS); bad != "" {
				t.Errorf("condition %s does not hold: %+v", bad, s.Switches[0].QoS)
			}
			if s.Nodes[0].QoS.Profile != s.Switches[0].QoS.Profile {
				t.Error("the node has not the profile of its switch")
			}
		})
	}
}

// differ returns the number of the first condition that does not hold.
func differ(conditions ...bool) string {
	for i, ok := range conditions {
		if !ok {
			return fmt.Sprint(i)
		}
	}
	return ""
}

func TestHeadroom(t *testing.T) {
	for _, c := range []struct {
		rate  int64
		delay sim.Time
		mtu   int
		want  int64
	}{
		// 3 frames of 4200+22+20, 8 pauses of 84, round trip 2*500ns*10Gb/s = 1250 bytes.
		{10e9, 500 * sim.Nanosecond, 4200, 3*4242 + 672 + 1250},
		{100e9, 15 * sim.Nanosecond, 9000, 3*9042 + 672 + 375},
		{1e9, 0, 1500, 3*1542 + 672},
		{3e9, 1 * sim.Nanosecond, 1500, 3*1542 + 672 + 1}, // 0.75 bytes round up
	} {
		if got := Headroom(c.rate, c.delay, c.mtu); got != c.want {
			t.Errorf("Headroom(%d, %v, %d) = %d, want %d", c.rate, c.delay, c.mtu, got, c.want)
		}
	}
	s := mustParse(t, pair("[qos]\nheadroom = '50KB'"))
	if h := s.Switches[0].Ports[1].Headroom; h != 50_000 {
		t.Errorf("headroom of the file: %d", h)
	}
	// Each port by its own link, all by the largest MTU.
	s = mustParse(t, pair("[[link]]\na = 'h1'\nb = 's1'\nrate = '40Gbps'\ndelay = '1us'\n[defaults.node]\nmtu = 9000"))
	if a, b := s.Switches[0].Ports[0].Headroom, s.Switches[0].Ports[2].Headroom; a != Headroom(10e9, DefaultDelay, 9000) || b != Headroom(40e9, sim.Microsecond, 9000) {
		t.Errorf("headrooms %d and %d", a, b)
	}
}

func TestRDMAMTU(t *testing.T) {
	for mtu, want := range map[int]int{68: 0, 339: 0, 340: 256, 595: 256, 596: 512, 1107: 512, 1108: 1024, 1500: 1024, 2131: 1024, 2132: 2048, 4179: 2048, 4180: 4096, 4200: 4096, 9000: 4096} {
		if got := RDMAMTU(mtu); got != want {
			t.Errorf("RDMAMTU(%d) = %d, want %d", mtu, got, want)
		}
	}
}

// Keys of nodes.
func TestNodeKeys(t *testing.T) {
	s := mustParse(t, pair("")+`
[[node]]
name = "h3"
stack = "none"
roce_dscp = 10
cnp_dscp = 46
ignore_pfc = true
qos = "own"
mac = "02:aa:bb:cc:dd:ee"
[qos.own]
untagged = 4
[[link]]
a = "h3"
b = "s1"
loss = 0.25
`)
	n := s.Nodes[2]
	if n.Stack != StackNone || n.RoCEDSCP != 10 || n.CNPDSCP != 46 || !n.IgnorePFC || n.QoS.Profile != "own" || n.QoS.Untagged != 4 || n.Interfaces[0].MAC.String() != "02:aa:bb:cc:dd:ee" {
		t.Errorf("h3: %+v", n)
	}
	if d := s.Nodes[0]; d.Stack != StackSoft || d.RoCEDSCP != 26 || d.CNPDSCP != 48 || d.IgnorePFC {
		t.Errorf("h1: %+v", d)
	}
	if s.Links[2].Loss != 0.25 || s.Seed != 1 || s.Name != "test" {
		t.Errorf("link %+v, seed %d, name %q", s.Links[2], s.Seed, s.Name)
	}
}

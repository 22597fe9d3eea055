package ether

import (
	"fmt"
	"net/netip"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	switching "cnuas/switch"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func addr(s string) netip.Addr     { return netip.MustParseAddr(s) }

// fan is a router with a host on port 0 and k uplinks of equal cost.
func fan(t testing.TB, name string, k int) *network {
	cfg := Config{Name: name, MAC: swMAC, Ports: make([]PortConfig, k+1), Classifier: dscpClassifier}
	var hops []NextHop
	for i := range cfg.Ports {
		cfg.Ports[i].Mode = Routed
		if i > 0 {
			hops = append(hops, NextHop{Port: i, MAC: [6]byte{2, 0, 0, 0, 0, byte(i + 1)}})
		}
	}
	cfg.Interfaces = []Interface{{Port: 0, Addrs: []netip.Prefix{prefix("10.0.0.254/24")}}}
	cfg.Routes = []Route{{Prefix: prefix("10.1.0.0/16"), NextHops: hops}}
	return star(t, cfg, fast)
}

// flow is a RoCEv2 frame from h1 through its router to 10.1.0.2.
func (n *network) flow(sport int) *frame.Frame {
	h := n.h[0]
	return n.udp(udp{dst: PortMAC(swMAC, 0), src: h.mac, sip: h.ip, dip: [4]byte{10, 1, 0, 2}, sport: uint16(sport), dport: wire.RoCEv2Port, tos: tos3})
}

// chi2 is Pearson's statistic against equal shares.
func chi2(counts []int) (x float64) {
	sum := 0
	for _, c := range counts {
		sum += c
	}
	want := float64(sum) / float64(len(counts))
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return
}

func TestECMPSpreadsSourcePorts(t *testing.T) {
	// 256 queue pairs on 4 links; 16.27 is chi-square with 3 degrees of freedom
	// at p = 0.001.
	n := fan(t, "leaf", 4)
	path := map[int]int{}
	for round := range 3 {
		for sport := 0xc000; sport < 0xc100; sport++ {
			n.h[0].send(3, n.flow(sport))
			n.run(10 * sim.Microsecond)
			out := -1
			for i, h := range n.h[1:] {
				if h.frames == 1 {
					out = i
				}
				h.frames, h.got = 0, nil
			}
			if was, ok := path[sport]; ok && was != out || out < 0 {
				t.Fatalf("round %d: flow %#x goes by uplink %d, before by %d", round, sport, out, was)
			}
			path[sport] = out
		}
	}
	counts := make([]int, 4)
	for sport := 0xc000; sport < 0xc100; sport++ {
		counts[path[sport]]++
	}
	if x := chi2(counts); x > 16.27 {
		t.Errorf("256 flows on 4 links: %v, chi-square %.1f", counts, x)
	}
	t.Logf("%v, chi-square %.2f", counts, chi2(counts))
}

func TestECMPTiersAreIndependent(t *testing.T) {
	// Flows that one switch sends by its first link spread over all links of the
	// next: 2048 flows, a quarter of them left.
	n := newFabric(t, 7)
	a, b := n.add(Config{Name: "a", Ports: make([]PortConfig, 1)}), n.add(Config{Name: "b", Ports: make([]PortConfig, 1)})
	if a.router.seed == b.router.seed {
		t.Fatal("two switches have one seed")
	}
	second := make([]int, 4)
	both := n.host(a, 0, fast)
	for sport := range 2048 {
		f := n.udp(udp{dst: PortMAC(swMAC, 0), src: both.mac, sip: both.ip, dip: [4]byte{10, 1, 0, 2}, sport: uint16(0xc000 + sport), dport: wire.RoCEv2Port})
		f.Parse()
		if flowHash(f, a.router.seed)>>32*4>>32 == 0 {
			second[flowHash(f, b.router.seed)>>32*4>>32]++
		}
		n.pool.Put(f)
	}
	if x := chi2(second); x > 16.27 {
		t.Errorf("second tier %v, chi-square %.1f", second, x)
	}
}

func TestFragmentsStayTogether(t *testing.T) {
	n := newFabric(t, 1)
	mk := func(flags byte, sport uint16) uint64 {
		f := n.udp(udp{sip: [4]byte{1, 2, 3, 4}, dip: [4]byte{5, 6, 7, 8}, sport: sport, dport: 53})
		f.Data[14+6] = flags
		f.Meta.Parsed = false
		f.Parse()
		defer n.pool.Put(f)
		return flowHash(f, 99)
	}
	if first, last := mk(0x20, 1000), mk(0x01, 0xdead); first != last {
		t.Error("the first fragment and the last take different ways")
	}
	if mk(0, 1000) == mk(0, 1001) {
		t.Error("ports have no part in the hash")
	}
}

func TestECMPSkipsLinksThatAreDown(t *testing.T) {
	n := fan(t, "leaf", 4)
	count := func() string {
		for sport := 0xc000; sport < 0xc040; sport++ {
			n.h[0].send(3, n.flow(sport))
		}
		n.run(sim.Millisecond)
		var got []int
		for _, h := range n.h[1:] {
			got = append(got, h.frames)
			h.frames = 0
		}
		return fmt.Sprint(got)
	}
	before := count()
	n.h[2].port.SetUp(false)
	var c [4]int
	fmt.Sscanf(count(), "[%d %d %d %d]", &c[0], &c[1], &c[2], &c[3])
	if c[1] != 0 || c[0]+c[2]+c[3] != 64 {
		t.Errorf("with uplink 2 down: %v", c)
	}
	for _, i := range []int{1, 3, 4} {
		n.h[i].port.SetUp(false)
	}
	if got := count(); got != "[0 0 0 0]" {
		t.Errorf("all down: %s", got)
	}
	if d := n.s.Totals().Drops[switching.DropNoRoute]; d != 64 {
		t.Errorf("no route %d, want 64", d)
	}
	for i := 1; i <= 4; i++ {
		n.h[i].port.SetUp(true)
	}
	if got := count(); got != before {
		t.Errorf("all up again: %s, before %s", got, before)
	}
}

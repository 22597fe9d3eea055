package ether

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// leafSpine is two leaves with a subnet of two hosts each, and two spines
// without addresses but the loopback. Leaf ports 2 and 3 go to the spines.
func leafSpine(t *testing.T) *network {
	n := newFabric(t, 1)
	base := func(k byte) [6]byte { return [6]byte{2, 0xaa, 0, 0, k, 0} }
	for l := range 2 {
		other := 1 - l
		cfg := lossless(4, 40_000, 20_000, 20_000)
		cfg.Name, cfg.MAC = fmt.Sprintf("leaf%d", l+1), base(byte(l+1))
		cfg.Ports[2].Mode, cfg.Ports[3].Mode = Routed, Routed
		cfg.Addrs = []netip.Addr{netip.AddrFrom4([4]byte{10, 255, 0, byte(l + 1)})}
		cfg.Interfaces = []Interface{{VID: 1, Addrs: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(l + 1), 254}), 24)}}}
		cfg.Routes = []Route{{
			Prefix:   netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(other + 1), 0}), 24),
			NextHops: []NextHop{{Port: 2, MAC: PortMAC(base(11), l)}, {Port: 3, MAC: PortMAC(base(12), l)}},
		}}
		n.add(cfg)
	}
	for s := range 2 {
		cfg := lossless(2, 40_000, 20_000, 20_000)
		cfg.Name, cfg.MAC = fmt.Sprintf("spine%d", s+1), base(byte(11+s))
		cfg.Ports[0].Mode, cfg.Ports[1].Mode = Routed, Routed
		cfg.Addrs = []netip.Addr{netip.AddrFrom4([4]byte{10, 255, 1, byte(s + 1)})}
		for l := range 2 {
			cfg.Routes = append(cfg.Routes, Route{
				Prefix:   netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(l + 1), 0}), 24),
				NextHops: []NextHop{{Port: l, MAC: PortMAC(base(byte(l+1)), 2+s)}},
			})
		}
		n.add(cfg)
	}
	for l := range 2 {
		for p := range 2 {
			h := n.host(n.all[l], p, fast)
			h.ip = [4]byte{10, 0, byte(l + 1), byte(p + 1)}
		}
		for s := range 2 {
			if err := link.Connect(n.all[l].Port(2+s), n.all[2+s].Port(l), fast); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, h := range n.h { // as a kernel does before its first packet
		gw := fmt.Sprintf("10.0.%d.254", i/2+1)
		n.arp(wire.ARPRequest, h, ip4(h.ip).String(), gw, wire.Broadcast)
	}
	n.received()
	return n
}

func TestTracerouteThroughLeafAndSpine(t *testing.T) {
	n := leafSpine(t)
	h1, h4 := n.h[0], n.h[3]
	gw := [6]byte{2, 0xaa, 0, 0, 1, 0}
	var hops []string
	for ttl := uint8(1); ttl <= 4; ttl++ {
		n.ip(h1, gw, "10.0.1.1", "10.0.2.2", ttl, wire.ProtoUDP, datagram(20))
		got := h1.take() + h4.take()
		hops = append(hops, strings.Join(strings.Fields(got)[1:4], " "))
	}
	spine := "10.255.1.1"
	if strings.Contains(hops[1], "10.255.1.2") {
		spine = "10.255.1.2"
	}
	want := "10.0.1.254>10.0.1.1 ttl 64 | " + spine + ">10.0.1.1 ttl 63 | 10.255.0.2>10.0.1.1 ttl 62 | 10.0.1.1>10.0.2.2 ttl 1"
	if got := strings.Join(hops, " | "); got != want {
		t.Errorf("hops %s\nwant %s", got, want)
	}
}

func TestFlowsUseBothSpinesAndSurviveOne(t *testing.T) {
	n := leafSpine(t)
	h1, h3 := n.h[0], n.h[2]
	gw := [6]byte{2, 0xaa, 0, 0, 1, 0}
	send := func() (int, [2]uint64) {
		before := [2]uint64{n.all[2].Totals().Rx, n.all[3].Totals().Rx}
		for sport := range 64 {
			h1.send(3, n.udp(udp{dst: gw, src: h1.mac, sip: h1.ip, dip: h3.ip, sport: uint16(0xc000 + sport), dport: wire.RoCEv2Port, tos: tos3, total: 1000}))
		}
		n.run(sim.Millisecond)
		got := h3.frames
		h3.frames, h3.got = 0, nil
		return got, [2]uint64{n.all[2].Totals().Rx - before[0], n.all[3].Totals().Rx - before[1]}
	}
	h3.frames = 0
	if got, by := send(); got != 64 || by[0] < 16 || by[1] < 16 {
		t.Errorf("%d of 64 arrived, by spine %v", got, by)
	}
	n.all[0].Port(2).SetUp(false)
	if got, by := send(); got != 64 || by != [2]uint64{0, 64} {
		t.Errorf("with one spine: %d of 64 arrived, by spine %v", got, by)
	}
	n.all[0].Port(2).SetUp(true)
	if got, by := send(); got != 64 || by[0] < 16 || by[1] < 16 {
		t.Errorf("both again: %d of 64 arrived, by spine %v", got, by)
	}
}

func TestRouterOnAStick(t *testing.T) {
	// Two VLANs on one trunk: a frame leaves by the port that it came from. PFC
	// for that very port must not collide with the frame that is taken out.
	cfg := lossless(1, 3000, 1000, 50_000)
	cfg.Ports[0].Tagged = []uint16{10, 20}
	cfg.Interfaces = []Interface{
		{VID: 10, Addrs: []netip.Prefix{prefix("10.0.10.254/24")}},
		{VID: 20, Addrs: []netip.Prefix{prefix("10.0.20.254/24")}},
	}
	cfg.Neighbours = []Neighbour{{Addr: addr("10.0.20.1"), MAC: [6]byte{2, 0, 0, 0, 0, 9}}}
	n := star(t, cfg, fast)
	h := n.h[0]
	b := n.bare(wire.Broadcast, [6]byte{2, 0, 0, 0, 0, 9}, 20)
	h.send(0, n.raw(b)) // h9 is behind the trunk in VLAN 20
	n.run(sim.Millisecond)
	h.take()
	h.stop(1<<3, 200)
	n.run(2 * sim.Microsecond)
	var at []sim.Time
	n.s.Port(0).AddObserver(starts{&at, n.s.Port(0)})
	for range 20 {
		h.send(3, n.udp(udp{dst: swMAC, src: h.mac, sip: [4]byte{10, 0, 10, 1}, dip: [4]byte{10, 0, 20, 1}, tos: tos3, total: 1000, tagged: true, tci: 3<<13 | 10}))
	}
	n.run(sim.Millisecond)
	got := strings.Split(h.take(), "\n")
	if len(got) != 20 || got[0] != "svi>h9 vlan 20 pcp 3 10.0.10.1>10.0.20.1 ttl 63 tos 0x6a" {
		t.Errorf("%d frames, first %q", len(got), got[0])
	}
	c := n.s.Counters(0)
	if c.PauseSent[3] == 0 || h.pause.Paused() != 0 {
		t.Errorf("PFC was not at work: %d sent", c.PauseSent[3])
	}
	for i := 1; i < len(at); i++ {
		if at[i] == at[i-1] {
			t.Errorf("two frames begin at %v", at[i])
		}
	}
}

func TestVLANInterfaceGoesDownWithItsLastPort(t *testing.T) {
	n := leafSpine(t)
	h3 := n.h[2]
	for _, h := range n.h[:2] {
		h.port.SetUp(false)
	}
	n.arp(wire.ARPRequest, h3, "10.0.2.1", "10.0.2.254", wire.Broadcast)
	h3.take()
	n.ip(h3, [6]byte{2, 0xaa, 0, 0, 2, 0}, "10.0.2.1", "10.0.1.1", 64, wire.ProtoUDP, datagram(10))
	expect(t, "the remote leaf has no route to its own subnet", h3.take(),
		"svi>h3 10.255.0.1>10.0.2.1 ttl 62 icmp 3/0 len 46")
}

package ether

import (
	"net/netip"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	switching "cnuas/switch"
)

// gateway is a switch with h1 and h2 in VLAN 10 behind a VLAN interface, h3 on
// a routed port, and h4, another router, on a routed port without addresses.
func gateway(t *testing.T) *network {
	n := star(t, Config{
		Classifier: dscpClassifier,
		Ports:      []PortConfig{{Access: 10}, {Access: 10}, {Mode: Routed, MTU: 1500}, {Mode: Routed}},
		Addrs:      []netip.Addr{addr("192.0.2.1"), addr("fd00:ff::1")},
		Interfaces: []Interface{
			{VID: 10, Addrs: []netip.Prefix{prefix("10.0.0.254/24"), prefix("fd00:a::fe/64")}},
			{Port: 2, Addrs: []netip.Prefix{prefix("10.0.1.254/24"), prefix("fd00:b::fe/64")}},
		},
		Routes: []Route{
			{Prefix: prefix("10.9.0.0/16"), NextHops: []NextHop{{Port: 3, MAC: [6]byte{2, 0, 0, 0, 0, 4}}}},
			{Prefix: prefix("fd00:9::/32"), NextHops: []NextHop{{Port: 3, MAC: [6]byte{2, 0, 0, 0, 0, 4}}}},
			{Prefix: prefix("10.8.0.0/16"), NextHops: []NextHop{{Gateway: addr("10.0.1.3")}}},
		},
	}, fast)
	n.h[2].ip = [4]byte{10, 0, 1, 3}
	return n
}

var (
	sviMAC = swMAC
	rt3    = PortMAC(swMAC, 2)
)

func (n *network) arp(op uint16, h *station, sip, tip string, dst [6]byte) {
	b := make([]byte, wire.EthernetLen+wire.ARPLen)
	wire.Ethernet(b).Encode(dst, h.mac, wire.EtherTypeARP)
	a := wire.ARPFields{Op: op, SenderMAC: h.mac, SenderIP: addr(sip).As4(), TargetIP: addr(tip).As4()}
	a.Encode(b[wire.EthernetLen:])
	h.send(0, n.raw(b))
	n.run(100 * sim.Microsecond)
}

// ip sends an IP packet with a transport part from h to a router's MAC.
func (n *network) ip(h *station, dst [6]byte, src, to string, ttl, proto uint8, body []byte) {
	s, d := addr(src), addr(to)
	var b []byte
	if s.Is4() {
		b = make([]byte, wire.EthernetLen+wire.IPv4Len, 2048)
		wire.Ethernet(b).Encode(dst, h.mac, wire.EtherTypeIPv4)
		f := wire.IPv4Fields{TotalLen: wire.IPv4Len + len(body), TTL: ttl, Proto: proto, Src: s.As4(), Dst: d.As4(), DontFragment: true}
		f.Encode(b[wire.EthernetLen:])
	} else {
		b = make([]byte, wire.EthernetLen+wire.IPv6Len, 2048)
		wire.Ethernet(b).Encode(dst, h.mac, wire.EtherTypeIPv6)
		f := wire.IPv6Fields{PayloadLen: len(body), HopLimit: ttl, NextHeader: proto, Src: s.As16(), Dst: d.As16()}
		f.Encode(b[wire.EthernetLen:])
		if proto == wire.ProtoICMPv6 {
			wire.ICMP(body).Seal6(s.As16(), d.As16())
		}
	}
	h.send(0, n.raw(append(b, body...)))
	n.run(100 * sim.Microsecond)
}

func echo(typ uint8, n int) []byte {
	m := wire.ICMP(make([]byte, wire.ICMPLen+n))
	m.SetType(typ)
	m.SetID(7)
	m.SetSeq(9)
	for i := range n {
		m[wire.ICMPLen+i] = byte(i)
	}
	m.Seal()
	return m
}

func datagram(n int) []byte {
	b := make([]byte, wire.UDPLen+n)
	wire.UDP(b).Encode(40000, 33434, len(b))
	return b
}

func sol(target string, h *station) []byte {
	m := make([]byte, wire.NDLen+wire.NDOptionLen)
	wire.ND(m).Encode(wire.ICMPv6NeighborSol, 0, addr(target).As16(), h.mac)
	return m
}

func TestRouterInterfaces(t *testing.T) {
	n := gateway(t)
	h1, h2, h3, h4 := n.h[0], n.h[1], n.h[2], n.h[3]
	_ = h4
	group := func(a string) (string, [6]byte) {
		g := wire.SolicitedNode(addr(a).As16())
		return netip.AddrFrom16(g).String(), wire.MulticastMAC(g)
	}
	for _, c := range []struct {
		name string
		do   func()
		want string
		drop switching.DropReason // with want == "": the reason
	}{
		{"arp for the gateway is answered, and flooded in the VLAN", func() { n.arp(1, h1, "10.0.0.1", "10.0.0.254", wire.Broadcast) },
			"1: svi>h1 arp op 2 10.0.0.254/svi for 10.0.0.1\n2: h1>bcast arp op 1 10.0.0.1/h1 for 10.0.0.254", 0},
		{"arp for another host is flooded only", func() { n.arp(1, h1, "10.0.0.1", "10.0.0.2", wire.Broadcast) },
			"2: h1>bcast arp op 1 10.0.0.1/h1 for 10.0.0.2", 0},
		{"arp on a routed port", func() { n.arp(1, h3, "10.0.1.3", "10.0.1.254", wire.Broadcast) },
			"3: rt3>h3 arp op 2 10.0.1.254/rt3 for 10.0.1.3", 0},
		{"arp probe for the address in use (RFC 5227)", func() { n.arp(1, h3, "0.0.0.0", "10.0.1.254", wire.Broadcast) },
			"3: rt3>h3 arp op 2 10.0.1.254/rt3 for 0.0.0.0", 0},
		{"a probe of the kernel's neighbour table is unicast", func() { n.arp(1, h1, "10.0.0.1", "10.0.0.254", sviMAC) },
			"1: svi>h1 arp op 2 10.0.0.254/svi for 10.0.0.1", 0},
		{"ping of the gateway", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.0.254", 64, 1, echo(8, 56)) },
			"1: svi>h1 10.0.0.254>10.0.0.1 ttl 64 icmp 0/0 len 64", 0},
		{"ping of the interface on the far side", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.254", 1, 1, echo(8, 56)) },
			"1: svi>h1 10.0.1.254>10.0.0.1 ttl 64 icmp 0/0 len 64", 0},
		{"ping of the switch's own address", func() { n.ip(h3, rt3, "10.0.1.3", "192.0.2.1", 64, 1, echo(8, 1400)) },
			"3: rt3>h3 192.0.2.1>10.0.1.3 ttl 64 icmp 0/0 len 1408", 0},
		{"from VLAN 10 to the routed port", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.3", 64, 17, datagram(10)) },
			"3: rt3>h3 10.0.0.1>10.0.1.3 ttl 63", 0},
		{"and back", func() { n.ip(h3, rt3, "10.0.1.3", "10.0.0.1", 2, 17, datagram(10)) },
			"1: svi>h1 10.0.1.3>10.0.0.1 ttl 1", 0},
		{"by a static next hop", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.9.1.1", 64, 17, datagram(10)) },
			"4: rt4>h4 10.0.0.1>10.9.1.1 ttl 63", 0},
		{"by a gateway that is known", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.8.1.1", 64, 17, datagram(10)) },
			"3: rt3>h3 10.0.0.1>10.8.1.1 ttl 63", 0},
		{"unknown neighbour is asked for", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.77", 64, 17, datagram(10)) },
			"3: rt3>bcast arp op 1 10.0.1.254/rt3 for 10.0.1.77", 0},
		{"but not twice in a second", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.77", 64, 17, datagram(10)) },
			"", switching.DropNoNeighbour},
		{"its answer", func() { n.arp(2, h3, "10.0.1.77", "10.0.1.254", rt3) }, "", 0},
		{"now it is known", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.77", 64, 17, datagram(10)) },
			"3: rt3>h3 10.0.0.1>10.0.1.77 ttl 63", 0},
		{"traceroute: time exceeded", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.3", 1, 17, datagram(10)) },
			"1: svi>h1 10.0.0.254>10.0.0.1 ttl 64 icmp 11/0 len 46", 0},
		{"ttl 0", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.3", 0, 17, datagram(10)) },
			"1: svi>h1 10.0.0.254>10.0.0.1 ttl 64 icmp 11/0 len 46", 0},
		{"traceroute: the last probe", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.0.254", 1, 17, datagram(10)) },
			"1: svi>h1 10.0.0.254>10.0.0.1 ttl 64 icmp 3/3 len 46", 0},
		{"net unreachable", func() { n.ip(h1, sviMAC, "10.0.0.1", "172.16.0.1", 64, 17, datagram(1000)) },
			"1: svi>h1 10.0.0.254>10.0.0.1 ttl 64 icmp 3/0 len 556", 0},
		{"too big for the port", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.3", 64, 17, datagram(1473)) },
			"1: svi>h1 10.0.0.254>10.0.0.1 ttl 64 icmp 3/4 len 556", 0},
		{"exactly the MTU", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.3", 64, 17, datagram(1472)) },
			"3: rt3>h3 10.0.0.1>10.0.1.3 ttl 63", 0},
		{"no error about an error", func() { n.ip(h1, sviMAC, "10.0.0.1", "10.0.1.3", 1, 1, echo(3, 56)) }, "", switching.DropTTL},
		{"multicast is not routed", func() { n.ip(h3, wire.Broadcast, "10.0.1.3", "239.1.1.1", 64, 17, datagram(1)) }, "", switching.DropMulticast},
		{"multicast by unicast", func() { n.ip(h3, rt3, "10.0.1.3", "239.1.1.1", 64, 17, datagram(1)) }, "", switching.DropMulticast},
		{"martian", func() { n.ip(h3, rt3, "10.0.1.3", "127.0.0.1", 64, 17, datagram(1)) }, "", switching.DropMalformed},
		{"other station's address on a routed port", func() { n.ip(h3, h1.mac, "10.0.1.3", "10.0.0.1", 64, 17, datagram(1)) }, "", switching.DropNotForUs},
		{"not IP", func() { h3.send(0, n.raw(n.bare(rt3, h3.mac, -1))); n.run(sim.Microsecond * 50) }, "", switching.DropNotForUs},
		{"VLAN on a routed port", func() { h3.send(0, n.raw(n.bare(rt3, h3.mac, 10))); n.run(sim.Microsecond * 50) }, "", switching.DropVLAN},

		{"solicitation", func() { g, m := group("fd00:a::fe"); n.ip(h1, m, "fd00:a::1", g, 255, 58, sol("fd00:a::fe", h1)) },
			"1: svi>h1 fd00:a::fe>fd00:a::1 hl 255 icmp6 136/0 len 32\n2: h1>3333ff0000fe fd00:a::1>ff02::1:ff00:fe hl 255 icmp6 135/0 len 32", 0},
		{"solicitation of the link-local address", func() {
			g, m := group("fe80::aa:ff:fe00:3")
			n.ip(h3, m, "fd00:b::3", g, 255, 58, sol("fe80::aa:ff:fe00:3", h3))
		}, "3: rt3>h3 fe80::aa:ff:fe00:3>fd00:b::3 hl 255 icmp6 136/0 len 32", 0},
		{"duplicate address detection", func() { g, m := group("fd00:b::fe"); n.ip(h3, m, "::", g, 255, 58, sol("fd00:b::fe", h3)) },
			"3: rt3>333300000001 fd00:b::fe>ff02::1 hl 255 icmp6 136/0 len 32", 0},
		{"a routed solicitation is not believed", func() { g, m := group("fd00:b::fe"); n.ip(h3, m, "fd00:b::3", g, 254, 58, sol("fd00:b::fe", h3)) },
			"", switching.DropMulticast},
		{"ping6 of the gateway", func() { n.ip(h1, sviMAC, "fd00:a::1", "fd00:a::fe", 64, 58, echo(128, 56)) },
			"1: svi>h1 fd00:a::fe>fd00:a::1 hl 64 icmp6 129/0 len 64", 0},
		{"ping6 of the link-local address", func() { n.ip(h3, rt3, "fe80::3", "fe80::aa:ff:fe00:3", 64, 58, echo(128, 56)) },
			"3: rt3>h3 fe80::aa:ff:fe00:3>fe80::3 hl 64 icmp6 129/0 len 64", 0},
		{"IPv6 to the routed port", func() { n.ip(h1, sviMAC, "fd00:a::1", "fd00:b::3", 64, 17, datagram(10)) },
			"3: rt3>h3 fd00:a::1>fd00:b::3 hl 63", 0},
		{"IPv6 by a static next hop", func() { n.ip(h1, sviMAC, "fd00:a::1", "fd00:9:1::1", 64, 17, datagram(10)) },
			"4: rt4>h4 fd00:a::1>fd00:9:1::1 hl 63", 0},
		{"IPv6 neighbour is solicited", func() { n.ip(h1, sviMAC, "fd00:a::1", "fd00:b::77", 64, 17, datagram(10)) },
			"3: rt3>3333ff000077 fd00:b::fe>ff02::1:ff00:77 hl 255 icmp6 135/0 len 32", 0},
		{"IPv6 time exceeded", func() { n.ip(h1, sviMAC, "fd00:a::1", "fd00:b::3", 1, 17, datagram(10)) },
			"1: svi>h1 fd00:a::fe>fd00:a::1 hl 64 icmp6 3/0 len 66", 0},
		{"IPv6 no route", func() { n.ip(h1, sviMAC, "fd00:a::1", "2001:db8::1", 64, 17, datagram(1300)) },
			"1: svi>h1 fd00:a::fe>fd00:a::1 hl 64 icmp6 1/0 len 1240", 0},
		{"IPv6 too big", func() { n.ip(h1, sviMAC, "fd00:a::1", "fd00:b::3", 64, 17, datagram(1453)) },
			"1: svi>h1 fd00:a::fe>fd00:a::1 hl 64 icmp6 2/0 len 1240", 0},
		{"IPv6 port unreachable", func() { n.ip(h1, sviMAC, "fd00:a::1", "fd00:ff::1", 64, 17, datagram(10)) },
			"1: svi>h1 fd00:a::fe>fd00:a::1 hl 64 icmp6 1/4 len 66", 0},
		{"link-local is not forwarded", func() { n.ip(h1, sviMAC, "fd00:a::1", "fe80::3", 64, 17, datagram(10)) }, "", switching.DropNoRoute},
		{"IPv4-mapped", func() { n.ip(h1, sviMAC, "fd00:a::1", "::ffff:10.0.1.3", 64, 17, datagram(10)) }, "", switching.DropMalformed},
	} {
		before := n.s.Totals()
		c.do()
		expect(t, c.name, n.received(), c.want)
		after := n.s.Totals()
		if c.want == "" && c.drop != 0 && after.Drops[c.drop] != before.Drops[c.drop]+1 {
			t.Errorf("%s: not counted as %v", c.name, c.drop)
		}
		if err := n.s.Conservation(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	_ = h2
}

func TestMalformedIPv4IsNotForwarded(t *testing.T) {
	n := gateway(t)
	n.arp(1, n.h[2], "10.0.1.3", "10.0.1.254", wire.Broadcast)
	n.received()
	for name, spoil := range map[string]func(wire.IPv4){
		"checksum":              func(h wire.IPv4) { h[10] ^= 1 },
		"longer than it is":     func(h wire.IPv4) { h.SetTotalLen(500); h.SetChecksum(h.ComputeChecksum()) },
		"shorter than header":   func(h wire.IPv4) { h.SetTotalLen(19); h.SetChecksum(h.ComputeChecksum()) },
		"multicast source":      func(h wire.IPv4) { h[12] = 224; h.SetChecksum(h.ComputeChecksum()) },
		"destination 0.0.0.0/8": func(h wire.IPv4) { h[16] = 0; h.SetChecksum(h.ComputeChecksum()) },
	} {
		f := n.udp(udp{dst: sviMAC, src: n.h[0].mac, sip: n.h[0].ip, dip: [4]byte{10, 0, 1, 3}})
		spoil(wire.IPv4(f.Data[14:]))
		before := n.s.Totals().Drops[switching.DropMalformed]
		n.h[0].send(0, f)
		n.run(sim.Millisecond)
		if got := n.received(); got != "" || n.s.Totals().Drops[switching.DropMalformed] != before+1 {
			t.Errorf("%s: forwarded %q", name, got)
		}
	}
}

func TestICMPErrorsAreLimited(t *testing.T) {
	n := gateway(t)
	h := n.h[0]
	n.arp(1, h, "10.0.0.1", "10.0.0.254", wire.Broadcast)
	h.take()
	for range 200 {
		h.send(0, n.udp(udp{dst: sviMAC, src: h.mac, sip: h.ip, dip: [4]byte{10, 0, 1, 3}, ttl: 1}))
	}
	n.run(40 * sim.Microsecond)
	if got := strings.Count(h.take(), "icmp 11/0"); got != icmpBurst {
		t.Errorf("%d errors for 200 packets at once, want the burst of %d", got, icmpBurst)
	}
	n.run(10 * sim.Millisecond)
	h.take()
	for range 200 {
		h.send(0, n.udp(udp{dst: sviMAC, src: h.mac, sip: h.ip, dip: [4]byte{10, 0, 1, 3}, ttl: 1}))
	}
	n.run(40 * sim.Microsecond)
	if got := strings.Count(h.take(), "icmp 11/0"); got < 10 || got > 11 {
		t.Errorf("%d errors 10 ms later, want 10 at 1000 a second", got)
	}
}

func TestRoutedPrefixes(t *testing.T) {
	// Longest prefix first; a connected subnet whose link is down gives way to
	// the default route.
	n := star(t, Config{
		Ports: []PortConfig{{Mode: Routed}, {Mode: Routed}, {Mode: Routed}},
		Interfaces: []Interface{
			{Port: 0, Addrs: []netip.Prefix{prefix("10.0.0.254/24")}},
			{Port: 1, Addrs: []netip.Prefix{prefix("10.0.1.254/24")}},
		},
		Routes: []Route{
			{Prefix: prefix("0.0.0.0/0"), NextHops: []NextHop{{Port: 2, MAC: [6]byte{2, 0, 0, 0, 0, 3}}}},
			{Prefix: prefix("10.0.1.128/25"), NextHops: []NextHop{{Port: 2, MAC: [6]byte{2, 0, 0, 0, 0, 3}}}},
		},
		Neighbours: []Neighbour{{Addr: addr("10.0.1.7"), MAC: [6]byte{2, 0, 0, 0, 0, 2}}},
	}, fast)
	h := n.h[0]
	send := func(a string) string {
		h.send(0, n.udp(udp{dst: PortMAC(swMAC, 0), src: h.mac, sip: h.ip, dip: addr(a).As4()}))
		n.run(sim.Millisecond)
		return n.received()
	}
	expect(t, "connected", send("10.0.1.7"), "2: rt2>h2 10.0.0.1>10.0.1.7 ttl 63")
	expect(t, "longer than connected", send("10.0.1.130"), "3: rt3>h3 10.0.0.1>10.0.1.130 ttl 63")
	expect(t, "default", send("8.8.8.8"), "3: rt3>h3 10.0.0.1>8.8.8.8 ttl 63")
	n.h[1].port.SetUp(false)
	expect(t, "connected subnet is down", send("10.0.1.7"), "3: rt3>h3 10.0.0.1>10.0.1.7 ttl 63")
	n.h[1].port.SetUp(true)
	expect(t, "static neighbours stay", send("10.0.1.7"), "2: rt2>h2 10.0.0.1>10.0.1.7 ttl 63")
}

func TestTTLDecrementKeepsChecksum(t *testing.T) {
	n := gateway(t)
	h1, h3 := n.h[0], n.h[2]
	n.arp(1, h3, "10.0.1.3", "10.0.1.254", wire.Broadcast)
	n.received()
	for ttl := 2; ttl < 256; ttl++ {
		h1.send(0, n.udp(udp{dst: sviMAC, src: h1.mac, sip: [4]byte{10, 0, 0, byte(ttl)}, dip: h3.ip, ttl: uint8(ttl), tos: uint8(ttl * 7)}))
	}
	n.run(sim.Millisecond)
	if s := h3.take(); strings.Contains(s, "BAD") || strings.Count(s, "\n") != 253 {
		t.Errorf("routed frames:\n%s", s)
	}
}

func TestNeighbourTableIsBounded(t *testing.T) {
	cfg := Config{Ports: []PortConfig{{Mode: Routed}}, Interfaces: []Interface{{Port: 0, Addrs: []netip.Prefix{prefix("10.0.0.1/8")}}}}
	n := star(t, cfg, fast)
	h := n.h[0]
	h.quiet = true
	for i := range maxNeighbours + 1000 {
		h.send(0, n.udp(udp{dst: PortMAC(swMAC, 0), src: h.mac, sip: h.ip, dip: [4]byte{10, 1, byte(i >> 8), byte(i)}}))
		if i%100 == 0 {
			n.run(100 * sim.Microsecond)
		}
	}
	n.run(10 * sim.Millisecond)
	if l := len(n.s.router.neigh); l > maxNeighbours {
		t.Errorf("%d entries", l)
	}
}

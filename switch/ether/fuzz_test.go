package ether

import (
	"net/netip"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// FuzzReceive gives the switch arbitrary frames on every kind of port: access,
// trunk, routed with and without addresses. Whatever comes, nothing is lost
// from the books.
func FuzzReceive(f *testing.F) {
	cfg := lossless(5, 100_000, 50_000, 50_000)
	cfg.MAC = swMAC
	cfg.Ports[0] = PortConfig{Access: 10, Tagged: []uint16{20}}
	cfg.Ports[1] = PortConfig{Access: 10}
	cfg.Ports[2] = PortConfig{Tagged: []uint16{10, 20}, MTU: 1500}
	cfg.Ports[3] = PortConfig{Mode: Routed, MTU: 1500}
	cfg.Ports[4] = PortConfig{Mode: Routed}
	cfg.FDBSize = 64
	cfg.ECN[0] = ECN{Enable: true, KMin: 0, KMax: 1000, PMax: 1}
	cfg.Interfaces = []Interface{
		{VID: 10, Addrs: []netip.Prefix{prefix("10.0.0.254/24"), prefix("fd00:a::fe/64")}},
		{Port: 3, Addrs: []netip.Prefix{prefix("10.0.1.254/24"), prefix("fd00:b::fe/64")}},
	}
	cfg.Routes = []Route{
		{Prefix: prefix("0.0.0.0/0"), NextHops: []NextHop{{Port: 4, MAC: [6]byte{2, 9}}, {Gateway: addr("10.0.1.9")}}},
		{Prefix: prefix("fd00::/16"), NextHops: []NextHop{{Port: 4, MAC: [6]byte{2, 9}}}},
	}
	n := star(f, cfg, fast)
	seed := func(port byte, b []byte) { f.Add(port, b) }
	seed(0, nil)
	seed(0, n.bare(wire.Broadcast, n.h[0].mac, -1))
	seed(2, n.bare(n.h[0].mac, n.h[2].mac, 7<<13|20))
	u := n.udp(udp{dst: swMAC, src: n.h[0].mac, sip: n.h[0].ip, dip: [4]byte{10, 0, 1, 3}, tos: 2})
	seed(0, u.AppendTo(nil))
	n.pool.Put(u)
	u = n.udp(udp{dst: swMAC, src: n.h[0].mac, sip: n.h[0].ip, dip: [4]byte{8, 8, 8, 8}, ttl: 1})
	seed(1, u.AppendTo(nil))
	n.pool.Put(u)
	b := make([]byte, wire.EthernetLen+wire.ARPLen)
	wire.Ethernet(b).Encode(wire.Broadcast, n.h[3].mac, wire.EtherTypeARP)
	a := wire.ARPFields{Op: wire.ARPRequest, SenderMAC: n.h[3].mac, SenderIP: [4]byte{10, 0, 1, 9}, TargetIP: [4]byte{10, 0, 1, 254}}
	a.Encode(b[wire.EthernetLen:])
	seed(3, b)
	for _, typ := range []uint8{wire.ICMPv6EchoRequest, wire.ICMPv6NeighborSol, wire.ICMPv6NeighborAdv} {
		m := make([]byte, wire.EthernetLen+wire.IPv6Len+wire.NDLen+wire.NDOptionLen)
		wire.Ethernet(m).Encode(PortMAC(swMAC, 3), n.h[3].mac, wire.EtherTypeIPv6)
		h := wire.IPv6Fields{PayloadLen: 32, NextHeader: wire.ProtoICMPv6, HopLimit: 255, Src: addr("fd00:b::3").As16(), Dst: addr("fd00:b::fe").As16()}
		h.Encode(m[wire.EthernetLen:])
		wire.ND(m[54:]).Encode(typ, 0, addr("fd00:b::fe").As16(), n.h[3].mac)
		wire.ICMP(m[54:]).Seal6(h.Src, h.Dst)
		seed(3, m)
	}
	for _, h := range n.h {
		h.quiet = true
	}
	f.Fuzz(func(t *testing.T, port byte, data []byte) {
		if len(data) > 9216 {
			return
		}
		n.h[int(port)%len(n.h)].port.SendControl(n.raw(data))
		n.run(30 * sim.Microsecond)
		if err := n.s.Conservation(); err != nil {
			t.Fatal(err)
		}
	})
}

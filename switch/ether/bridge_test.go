package ether

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	switching "cnuas/switch"
)

func ip4(a [4]byte) netip.Addr  { return netip.AddrFrom4(a) }
func ip6(a [16]byte) netip.Addr { return netip.AddrFrom16(a) }

// all returns what every station received, as "1: ...".
func (n *network) received() string {
	var s []string
	for i, h := range n.h {
		for _, g := range h.got {
			s = append(s, fmt.Sprintf("%d: %s", i+1, g))
		}
		h.got = nil
	}
	return strings.Join(s, "\n")
}

func expect(t *testing.T, name, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got: %s\nwant: %s", name, strings.ReplaceAll(got, "\n", "\n      "), strings.ReplaceAll(want, "\n", "\n      "))
	}
}

// frameOf is a bare frame; tci below 0 means no tag.
func (n *network) bare(dst, src [6]byte, tci int) []byte {
	b := append(append([]byte{}, dst[:]...), src[:]...)
	if tci >= 0 {
		b = append(b, 0x81, 0, byte(tci>>8), byte(tci))
	}
	return append(b, 0x88, 0xb5, 1, 2, 3)
}

func TestLearnFloodFilter(t *testing.T) {
	n := star(t, Config{Ports: make([]PortConfig, 3)}, fast)
	a, b, c := n.h[0], n.h[1], n.h[2]
	send := func(h *station, dst [6]byte) string {
		h.send(0, n.raw(n.bare(dst, h.mac, -1)))
		n.run(sim.Millisecond)
		return n.received()
	}
	expect(t, "unknown destination is flooded", send(a, b.mac), "2: h1>h2 type 88b5\n3: h1>h2 type 88b5")
	expect(t, "the answer goes one way", send(b, a.mac), "1: h2>h1 type 88b5")
	expect(t, "now both are known", send(a, b.mac), "2: h1>h2 type 88b5")
	expect(t, "broadcast", send(c, wire.Broadcast), "1: h3>bcast type 88b5\n2: h3>bcast type 88b5")
	a.send(0, n.raw(n.bare(a.mac, [6]byte{2, 0, 0, 0, 0, 9}, -1)))
	n.run(sim.Millisecond)
	expect(t, "destination on the same port", n.received(), "")
	if c := n.s.Counters(0); c.Dropped(switching.DropFiltered) != 1 {
		t.Errorf("filtered %d, want 1", c.Dropped(switching.DropFiltered))
	}
	if tot := n.s.Totals(); tot.Copies != 2 || tot.FDBMoves != 0 {
		t.Errorf("totals %+v", tot)
	}
	// The station moves from port 1 to port 3.
	c.send(0, n.raw(n.bare(b.mac, a.mac, -1)))
	n.run(sim.Millisecond)
	n.received()
	expect(t, "after a move", send(b, a.mac), "3: h2>h1 type 88b5")
	if tot := n.s.Totals(); tot.FDBMoves != 1 {
		t.Errorf("moves %d, want 1", tot.FDBMoves)
	}
}

func TestDropsByReason(t *testing.T) {
	n := star(t, Config{Ports: make([]PortConfig, 2)}, fast)
	n.hello()
	a, b := n.h[0], n.h[1]
	for _, c := range []struct {
		name string
		b    []byte
		want switching.DropReason
	}{
		{"short", make([]byte, 13), switching.DropMalformed},
		{"tag cut off", append(append(b.mac[:], a.mac[:]...), 0x81, 0, 0), switching.DropMalformed},
		{"group address as source", n.bare(b.mac, [6]byte{1}, -1), switching.DropMalformed},
		{"bridge group address", n.bare([6]byte{1, 0x80, 0xc2, 0, 0, 0}, a.mac, -1), switching.DropReserved},
		{"LLDP", n.bare([6]byte{1, 0x80, 0xc2, 0, 0, 0x0e}, a.mac, -1), switching.DropReserved},
		{"802.3x pause", append(append([]byte{1, 0x80, 0xc2, 0, 0, 1}, a.mac[:]...), 0x88, 8, 0, 1, 0xff, 0xff), switching.DropControl},
		{"other VLAN", n.bare(b.mac, a.mac, 2), switching.DropVLAN},
		{"VLAN 4095", n.bare(b.mac, a.mac, 4095), switching.DropVLAN},
	} {
		before := n.s.Totals()
		a.send(0, n.raw(c.b))
		n.run(sim.Millisecond)
		after := n.s.Totals()
		if after.Drops[c.want] != before.Drops[c.want]+1 || after.Dropped() != before.Dropped()+1 {
			t.Errorf("%s: drops %v, want one more for %v than %v", c.name, after.Drops, c.want, before.Drops)
		}
		expect(t, c.name, n.received(), "")
	}
}

func TestVLANs(t *testing.T) {
	// Ports 1 and 2 are in VLAN 10, 3 in VLAN 20, 4 is a trunk of both, 5 is a
	// trunk of VLAN 20 with VLAN 10 untagged.
	n := star(t, Config{Ports: []PortConfig{
		{Access: 10}, {Access: 10}, {Access: 20}, {Tagged: []uint16{10, 20}}, {Access: 10, Tagged: []uint16{20}},
	}}, fast)
	h := n.h
	for _, c := range []struct {
		name string
		from int
		tci  int
		want string
	}{
		{"untagged in 10", 0, -1, "2: h1>bcast type 88b5\n4: h1>bcast vlan 10 pcp 0 type 88b5\n5: h1>bcast type 88b5"},
		{"untagged in 20", 2, -1, "4: h3>bcast vlan 20 pcp 0 type 88b5\n5: h3>bcast vlan 20 pcp 0 type 88b5"},
		{"priority tag", 0, 5 << 13, "2: h1>bcast type 88b5\n4: h1>bcast vlan 10 pcp 5 type 88b5\n5: h1>bcast type 88b5"},
		{"own VLAN tagged", 0, 3<<13 | 10, "2: h1>bcast type 88b5\n4: h1>bcast vlan 10 pcp 3 type 88b5\n5: h1>bcast type 88b5"},
		{"foreign VLAN on an access port", 0, 20, ""},
		{"trunk 10", 3, 10, "1: h4>bcast type 88b5\n2: h4>bcast type 88b5\n5: h4>bcast type 88b5"},
		{"trunk 20", 3, 7<<13 | 20, "3: h4>bcast type 88b5\n5: h4>bcast vlan 20 pcp 7 type 88b5"},
		{"untagged on a trunk without native VLAN", 3, -1, ""},
		{"native VLAN", 4, -1, "1: h5>bcast type 88b5\n2: h5>bcast type 88b5\n4: h5>bcast vlan 10 pcp 0 type 88b5"},
	} {
		h[c.from].send(0, n.raw(n.bare(wire.Broadcast, h[c.from].mac, c.tci)))
		n.run(sim.Millisecond)
		expect(t, c.name, n.received(), c.want)
	}
	// The same address in two VLANs is two stations.
	h[2].send(0, n.raw(n.bare(h[0].mac, h[2].mac, -1)))
	n.run(sim.Millisecond)
	expect(t, "VLAN 20 does not know who is in VLAN 10", n.received(),
		"4: h3>h1 vlan 20 pcp 0 type 88b5\n5: h3>h1 vlan 20 pcp 0 type 88b5")
}

func TestUntaggedPriorityGoesIntoTheTag(t *testing.T) {
	n := star(t, Config{Classifier: dscpClassifier, Ports: []PortConfig{{Access: 10}, {Tagged: []uint16{10}}}}, fast)
	a, b := n.h[0], n.h[1]
	a.send(3, a.to(b, 26<<2, 100))
	n.run(sim.Millisecond)
	expect(t, "dscp 26", b.take(), "h1>h2 vlan 10 pcp 3 10.0.0.1>10.0.0.2 ttl 64 tos 0x68")
}

func TestAgeing(t *testing.T) {
	n := star(t, Config{Ports: make([]PortConfig, 3), AgeingTime: 10 * sim.Second}, fast)
	n.hello()
	a, b := n.h[0], n.h[1]
	probe := func() string {
		a.send(0, n.raw(n.bare(b.mac, a.mac, -1)))
		n.run(sim.Millisecond)
		return n.received()
	}
	n.e.RunUntil(10 * sim.Second)
	expect(t, "just before", probe(), "2: h1>h2 type 88b5")
	n.e.RunUntil(10*sim.Second + 5*sim.Millisecond)
	expect(t, "expired", probe(), "2: h1>h2 type 88b5\n3: h1>h2 type 88b5")
	if got := fmt.Sprint(len(n.s.FDB())); got != "1" {
		t.Errorf("%s live entries, want only h1's: %v", got, n.s.FDB())
	}
	b.send(0, n.raw(n.bare(a.mac, b.mac, -1)))
	n.run(sim.Millisecond)
	n.received()
	expect(t, "learned again", probe(), "2: h1>h2 type 88b5")
}

func TestFDBIsBounded(t *testing.T) {
	n := star(t, Config{Ports: make([]PortConfig, 2), FDBSize: 100, AgeingTime: sim.Second}, fast)
	a := n.h[0]
	flood := func() {
		for i := range 500 {
			a.send(0, n.raw(n.bare(wire.Broadcast, [6]byte{2, 1, 0, 0, byte(i >> 8), byte(i)}, -1)))
		}
		n.run(sim.Millisecond)
		n.received()
	}
	flood()
	if l, f := len(n.s.FDB()), n.s.Totals().FDBFull; l != 100 || f != 400 {
		t.Errorf("%d entries, %d refused, want 100 and 400", l, f)
	}
	n.run(2 * sim.Second)
	a.send(0, n.raw(n.bare(wire.Broadcast, a.mac, -1)))
	n.run(sim.Millisecond)
	n.received()
	if fdb := n.s.FDB(); len(fdb) != 1 || fdb[0].MAC != a.mac || fdb[0].Port != 0 || fdb[0].VID != 1 {
		t.Errorf("expired entries must make room: %v", fdb)
	}
}

func TestLinkDownFlushes(t *testing.T) {
	n := star(t, Config{Ports: make([]PortConfig, 3)}, fast)
	n.hello()
	a, b, c := n.h[0], n.h[1], n.h[2]
	b.port.SetUp(false)
	a.send(0, a.to(b, 0, 100))
	n.run(sim.Millisecond)
	expect(t, "h2's entry is gone, its port is not flooded to", n.received(), "3: h1>h2 10.0.0.1>10.0.0.2 ttl 64")
	c.port.SetUp(false)
	a.send(0, a.to(b, 0, 100))
	n.run(sim.Millisecond)
	if d := n.s.Totals().Drops[switching.DropNoDestination]; d != 1 {
		t.Errorf("no destination %d, want 1", d)
	}
	b.port.SetUp(true)
	c.port.SetUp(true)
	n.hello()
	a.send(0, a.to(b, 0, 100))
	n.run(sim.Millisecond)
	expect(t, "up again", n.received(), "2: h1>h2 10.0.0.1>10.0.0.2 ttl 64")

	// Frames that wait for a link that goes down are dropped and counted.
	b.stop(1, 0xffff)
	n.run(10 * sim.Microsecond)
	for range 5 {
		a.send(0, a.to(b, 0, 1000))
	}
	n.run(10 * sim.Microsecond)
	if q := n.s.QueueBytes(1, 0); q != 5000 {
		t.Fatalf("%d bytes wait, want 5000", q)
	}
	b.port.SetUp(false)
	if d, o := n.s.Totals().Drops[switching.DropLinkDown], n.s.Buffer().Occupancy(); d != 5 || o != 0 {
		t.Errorf("dropped %d with the link, want 5; %d bytes held", d, o)
	}
	if n.s.Paused(1) != 0 {
		t.Error("the pause outlived the link")
	}
}

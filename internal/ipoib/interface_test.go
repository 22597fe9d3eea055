package ipoib

import (
	"net/netip"
	"slices"
	"testing"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// TestJoins: what an interface asks for when its port is active.
func TestJoins(t *testing.T) {
	l := newLab(t, 1)
	l.run(sim.Millisecond)
	l.expect("joins",
		"h1 Set ff12:401b:ffff::ffff:ffff 1",
		"h1 Set ff12:401b:ffff::1 1",
		"h1 Set ff12:601b:ffff::1 1",
		"h1 Set ff12:601b:ffff::1:ff00:1 1", // of fd00::1 and of the link-local address alike
	)
	p := l.ports[0]
	if len(p.attached) != 4 || p.i.Groups() != 4 || p.qkey != testQKey {
		t.Errorf("attached to %v, Q_Key %#x", p.attached, p.qkey)
	}
	if a := p.i.Addrs(); a[2] != netip.MustParsePrefix("fe80::200:0:0:1/64") {
		t.Errorf("addresses %v", a)
	}
	p.i.Close()
	l.run(sim.Millisecond)
	for g, m := range l.members {
		if len(m) != 0 {
			t.Errorf("still a member of %v", g)
		}
	}
	if p.up || p.i.Running() {
		t.Error("closed and up")
	}
}

// TestFirstPacket is the table of all that the first packets between two nodes
// cause.
func TestFirstPacket(t *testing.T) {
	l := upLab(t, 3)
	h1, h2, h3 := l.ports[0], l.ports[1], l.ports[2]
	h1.send("10.0.0.2", "ping")
	l.run(sim.Millisecond)
	l.expect("IPv4",
		"h1 > lid 0xc000 qp 0xffffff: arp 1 10.0.0.1 is 101, 10.0.0.2?",
		"h2 asks for the path to 1",
		"h2 > lid 0x1 qp 0x101: arp 2 10.0.0.2 is 102, 10.0.0.1?",
		"h1 asks for the path to 2",
		"h1 > lid 0x2 qp 0x102: ping",
	)
	h2.send("10.0.0.1", "pong") // h2 has learned h1 from the request, and asks whether it is still there
	l.run(sim.Millisecond)
	l.expect("the way back",
		"h2 > lid 0x1 qp 0x101: arp 1 10.0.0.2 is 102, 10.0.0.1?",
		"h2 > lid 0x1 qp 0x101: pong",
		"h1 > lid 0x2 qp 0x102: arp 2 10.0.0.1 is 101, 10.0.0.2?",
	)
	h1.send("10.0.0.2", "more")
	l.run(sim.Millisecond)
	l.expect("known", "h1 > lid 0x2 qp 0x102: more")

	h1.send("fd00::2", "six!")
	l.run(sim.Millisecond)
	l.expect("IPv6",
		"h1 Set ff12:601b:ffff::1:ff00:2 4",
		"h1 > lid 0xc004 qp 0xffffff: nd 135 fd00::2, source 101 target 0",
		"h2 > lid 0x1 qp 0x101: nd 136 fd00::2, source 0 target 102",
		"h1 > lid 0x2 qp 0x102: six!",
	)
	h1.send("255.255.255.255", "all1")
	h1.send("10.0.0.255", "all2")
	h1.send("ff02::1", "all3")
	l.run(sim.Millisecond)
	l.expect("to all",
		"h1 > lid 0xc000 qp 0xffffff: all1",
		"h1 > lid 0xc000 qp 0xffffff: all2",
		"h1 > lid 0xc002 qp 0xffffff: all3",
	)
	if want := []string{"ping", "more", "six!", "all1", "all2", "all3"}; !slices.Equal(h2.got, want) {
		t.Errorf("h2 got %v, want %v", h2.got, want)
	}
	if want := []string{"all1", "all2", "all3"}; !slices.Equal(h3.got, want) || len(h1.got) != 1 {
		t.Errorf("h3 got %v, want %v; h1 got %v", h3.got, want, h1.got)
	}
	if c := h1.i.Counters(); c.TxPackets != 6 || c.TxBytes != 360 || c.RxPackets != 1 || c.Solicits != 2 || c.PathQueries != 1 {
		t.Errorf("%+v", c)
	}
	if h3.i.Neighbours() != 0 {
		t.Errorf("h3, to whom nobody spoke, knows %d neighbours", h3.i.Neighbours())
	}
}

// TestWhatIsNotSent: packets that an interface drops, and why.
func TestWhatIsNotSent(t *testing.T) {
	l := upLab(t, 2)
	h1, h2 := l.ports[0], l.ports[1]
	long := make([]byte, 2045)
	copy(long, packet(1, "10.0.0.2", "long"))
	long[2], long[3] = 2045>>8, 2045&0xff
	ns := make([]byte, ndLen)
	encodeND(ns, wire.ICMPv6NeighborSol, 0, netip.MustParseAddr("fd00::1"), netip.MustParseAddr("ff02::1:ff00:2"), netip.MustParseAddr("fd00::2"), Addr{})
	for _, c := range []struct {
		name string
		b    []byte
		want Counters
	}{
		{"empty", nil, Counters{TxMalformed: 1}},
		{"not IP", []byte("hello"), Counters{TxMalformed: 1}},
		{"short", packet(1, "10.0.0.2", "cut!")[:19], Counters{TxMalformed: 1}},
		{"to nobody", packet(1, "0.0.0.0", "none"), Counters{TxMalformed: 1}},
		{"loopback", packet(1, "::1", "loop"), Counters{TxMalformed: 1}},
		{"too long", long, Counters{TxTooLong: 1}},
		{"the kernel's own solicitation", ns, Counters{}},
	} {
		before := h1.i.Counters()
		h1.output(c.b)
		l.run(sim.Millisecond)
		c.want.Joins, c.want.Solicits = before.Joins, before.Solicits
		got := h1.i.Counters()
		got.TxMalformed -= before.TxMalformed
		got.TxTooLong -= before.TxTooLong
		if got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	l.expect("nothing was sent")
	h2.full = true
	h1.send("10.0.0.2", "full")
	l.run(sim.Millisecond)
	if c := h2.i.Counters(); c.NotTaken != 1 || c.RxPackets != 0 {
		t.Errorf("%+v", c)
	}
}

// TestNoAnswer: an address that nobody has, on a link that loses, costs three
// requests; what waits is bounded; later packets are dropped for a while, then
// it is tried again.
func TestNoAnswer(t *testing.T) {
	l := upLab(t, 2)
	h1, h2 := l.ports[0], l.ports[1]
	for range 20 {
		h1.send("10.0.0.9", "lost")
	}
	l.run(2500 * sim.Millisecond)
	request := "h1 > lid 0xc000 qp 0xffffff: arp 1 10.0.0.1 is 101, 10.0.0.9?"
	l.expect("three requests", request, request, request)
	if c := h1.i.Counters(); c.TxOverflow != 4 || c.TxUnresolved != 0 {
		t.Errorf("%+v", c)
	}
	l.run(sim.Second)
	h1.send("10.0.0.9", "lost")
	if c := h1.i.Counters(); c.TxUnresolved != 17 {
		t.Errorf("%+v", c)
	}
	l.expect("silence")
	l.run(sim.Second)
	h1.send("10.0.0.9", "lost")
	l.expect("again", request)

	l.run(10 * sim.Second)
	// Requests and replies are lost; the third attempt of each gets through.
	n := 0
	l.lose = func(from, to int, d *hca.Datagram) bool {
		if d.Data[0] == wire.EtherTypeARP>>8 && d.Data[1] == wire.EtherTypeARP&0xff && from+to == 3 {
			n++
			return n == 1 || n == 3
		}
		return false
	}
	h1.send("10.0.0.2", "here")
	l.run(3 * sim.Second)
	if !slices.Equal(h2.got, []string{"here"}) || n != 5 {
		t.Errorf("h2 got %v after %d messages", h2.got, n)
	}
}

// TestManagerIsSilent: subnet administration does not answer for a while: joins
// are repeated, later and later; paths that are known stay in use; new ones are
// not found until it is back.
func TestManagerIsSilent(t *testing.T) {
	l := newLab(t, 3)
	l.manager = false
	l.run(60 * sim.Second)
	h1 := l.ports[0]
	n := 0
	for _, s := range l.log {
		if s == "h1 Set ff12:401b:ffff::ffff:ffff 1" {
			n++
		}
	}
	// 0, 4 (3 s without an answer, 1 s more), 9, 16, 27, 46: each wait is twice as long, up to 16 s.
	if n != 6 || h1.up {
		t.Errorf("%d joins in a minute, up %v", n, h1.up)
	}
	l.manager = true
	l.run(20 * sim.Second)
	if !h1.up {
		t.Fatalf("not up: %+v", h1.i.Counters())
	}
	h1.send("10.0.0.2", "one!")
	l.run(sim.Millisecond)
	l.manager = false
	l.log = nil
	h1.send("10.0.0.2", "two!")
	h1.send("10.0.0.3", "lost")
	l.run(3500 * sim.Millisecond)
	if got := l.ports[1].got; !slices.Equal(got, []string{"one!", "two!"}) || len(l.ports[2].got) != 0 {
		t.Errorf("h2 got %v, h3 got %v", got, l.ports[2].got)
	}
	l.run(2 * sim.Second)
	l.manager = true
	for range 3 { // h3's own question about h1 has failed as well
		h1.send("10.0.0.3", "late")
		l.run(4 * sim.Second)
	}
	if got := l.ports[2].got; len(got) == 0 {
		t.Errorf("h3 got %v: %+v", got, h1.i.Counters())
	}
}

// TestPathFailures: no path, and one that is asked for again when it is old.
func TestPathFailures(t *testing.T) {
	l := upLab(t, 2)
	h1 := l.ports[0]
	var err error
	h1.i.PathTo(hca.GID{15: 99}, func(_ *mad.PathRecord, e error) { err = e })
	l.run(sim.Millisecond)
	if err != ErrNoPath {
		t.Errorf("a port that is not there: %v", err)
	}
	err = nil
	h1.i.PathTo(hca.GID{15: 99}, func(_ *mad.PathRecord, e error) { err = e })
	if err != ErrNoPath || h1.i.Counters().PathQueries != 1 {
		t.Errorf("at once again: %v, %d questions", err, h1.i.Counters().PathQueries)
	}
	l.run(2 * sim.Second)
	if len(h1.i.paths) != 0 {
		t.Error("the failure is remembered for ever")
	}
	h1.send("10.0.0.2", "one!")
	l.run(sim.Millisecond)
	q := h1.i.Counters().PathQueries
	l.run(pathTime + sim.Second) // it was used: asked for again
	if got := h1.i.Counters().PathQueries; got != q+1 {
		t.Errorf("%d questions after %v, want %d", got, pathTime, q+1)
	}
	l.run(2 * pathTime)
	if len(h1.i.paths) != 0 || h1.i.Neighbours() != 0 {
		t.Errorf("%d paths and %d neighbours that nobody uses", len(h1.i.paths), h1.i.Neighbours())
	}
}

// TestReachability: a neighbour that was not heard of for a while is asked
// again when it is used, and forgotten when it does not answer.
func TestReachability(t *testing.T) {
	l := upLab(t, 2)
	h1, h2 := l.ports[0], l.ports[1]
	h1.send("10.0.0.2", "one!")
	l.run(reachableTime + sim.Second)
	l.log = nil
	h1.send("10.0.0.2", "two!")
	l.run(sim.Millisecond)
	l.expect("a probe to it alone",
		"h1 > lid 0x2 qp 0x102: arp 1 10.0.0.1 is 101, 10.0.0.2?",
		"h1 > lid 0x2 qp 0x102: two!",
		"h2 > lid 0x1 qp 0x101: arp 2 10.0.0.2 is 102, 10.0.0.1?",
	)
	l.lose = func(from, to int, _ *hca.Datagram) bool { return from == 2 }
	l.run(reachableTime + sim.Second)
	h1.send("10.0.0.2", "3...")
	l.run(arpTries*arpTime + sim.Millisecond)
	h1.send("10.0.0.2", "lost")
	if c := h1.i.Counters(); c.TxUnresolved != 1 {
		t.Errorf("%+v", c)
	}
	if want := []string{"one!", "two!", "3..."}; !slices.Equal(h2.got, want) {
		t.Errorf("h2 got %v", h2.got)
	}
}

// TestLIDChange: who changes its LID tells all, and they ask for the path again.
func TestLIDChange(t *testing.T) {
	l := upLab(t, 2)
	h1, h2 := l.ports[0], l.ports[1]
	h1.send("10.0.0.2", "one!")
	l.run(sim.Millisecond)
	h2.moves(77)
	l.log = nil
	l.run(sim.Millisecond)
	h1.send("10.0.0.2", "two!")
	l.run(sim.Millisecond)
	l.expect("announced and found",
		"h2 > lid 0xc000 qp 0xffffff: arp 1 10.0.0.2 is 102, 10.0.0.2?",
		"h2 > lid 0xc002 qp 0xffffff: nd 136 fd00::2, source 0 target 102",
		"h2 > lid 0xc002 qp 0xffffff: nd 136 fe80::200:0:0:2, source 0 target 102",
		"h1 asks for the path to 2",
		"h1 > lid 0x4d qp 0x102: two!",
	)
	if want := []string{"one!", "two!"}; !slices.Equal(h2.got, want) {
		t.Errorf("h2 got %v", h2.got)
	}
}

// TestNewManager: one that knows no groups wants its clients to register again;
// the MLIDs that it gives may be others.
func TestNewManager(t *testing.T) {
	l := upLab(t, 2)
	h1, h2 := l.ports[0], l.ports[1]
	h1.send("10.0.0.2", "one!")
	h1.send("fd00::2", "one6")
	l.run(sim.Millisecond)
	clear(l.members)
	clear(l.groups)
	for k := range 3 {
		l.groups[wire.GID{15: byte(k)}] = wire.LID(0xc000 + k)
	}
	l.groups[wire.GID(BroadcastGID(0xffff))] = 0xc003
	for _, p := range l.ports {
		p.change(ChangeMembership)
	}
	l.run(sim.Millisecond)
	h1.send("10.0.0.2", "two!")
	h1.send("fd00::2", "two6")
	h1.send("255.255.255.255", "all!")
	l.run(sim.Millisecond)
	if want := []string{"one!", "one6", "two!", "two6", "all!"}; len(h2.got) != 5 || h2.attached[BroadcastGID(0xffff)] != 0xc003 {
		t.Errorf("h2 got %v, want %v; attached to %v", h2.got, want, h2.attached)
	}
	if n := len(l.members[wire.GID(BroadcastGID(0xffff))]); n != 2 {
		t.Errorf("%d members of the broadcast group", n)
	}
	if !h1.up || !h2.up {
		t.Error("an interface went down")
	}
}

// TestPortDown: without a link everything is forgotten, and learned again.
func TestPortDown(t *testing.T) {
	l := upLab(t, 2)
	h1, h2 := l.ports[0], l.ports[1]
	h1.send("10.0.0.2", "one!")
	l.run(sim.Millisecond)
	var err error
	h1.i.ResolveIP(netip.MustParseAddr("10.0.0.7"), func(_ hca.GID, e error) { err = e })
	h1.active = false
	h1.change(ChangeState)
	l.run(sim.Millisecond)
	if h1.up || err != ErrDown || len(h1.attached) != 0 || h1.i.Neighbours() != 0 {
		t.Errorf("up %v, error %v, attached %v, %d neighbours", h1.up, err, h1.attached, h1.i.Neighbours())
	}
	h1.send("10.0.0.2", "lost")
	h1.i.ResolveIP(netip.MustParseAddr("10.0.0.2"), func(_ hca.GID, e error) { err = e })
	if c := h1.i.Counters(); c.TxNotJoined != 1 || err != ErrDown {
		t.Errorf("%v, %+v", err, c)
	}
	h1.active = true
	h1.change(ChangeState)
	l.run(sim.Millisecond)
	h1.send("10.0.0.2", "two!")
	l.run(sim.Millisecond)
	if !h1.up || !slices.Equal(h2.got, []string{"one!", "two!"}) {
		t.Errorf("up %v, h2 got %v", h1.up, h2.got)
	}
}

// TestPKey: another partition has other groups.
func TestPKey(t *testing.T) {
	l := upLab(t, 1)
	h1 := l.ports[0]
	l.groups[wire.GID(BroadcastGID(0x8001))] = 0xc100
	h1.pkeys = []uint16{0x0001}
	h1.change(ChangeMembership)
	l.run(sim.Millisecond)
	if !h1.up || h1.attached[BroadcastGID(0x8001)] != 0xc100 || len(h1.attached) != 4 {
		t.Errorf("up %v, attached to %v", h1.up, h1.attached)
	}
	if g := h1.i.broadcast.mgid; g != (hca.GID{0: 0xff, 1: 0x12, 2: 0x40, 3: 0x1b, 4: 0x80, 5: 1, 12: 255, 13: 255, 14: 255, 15: 255}) {
		t.Errorf("broadcast group %v", netip.AddrFrom16(g))
	}
}

// TestSetAddrs: addresses that users add are answered for, those that they
// remove not any more.
func TestSetAddrs(t *testing.T) {
	l := upLab(t, 2)
	h1, h2 := l.ports[0], l.ports[1]
	solicited := MulticastGID(netip.MustParseAddr("ff02::1:ff00:99"), 0xffff)
	h2.i.SetAddrs([]netip.Prefix{netip.MustParsePrefix("10.0.0.99/24"), netip.MustParsePrefix("fd00::99/64"), netip.MustParsePrefix("fe80::200:0:0:2/64")})
	l.run(sim.Millisecond)
	if h2.attached[solicited] == 0 {
		t.Errorf("attached to %v", h2.attached)
	}
	h1.send("10.0.0.2", "gone")
	h1.send("10.0.0.99", "new4")
	h1.send("fd00::99", "new6")
	l.run(10 * sim.Second)
	if want := []string{"new4", "new6"}; !slices.Equal(h2.got, want) {
		t.Errorf("h2 got %v, want %v", h2.got, want)
	}
	h2.i.SetAddrs([]netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")})
	l.run(sim.Millisecond)
	if h2.attached[solicited] != 0 || h2.attached[MulticastGID(netip.MustParseAddr("224.0.0.1"), 0xffff)] == 0 {
		t.Errorf("attached to %v", h2.attached)
	}
	h1.send("10.0.0.2", "back")
	l.run(10 * sim.Second)
	if got := h2.got[len(h2.got)-1]; got != "back" {
		t.Errorf("h2 got %v", h2.got)
	}
}

// TestUnreachable: the kernel is told of packets that nobody answers for, but
// not of errors, which would be answered for ever.
func TestUnreachable(t *testing.T) {
	l := upLab(t, 1)
	h1 := l.ports[0]
	var got [][]byte
	h1.i.host = recorder(func(b []byte) bool { got = append(got, slices.Clone(b)); return true })
	long := append(packet(1, "10.0.0.9", "long"), make([]byte, 300)...)
	long[2], long[3] = 360>>8, 360&0xff
	icmpError := packet(1, "10.0.0.9", "oops")
	icmpError[9], icmpError[20] = wire.ProtoICMP, wire.ICMPUnreachable
	icmpError6 := packet(1, "fd00::9", "oops")
	icmpError6[6], icmpError6[40] = wire.ProtoICMPv6, wire.ICMPv6Unreachable
	for _, b := range [][]byte{packet(1, "10.0.0.9", "four"), long, icmpError, packet(1, "fd00::9", "six!"), icmpError6} {
		h1.output(b)
	}
	l.run(arpTries*arpTime + sim.Millisecond)
	if len(got) != 3 {
		t.Fatalf("%d errors: % x", len(got), got)
	}
	for k, want := range []struct {
		src, dst string
		quote    []byte
	}{
		{"10.0.0.9", "10.0.0.1", packet(1, "10.0.0.9", "four")},
		{"10.0.0.9", "10.0.0.1", long[:quoted]},
		{"fd00::9", "fd00::1", packet(1, "fd00::9", "six!")},
	} {
		b := got[k]
		src, dst, m, typ, code, ok := netip.Addr{}, netip.Addr{}, []byte(nil), byte(wire.ICMPUnreachable), byte(wire.ICMPCodeHost), false
		if h := wire.IPv4(b); h.Valid() {
			src, dst, m = netip.AddrFrom4(h.Src()), netip.AddrFrom4(h.Dst()), b[20:]
			ok = h.ChecksumOK() && h.Proto() == wire.ProtoICMP && wire.ICMP(m).ChecksumOK()
		} else {
			h := wire.IPv6(b)
			src, dst, m = netip.AddrFrom16(h.Src()), netip.AddrFrom16(h.Dst()), b[40:]
			ok = h.Valid() && h.NextHeader() == wire.ProtoICMPv6 && wire.ICMP(m).ChecksumOK6(h.Src(), h.Dst())
			typ, code = wire.ICMPv6Unreachable, wire.ICMPv6CodeAddress
		}
		if !ok || src.String() != want.src || dst.String() != want.dst || m[0] != typ || m[1] != code || string(m[8:]) != string(want.quote) {
			t.Errorf("error %d: % x", k, b)
		}
	}
	h1.output(packet(1, "10.0.0.9", "more"))
	if c := h1.i.Counters(); len(got) != 4 || c.TxUnresolved != 6 {
		t.Errorf("%d errors, %+v", len(got), c)
	}
}

type recorder func([]byte) bool

func (f recorder) Deliver(b []byte) bool { return f(b) }
func (recorder) LinkChanged(bool, int)   {}

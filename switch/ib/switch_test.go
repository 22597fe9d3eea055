package ib

import (
	"slices"
	"testing"

	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// I1 of the scenarios: two switches, N hot senders and a victim at the first, M
// hot senders at the second, which has both receivers. Returned is the rate of
// the victim, as a share of the link.
func victim(t *testing.T, hot, local int, sl uint8) (share float64) {
	n := newNetwork(t)
	s1, s2 := n.addSwitch(Config{Ports: hot + 2}), n.addSwitch(Config{Ports: local + 3})
	for i := range hot + 1 { // LIDs 1 to hot+1, the victim's sender is the last
		n.addEnd(s1, i+1)
		s1.route(i+1, i+1)
	}
	for i := range local + 2 { // then the local senders, the hot receiver, the victim's
		n.addEnd(s2, i+1)
		s2.route(hot+2+i, i+1)
		s1.route(hot+2+i, hot+2)
	}
	n.connect(s1.Port(hot+2), s2.Port(local+3))
	n.activate()
	target, other := hot+1+local+1, hot+1+local+2
	for i := range hot {
		n.flow(i+1, target, 0, 0, 4096, -1)
	}
	for i := range local {
		n.flow(hot+2+i, target, 0, 0, 4096, -1)
	}
	n.flow(hot+1, other, sl, sl, 4096, -1)
	n.run(sim.Millisecond)
	before := n.end[other-1].Bytes
	n.run(4 * sim.Millisecond)
	// Who waits is everyone upstream of the congested output, not the output.
	for _, p := range []*ibport.Port{n.end[0].Port, n.end[hot+1].Port, s1.Port(hot + 2)} {
		if p.Counters().XmitWait == 0 && (sl == 0 || p.Num() == 1) { // on its own lane the victim fills the link
			t.Errorf("%s did not wait", p.Name())
		}
	}
	if w := s2.Port(local + 1).Counters().XmitWait; w != 0 {
		t.Errorf("the congested output waited %d ticks", w)
	}
	got := float64(n.end[other-1].Bytes-before) * 8 / (4e-3 * 100e9) * 4124 / 4122
	n.lossless()
	n.done()
	return got
}

func TestVictim(t *testing.T) {
	for _, c := range []struct {
		n, m        int
		want, ideal float64
	}{{1, 3, .25, .75}, {3, 1, 1. / 6, .5}, {2, 2, 1. / 6, 2. / 3}} {
		got := victim(t, c.n, c.m, 0)
		if got < c.want*.85 || got > c.want*1.15 {
			t.Errorf("N %d, M %d: the victim has %.3f of the link, want %.3f", c.n, c.m, got, c.want)
		}
		cured := victim(t, c.n, c.m, 1)
		if cured < c.ideal*.9 {
			t.Errorf("N %d, M %d: on a lane of its own the victim has %.3f of the link, want %.3f", c.n, c.m, cured, c.ideal)
		}
		t.Logf("N %d, M %d: %.4f (closed form %.4f), on its own lane %.4f (at least %.4f)", c.n, c.m, got, c.want, cured, c.ideal)
	}
}

// Seven into one: nothing is lost, each has its seventh, and who waits counts
// it.
func incast(t *testing.T) string {
	n := star(t, 8, Config{})
	const each = 1000
	for i := 1; i <= 7; i++ {
		n.flow(i, 8, 0, 0, 4096, each)
	}
	whole := sim.Time(7*each) * 4124 * 80
	n.run(whole / 2)
	r := n.end[7]
	for i := 1; i <= 7; i++ {
		if x := float64(r.BySLID[wire.LID(i)]) * 7 / float64(r.Rcvd); x < .98 || x > 1.02 {
			t.Errorf("sender %d has %.3f of its share", i, x)
		}
		if c := n.end[i-1].Port.Counters(); c.XmitWait == 0 {
			t.Errorf("sender %d did not wait", i)
		}
	}
	if c := n.sw[0].Port(8).Counters(); c.XmitWait != 0 {
		t.Errorf("the congested output waited %d ticks for a receiver that is fast", c.XmitWait)
	}
	start := n.e.Now() - whole/2
	n.run(whole)
	if r.Rcvd != 7*each {
		t.Errorf("%d of %d packets arrived", r.Rcvd, 7*each)
	}
	if took := r.Last - start; took > whole*1001/1000 {
		t.Errorf("it took %v, at line rate it is %v", took, whole)
	}
	n.lossless()
	s := n.table()
	n.done()
	return s
}

func TestIncast(t *testing.T) { golden(t, "incast-7", func() string { return incast(t) }) }

// The time of a packet over two switches to the picosecond.
func TestTwoSwitches(t *testing.T) {
	for _, c := range []struct {
		saf  bool
		want sim.Time
	}{
		// Each cut-through hop: 61 bytes until the headers are there, 500 ns of
		// wire, 100 ns of switch; then the whole packet at the end.
		{false, 2*(61*80+500_000+100_000) + 4124*80 + 500_000},
		{true, 2*(4124*80+500_000+100_000) + 4124*80 + 500_000},
	} {
		if tunnelled && !c.saf {
			continue // a datagram arrives whole
		}
		n := twoSwitches(t, Config{StoreAndForward: c.saf})
		n.end[1].Keep = true
		start := n.e.Now()
		n.flow(1, 2, 0, 0, 4096, 1)
		n.run(10 * sim.Microsecond)
		if got := n.end[1].Last - start; got != c.want || len(n.end[1].Log) != 1 {
			t.Errorf("store-and-forward %v: %v after %d ps, want %d", c.saf, n.end[1].Log, got, c.want)
		}
		n.done()
	}
}

func twoSwitches(t testing.TB, cfg Config) *network {
	n := newNetwork(t)
	cfg.Ports = 4
	s1, s2 := n.addSwitch(cfg), n.addSwitch(cfg)
	n.addEnd(s1, 1)
	n.addEnd(s2, 1)
	n.connect(s1.Port(3), s2.Port(4))
	s1.route(1, 1, 2, 3, 102, 3)
	s2.route(1, 4, 2, 1, 101, 4)
	n.activate()
	return n
}

// An output that is faster than the input waits until the packet cannot run
// dry: its last byte leaves when it is there.
func TestFasterOutput(t *testing.T) {
	n := newNetwork(t)
	slow := n.port
	slow.SpeedsExt = 0 // 4X QDR: 32 Gb/s
	s := n.addSwitch(Config{Ports: 2, Each: []*ibport.Config{&slow}})
	n.port = slow
	n.addEnd(s, 1)
	n.port = s.cfg.Port
	n.addEnd(s, 2)
	s.route(1, 1, 2, 2)
	n.activate()
	start := n.e.Now()
	n.flow(1, 2, 0, 0, 4096, 1)
	n.run(10 * sim.Microsecond)
	want := sim.Time(4124*250 + 500_000 + 100_000 + 500_000)
	if tunnelled {
		want += 4124 * 80 // a datagram arrives whole, and leaves whole
	}
	if got := n.end[1].Last - start; got != want {
		t.Errorf("arrived after %d ps, want %d", got, want)
	}
	n.flow(2, 1, 0, 0, 4096, 10) // and the other way round: cut-through as ever
	n.run(20 * sim.Microsecond)
	if n.end[0].Rcvd != 10 {
		t.Errorf("%d packets", n.end[0].Rcvd)
	}
	n.lossless()
	n.done()
}

func TestForwarding(t *testing.T) {
	n := star(t, 4, Config{})
	s := n.sw[0]
	send := func(dlid wire.LID, payload int, pkey uint16, sl uint8) {
		k := ibtest.Packet{SLID: 1, DLID: dlid, Payload: payload, PKey: pkey, SL: sl}
		n.end[0].Send(0, k.Make(n.pool))
		n.run(20 * sim.Microsecond)
	}
	for _, c := range []struct {
		dlid wire.LID
		drop DropReason
	}{{77, DropNoDestination}, {0, DropNoDestination}, {0xffff, DropNoDestination}, {201, DropNoDestination}, {1, DropLooping}, {0xc005, DropNoDestination}, {101, DropNotForUs}} {
		before := s.Totals().Drops[c.drop]
		send(c.dlid, 256, 0, 0)
		if s.Totals().Drops[c.drop] != before+1 {
			t.Errorf("LID %#x: drops %v", c.dlid, s.Totals().Drops)
		}
	}
	if c := s.Port(1).Counters(); c.RcvSwitchRelay != 6 || c.DLIDMapping != 5 || c.Looping != 1 {
		t.Errorf("%d relay errors, %d, %d", c.RcvSwitchRelay, c.DLIDMapping, c.Looping)
	}
	// The neighbour's MTU.
	ibtest.Set(s.Port(2), 0, func(a *mad.PortInfo) { a.NeighborMTU = mad.MTU1024 })
	send(2, 1024, 0, 0)
	send(2, 2048, 0, 0)
	if c := s.Port(2).Counters(); c.XmitPkts != 1 || c.NeighborMTU != 1 || c.XmitDiscards != 1 {
		t.Errorf("MTU: %+v", c)
	}
	// SL2VL by input port.
	tab := mad.SLtoVL{VL: [16]uint8{5: 3, 6: 15, 7: 9}}
	s.Port(3).SetSL2VL(1, &tab)
	n.end[2].Keep = true
	for _, sl := range []uint8{5, 6, 7} {
		send(3, 64, 0, sl)
	}
	if c := s.Port(3).Counters(); c.LanePkts[3] != 1 || c.XmitPkts != 1 || s.Totals().Drops[DropVLMapping] != 2 || len(n.end[2].Log) != 1 {
		t.Errorf("SL2VL: %v, drops %v", c.LanePkts, s.Totals().Drops)
	}
	// A port that is not active.
	s.Port(4).Down()
	send(4, 64, 0, 0)
	if c := s.Port(4).Counters(); c.Inactive != 1 || s.Totals().Drops[DropRefused] != 2 {
		t.Errorf("inactive: %+v", c)
	}
	n.run(10 * sim.Millisecond)
	n.done()
}

// Partition enforcement, in and out, with its counters and trap.
func TestPartitions(t *testing.T) {
	n := star(t, 3, Config{})
	s := n.sw[0]
	send := func(pkey uint16) {
		k := ibtest.Packet{SLID: 1, DLID: 2, Payload: 64, PKey: pkey}
		n.end[0].Send(0, k.Make(n.pool))
		n.run(20 * sim.Microsecond)
	}
	ibtest.Set(s.Port(2), 0, func(a *mad.PortInfo) { a.PartitionEnforcementOutbound = true })
	s.Port(2).SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{0x7fff, 3: 0x8001}})
	for _, k := range []uint16{0xffff, 0x7fff, 0x8001, 0x0001, 0x8002} {
		send(k)
	}
	if c := s.Port(2).Counters(); c.XmitPkts != 3 || c.XmitConstraint != 2 {
		t.Errorf("out: %d sent, %d refused", c.XmitPkts, c.XmitConstraint)
	}
	ibtest.Set(s.Port(1), 0, func(a *mad.PortInfo) { a.PartitionEnforcementInbound = true })
	send(0x8002)
	if c := s.Port(1).Counters(); c.RcvConstraint != 1 || s.Port(1).Info().PKeyViolations != 1 {
		t.Errorf("in: %d refused", c.RcvConstraint)
	}
	if b := s.Port(1).BadPKey(); b.PKey != 0x8002 || b.SLID != 1 || b.DLID != 2 {
		t.Errorf("%+v", b)
	}
	if s.Agent().Count.Traps != 3 {
		t.Errorf("%d traps", s.Agent().Count.Traps)
	}
	// The port has the table of the end behind it, a limited member of partition
	// 1: what that sends as such goes on, to full members.
	s.Port(1).SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{0x0001}})
	send(0x0001)
	if in, out := s.Port(1).Counters().RcvConstraint, s.Port(2).Counters().XmitPkts; in != 1 || out != 4 {
		t.Errorf("limited member: %d refused, %d sent", in, out)
	}
	n.done()
}

// A copy by every port of the group but the one it came by, each waiting for
// credits of its own; the buffer is free with the last.
func TestMulticast(t *testing.T) {
	n := star(t, 20, Config{})
	s := n.sw[0]
	var low, high mad.MulticastForwarding
	low.PortMask[3], high.PortMask[3] = 0b1110, 0b1011 // ports 1 2 3, 16 17 19
	if !s.SetMFTBlock(1, 0, &low) || !s.SetMFTBlock(1, 1, &high) || s.SetMFTBlock(1, 2, &high) || s.SetMFTBlock(200, 0, &low) {
		t.Fatal("blocks of the MFT")
	}
	n.end[16].Service = 3 * sim.Microsecond // LID 17 is slow
	const many = 200
	n.end[0].Start(0, &ibtest.Flow{Left: many, Packet: ibtest.Packet{SLID: 1, DLID: 0xc000 + 35, Payload: 2048}})
	n.run(100 * sim.Microsecond)
	if a, b := n.end[1].Rcvd, n.end[16].Rcvd; a <= b/2 || a == many {
		t.Errorf("fast has %d, slow %d", a, b)
	}
	n.run(2 * sim.Millisecond)
	for i, x := range n.end {
		want := uint64(0)
		if slices.Contains([]int{2, 3, 16, 17, 19}, i+1) {
			want = many
		}
		if x.Rcvd != want {
			t.Errorf("h%d received %d, want %d", i+1, x.Rcvd, want)
		}
	}
	if c := s.Port(2).Counters(); c.MulticastXmitPkts != many || c.UnicastXmitPkts != 0 {
		t.Errorf("%+v", c)
	}
	n.lossless()
	n.done()
}

// A link that goes down under traffic: what waited is discarded, others go on,
// the switch says so, and nothing leaks.
func TestLinkDown(t *testing.T) {
	n := star(t, 3, Config{})
	s := n.sw[0]
	s.info.PortStateChange = false
	n.flow(1, 3, 0, 0, 4096, -1)
	n.flow(2, 3, 0, 0, 4096, -1)
	n.flow(3, 1, 0, 0, 4096, -1)
	n.run(100 * sim.Microsecond)
	n.end[2].Port.Link().SetUp(false)
	n.run(100 * sim.Microsecond)
	if tot := s.Totals(); tot.Drops[DropLinkDown] == 0 || tot.Drops[DropRefused] == 0 || tot.Queued != 0 || !s.info.PortStateChange {
		t.Errorf("%+v", tot)
	}
	if s.Port(3).State() != mad.PortDown || s.Agent().Count.Traps != 1 {
		t.Errorf("%v, %d traps", s.Port(3).State(), s.Agent().Count.Traps)
	}
	n.end[2].Port.Link().SetUp(true)
	n.run(5 * sim.Millisecond)
	n.activate()
	before := n.end[2].Rcvd
	n.run(sim.Millisecond)
	if n.end[2].Rcvd < before+2000 || n.end[0].Rcvd == 0 {
		t.Errorf("%d packets when the link is back", n.end[2].Rcvd-before)
	}
	n.done()
}

// Too old at the head of a lane: discarded after HOQLife, and after
// VLStallCount of them the lane discards everything for a while.
func TestHOQ(t *testing.T) {
	n := star(t, 2, Config{})
	s := n.sw[0]
	ibtest.Set(s.Port(2), 0, func(a *mad.PortInfo) { a.HOQLife, a.VLStallCount = 3, 2 }) // 32.8 us
	n.end[1].Service = sim.Second
	n.flow(1, 2, 0, 0, 4096, 24)
	n.run(30 * sim.Microsecond)
	if s.Totals().Queued == 0 || s.Port(2).Counters().HOQ != 0 {
		t.Fatalf("%+v", s.Totals())
	}
	n.run(10 * sim.Microsecond)
	if got := s.Port(2).Counters().HOQ; got != 1 {
		t.Errorf("%d discarded after one HOQLife", got)
	}
	n.run(35 * sim.Microsecond)
	if got := s.Port(2).Counters(); got.HOQ < 7 || got.XmitDiscards != got.HOQ || s.Totals().Queued != 0 {
		t.Errorf("%d discarded in a stall, %d queued", got.HOQ, s.Totals().Queued)
	}
	n.run(20 * sim.Second)
	n.done()
}

// The switch's lifetime limit bounds the wait even without HOQLife.
func TestLifetime(t *testing.T) {
	n := star(t, 2, Config{})
	i := n.sw[0].SwitchInfo()
	i.LifeTimeValue, i.PortStateChange = 5, true // 131 us
	if n.sw[0].SetSwitchInfo(&i) != 0 || n.sw[0].SwitchInfo().PortStateChange {
		t.Error("SwitchInfo")
	}
	n.end[1].Service = sim.Second
	n.flow(1, 2, 0, 0, 4096, 20)
	n.run(100 * sim.Microsecond)
	if n.sw[0].Port(2).Counters().Lifetime != 0 {
		t.Error("too early")
	}
	n.run(sim.Millisecond)
	if got := n.sw[0].Port(2).Counters().Lifetime; got != 5 {
		t.Errorf("%d discarded, want 5: 15 are in the receiver's buffer", got)
	}
	n.run(20 * sim.Second)
	n.done()
}

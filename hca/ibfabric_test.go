package hca_test

import (
	"bytes"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// flow is a stream of writes between two adapters of a network.
type flow struct {
	x    [2]*end
	size int
	left int // to be posted
	done int
	bad  []ring.CQE
}

// flow makes a flow that keeps depth writes of size bytes posted.
func (n *ibnet) flow(from, to int, size, count int, p verbs.Path) *flow {
	n.Helper()
	if p.Timeout == 0 {
		p.Timeout = 16
	}
	fl := &flow{x: n.pairOf(from, to).connect(connOpt{size: size, depth: 32, path: p}), size: size, left: count}
	fill(fl.x[0].buf.B, uint32(from))
	return fl
}

func (fl *flow) step() {
	for _, c := range fl.x[0].poll() {
		fl.done++
		if c.Status != 0 {
			fl.bad = append(fl.bad, c)
		}
	}
	for fl.left > 0 {
		w := writeOf(fl.x, fl.size)
		if fl.x[0].qp.Post(&w) != nil {
			break
		}
		fl.left--
	}
	fl.x[0].qp.Doorbell()
}

// drive runs flows for a time, in steps that keep their queues full.
func (n *ibnet) drive(d sim.Time, fl ...*flow) {
	for end := n.e.Now() + d; n.e.Now() < end; {
		for _, f := range fl {
			f.step()
		}
		n.run(20 * sim.Microsecond)
	}
	for _, f := range fl {
		f.step()
	}
}

func (n *ibnet) check(fl ...*flow) {
	n.Helper()
	for i, f := range fl {
		if len(f.bad) > 0 {
			n.Errorf("flow %d: %+v", i, f.bad[0])
		}
	}
}

// done waits until the flows have sent all.
func (n *ibnet) finish(limit sim.Time, fl ...*flow) {
	n.Helper()
	for i, f := range fl {
		want := f.done + f.left + int(f.x[0].qp.SendRing().Distance(f.x[0].qp.SendRing().Consumer(), f.x[0].qp.SendRing().Producer()))
		for end := n.e.Now() + limit; n.e.Now() < end && (f.left > 0 || f.done < want) && len(f.bad) == 0; {
			n.drive(100*sim.Microsecond, fl...)
		}
		if f.done < want || !bytes.Equal(f.x[0].buf.B, f.x[1].buf.B) {
			n.Errorf("flow %d: %d of %d done, data equal: %v", i, f.done, want, bytes.Equal(f.x[0].buf.B, f.x[1].buf.B))
		}
	}
	n.check(fl...)
}

// leaves is two switches joined by k cables, with adapters at each.
func (n *ibnet) leaves(k, left, right int) {
	a, b := n.addSwitch(left+k), n.addSwitch(right+k)
	for i := range k {
		n.connect(a.Port(left+1+i), b.Port(right+1+i))
	}
	for i := range left {
		n.addCA(a.Port(i + 1))
	}
	for i := range right {
		n.addCA(b.Port(i + 1))
	}
}

// TestIBIncast: seven adapters write to one. Nothing is lost, nothing is sent
// again, and the senders' ports wait for credits.
func TestIBIncast(t *testing.T) {
	n := newIBNet(t, 1)
	n.star(8)
	n.up(sm.Config{})
	var fl []*flow
	for i := range 7 {
		fl = append(fl, n.flow(i+1, 0, 64<<10, 40, verbs.Path{}))
	}
	n.drive(500*sim.Microsecond, fl...)
	port := n.ca[0].Port(1)
	if got := float64(port.Counters().RcvData*4) * 8 / 500e-6 / 1e9; got < 85 { // EDR carries 100 Gb/s
		t.Errorf("the receiver's port has had %.1f Gb/s", got)
	}
	n.finish(10*sim.Millisecond, fl...)
	var least, most uint64
	for i, c := range n.ca {
		ctr := c.Port(1).Counters()
		if ctr.XmitDiscards+ctr.RcvErrors+ctr.XmitConstraint+ctr.RcvConstraint != 0 {
			t.Errorf("adapter %d: %+v", i, ctr)
		}
		if d := c.Device(1).Counters(); d.Retransmitted+d.Timeouts+d.Duplicates+d.OutOfSequence != 0 {
			t.Errorf("adapter %d: %+v", i, d)
		}
		if i == 0 {
			continue
		}
		if i == 1 || ctr.XmitWait < least {
			least = ctr.XmitWait
		}
		most = max(most, ctr.XmitWait)
	}
	if least == 0 || most > 2*least {
		t.Errorf("PortXmitWait of the senders from %d to %d", least, most)
	}
	for i := range 8 {
		if d := n.sw[0].Port(i + 1).Counters(); d.XmitDiscards != 0 {
			t.Errorf("switch port %d discards %d", i+1, d.XmitDiscards)
		}
	}
	n.run(sim.Second)
	n.idle()
}

// TestIBVictim: a flow that shares a link with flows to a hot receiver is slowed
// by them although its own receiver is idle; on a service level with a lane of
// its own it is not. One link of rate B carries one hot flow and the victim; three more hot
// flows begin behind it: the hot flow has B/4 of the receiver's port, and the
// victim has no more (closed form: B/(N(M+1)), N 1, M 3; else B-B/4).
func TestIBVictim(t *testing.T) {
	const rate = 100 // Gb/s: four lanes of 25.78125 with 64 of 66 bits
	for _, c := range []struct {
		name     string
		sl       uint8
		from, to float64
	}{
		{"shared lane", 0, 0.25 * 0.85, 0.25 * 1.15},
		{"own lane", 1, 0.75 * 0.9, 0.75 * 1.1},
	} {
		n := newIBNet(t, 3)
		n.leaves(1, 2, 5) // 0 hot, 1 victim | 2, 3, 4 hot, 5 hot receiver, 6 the victim's
		n.up(sm.Config{QoS: sm.DefaultQoS()})
		victim := n.flow(1, 6, 64<<10, 1<<20, verbs.Path{SL: c.sl})
		fl := []*flow{victim}
		for _, from := range []int{0, 2, 3, 4} {
			fl = append(fl, n.flow(from, 5, 64<<10, 1<<20, verbs.Path{}))
		}
		n.drive(sim.Millisecond, fl...)
		before := victim.done
		n.drive(2*sim.Millisecond, fl...)
		n.check(fl...)
		got := float64(victim.done-before) * 65536 * 8 / 2e-3 / 1e9 / rate
		if got < c.from || got > c.to {
			t.Errorf("%s: the victim has %.3f of the link, want %.3f to %.3f", c.name, got, c.from, c.to)
		}
		if w := n.ca[1].Port(1).Counters().LaneWait[c.sl]; w == 0 { // for its receiver's lane, or for its share of the link
			t.Errorf("%s: the victim never waited for credits", c.name)
		}
	}
}

// TestIBServiceLevel: packets take the lane that SL2VL has for their service
// level at that moment; without one they are discarded.
func TestIBServiceLevel(t *testing.T) {
	n := newIBNet(t, 1)
	n.star(2)
	n.up(sm.Config{})
	port := n.ca[0].Port(1)
	fl := n.flow(0, 1, 4096, 10, verbs.Path{SL: 5, Timeout: 10, RetryCnt: 1})
	set := func(vl uint8) {
		var m mad.SLtoVL
		port.SL2VL(0, &m)
		m.VL[5] = vl
		port.SetSL2VL(0, &m)
	}
	lane := func() (l []int) {
		for vl, k := range port.Counters().LanePkts {
			if k > 0 && vl != wire.VL15 {
				l = append(l, vl)
			}
		}
		return l
	}
	n.finish(10*sim.Millisecond, fl)
	if got := fmt.Sprint(lane()); got != "[1]" { // 5 modulo 4 lanes
		t.Errorf("lanes %v are used", got)
	}
	set(3)
	fl.left = 10
	n.finish(10*sim.Millisecond, fl)
	if got := fmt.Sprint(lane()); got != "[1 3]" {
		t.Errorf("lanes %v are used", got)
	}
	// In the middle of a long message.
	long := n.flow(0, 1, 1<<20, 1, verbs.Path{SL: 5})
	n.drive(20*sim.Microsecond, long)
	before := port.Counters().LanePkts
	set(2)
	n.finish(10*sim.Millisecond, long)
	if after := port.Counters().LanePkts; after[2]-before[2] < 150 || after[3]-before[3] > 2 {
		t.Errorf("lanes %v, then %v", before, after)
	}
	for _, vl := range []uint8{15, 9} { // discard; a lane that is not in operation
		set(vl)
		before, lost := port.Counters(), n.ca[0].Device(1).Counters().TxLinkDown
		one := n.flow(0, 1, 4096, 1, verbs.Path{SL: 5, Timeout: 10, RetryCnt: 1})
		n.drive(100*sim.Millisecond, one)
		if len(one.bad) != 1 || hca.Status(one.bad[0].Status) != hca.StatusRetryExcErr {
			t.Errorf("VL %d: %+v", vl, one.bad)
		}
		if after := port.Counters(); after.LanePkts != before.LanePkts || n.ca[0].Device(1).Counters().TxLinkDown != lost+2 {
			t.Errorf("VL %d: %d packets were sent, %d lost", vl, after.XmitPkts-before.XmitPkts, n.ca[0].Device(1).Counters().TxLinkDown-lost)
		}
	}
	n.idle()
}

// TestIBPathBits: with LMC 1 a port has two LIDs, to which two ways lead.
func TestIBPathBits(t *testing.T) {
	n := newIBNet(t, 1)
	n.leaves(2, 1, 1)
	n.up(sm.Config{LMC: 1})
	if p := n.ca[0].Port(1); p.LMC() != 1 || p.LID()&1 != 0 {
		t.Fatalf("LID %d, LMC %d", p.LID(), p.LMC())
	}
	trunk := func() (a [2]uint64) {
		for i := range a {
			c := n.sw[0].Port(2 + i).Counters()
			a[i] = c.LanePkts[0]
		}
		return a
	}
	var used [2]int
	for bits := range uint8(2) {
		before := trunk()
		for _, src := range []uint8{0, 1} {
			fl := n.flow(0, 1, 8192, 8, verbs.Path{PathBits: [2]uint8{src, bits}})
			n.finish(10*sim.Millisecond, fl)
		}
		after := trunk()
		used[bits] = -1
		for i := range after {
			if after[i]-before[i] >= 32 {
				used[bits] = i
			}
		}
	}
	if used[0] < 0 || used[1] < 0 || used[0] == used[1] {
		t.Errorf("the LIDs lead over cables %v", used)
	}
	// Path bits that the port does not have.
	x := n.pairOf(0, 1).connectErr(verbs.Path{PathBits: [2]uint8{2, 0}})
	if x == nil {
		t.Error("path bits beyond the LMC are accepted")
	}
	n.idle()
}

func (p *pair) connectErr(path verbs.Path) error {
	var q [2]*verbs.QP
	for i := range q {
		x := must[*verbs.Program](p.t)(verbs.Open(p.dev[i], 1<<12))
		cq := must[*verbs.CQ](p.t)(x.NewCQ(16, nil))
		q[i] = must[*verbs.QP](p.t)(x.NewQP(cq, cq, hca.QPCap{MaxSendWR: 1, MaxRecvWR: 1}, false))
	}
	return verbs.Connect(q[0], q[1], path)
}

// TestIBGlobal: with a GRH, also after the subnet manager has changed GIDs.
func TestIBGlobal(t *testing.T) {
	n := newIBNet(t, 1)
	n.star(2)
	n.up(sm.Config{Prefix: 0xfec0000000000007})
	for i := range n.ca {
		d := n.ca[i].Device(1)
		if g := d.GIDs()[0]; !g.Valid || g.GID != hca.GID(wire.MakeGID(0xfec0000000000007, d.IB().GUID())) || d.GIDs()[1].Valid {
			t.Errorf("GIDs %v", d.GIDs()[:2])
		}
	}
	fl := n.flow(0, 1, 30000, 10, verbs.Path{Global: true})
	n.finish(10*sim.Millisecond, fl)
	n.idle()
}

// TestIBMembership: full and limited members of a partition behind switches that
// enforce it, as the manager sets them up.
func TestIBMembership(t *testing.T) {
	n := newIBNet(t, 1)
	n.star(4)
	guid := func(i int) uint64 { return uint64(n.ca[i].Port(1).GUID()) }
	n.up(sm.Config{Partitions: must[*sm.PartitionFile](t)(sm.ParsePartitions(fmt.Sprintf(
		"Default=0x7fff,ipoib: ALL=limited, SELF=full;\nP5=5: %#x=full, %#x=full, %#x=limited;\n", guid(1), guid(2), guid(3))))})
	for _, c := range []struct {
		name     string
		from, to int
		key      [2]uint16 // index
		status   hca.Status
	}{
		{"limited to full", 1, 0, [2]uint16{0, 0}, hca.StatusSuccess},
		{"full to limited", 0, 1, [2]uint16{0, 0}, hca.StatusSuccess},
		{"limited to limited", 1, 2, [2]uint16{0, 0}, hca.StatusRetryExcErr},
		{"full to full", 1, 2, [2]uint16{1, 1}, hca.StatusSuccess},
		{"limited to full of another", 3, 1, [2]uint16{1, 1}, hca.StatusSuccess},
		{"no member", 0, 1, [2]uint16{0, 1}, hca.StatusRetryExcErr},
	} {
		p := n.pairOf(c.from, c.to)
		x := p.connect(connOpt{size: 4096, path: verbs.Path{Timeout: 8, RetryCnt: 1, PKeyIndex: c.key}})
		w := writeOf(x, 4096)
		if err := x[0].qp.PostSend(&w); err != nil {
			t.Fatal(err)
		}
		n.run(100 * sim.Millisecond)
		if got := x[0].poll(); len(got) != 1 || hca.Status(got[0].Status) != c.status {
			t.Errorf("%s: %+v, want status %d; P_Keys %#x and %#x", c.name, got, c.status, p.dev[0].PKeys()[:3], p.dev[1].PKeys()[:3])
		}
	}
	n.idle()
}

// TestIBTwoPorts: the ports of an adapter are devices of their own, which reach
// each other over the fabric.
func TestIBTwoPorts(t *testing.T) {
	n := newIBNet(t, 1)
	s := n.addSwitch(3)
	n.addCA(s.Port(1))
	n.addCA(s.Port(2), s.Port(3))
	n.up(sm.Config{})
	a, b, c := n.ca[0].Device(1), n.ca[1].Device(1), n.ca[1].Device(2)
	for _, d := range [][2]*hca.Device{{a, b}, {a, c}, {b, c}, {c, b}, {c, c}} {
		p := &pair{t: t, e: n.e, pool: n.pool, net: n, dev: d}
		x := p.connect(connOpt{})
		fill(x[0].buf.B, 5)
		w := writeOf(x, 1<<20)
		before := d[0].IB().Counters().XmitPkts
		if err := x[0].qp.PostSend(&w); err != nil {
			t.Fatal(err)
		}
		n.run(sim.Millisecond)
		if got := x[0].poll(); len(got) != 1 || got[0].Status != 0 || !bytes.Equal(x[0].buf.B, x[1].buf.B) {
			t.Errorf("%s to %s: %+v", d[0].Name(), d[1].Name(), got)
		}
		if sent := d[0].IB().Counters().XmitPkts - before; (sent > 0) != (d[0] != d[1]) {
			t.Errorf("%s to %s: %d packets on the wire", d[0].Name(), d[1].Name(), sent)
		}
	}
	n.idle()
}

// TestIBCablePulled: a cable is pulled under traffic, the manager routes around
// it, and the traffic goes on within its retries. Then all cables are pulled, and
// it ends with an error.
func TestIBCablePulled(t *testing.T) {
	n := newIBNet(t, 5)
	n.leaves(2, 2, 2)
	n.up(sm.Config{})
	path := verbs.Path{Timeout: 10, RetryCnt: 7}
	fl := []*flow{n.flow(0, 2, 256<<10, 1<<20, path), n.flow(1, 3, 256<<10, 1<<20, path), n.flow(3, 0, 256<<10, 1<<20, path)}
	n.drive(500*sim.Microsecond, fl...)
	cut := n.sw[0].Port(3)
	cut.Link().SetUp(false)
	var done [3]int
	for i, f := range fl {
		done[i] = f.done
	}
	dead := cut.Counters().XmitData
	ahead := func() bool {
		for i, f := range fl {
			if f.done < done[i]+40 { // more than what was under way
				return false
			}
		}
		return true
	}
	for range 60 {
		if n.drive(sim.Millisecond, fl...); ahead() {
			break
		}
	}
	n.check(fl...)
	if !ahead() {
		t.Errorf("messages done: %d, %d, %d; when the cable was pulled %v", fl[0].done, fl[1].done, fl[2].done, done)
	}
	if got := cut.Counters().XmitData; got != dead {
		t.Errorf("the port without a cable has sent %d words", got-dead)
	}
	var resent uint64
	for _, c := range n.ca {
		resent += c.Device(1).Counters().Retransmitted
	}
	if resent == 0 {
		t.Error("nothing was lost with the cable")
	}
	for _, f := range fl {
		f.left = 0
	}
	n.sw[0].Port(4).Link().SetUp(false)
	n.run(10 * sim.Second)
	n.drive(20*sim.Microsecond, fl...)
	for i, f := range fl {
		if len(f.bad) == 0 || hca.Status(f.bad[0].Status) != hca.StatusRetryExcErr {
			t.Errorf("flow %d without any way: %+v", i, f.bad)
		}
	}
	n.run(30 * sim.Second)
	n.idle()
}

// TestIBOwnCablePulled: what waits for the port is dropped, and counted, and the
// traffic goes on when the cable is back in time.
func TestIBOwnCablePulled(t *testing.T) {
	n := newIBNet(t, 5)
	n.star(3)
	n.up(sm.Config{})
	fl := n.flow(1, 2, 256<<10, 200, verbs.Path{Timeout: 14})
	n.drive(sim.Millisecond, fl)
	link := n.ca[1].Port(1).Link()
	link.SetUp(false)
	if n.ca[1].Port(1).State() != mad.PortDown || n.ca[1].Device(1).Up() {
		t.Error("the port is not down")
	}
	n.drive(10*sim.Millisecond, fl)
	if c := n.ca[1].Device(1).Counters(); c.TxLinkDown == 0 {
		t.Errorf("no packet was lost")
	}
	link.SetUp(true)
	n.settle()
	n.finish(sim.Second, fl)
	ev := fmt.Sprint(events(fl.x[0]))
	if ev != fmt.Sprint([]hca.EventType{hca.EventPortErr, hca.EventPortActive}) {
		t.Errorf("events %v", ev)
	}
	n.run(sim.Second)
	n.idle()
}

func events(x *end) (l []hca.EventType) {
	for _, e := range x.Events {
		l = append(l, e.Type)
	}
	x.Events = nil
	return l
}

// TestIBBandwidth: what one flow gets of an EDR link, and a READ.
func TestIBBandwidth(t *testing.T) {
	for _, c := range []struct {
		name string
		op   uint32
		mtu  uint8
		want float64 // Gb/s: 100 x payload / (payload + LRH, BTH, ICRC, VCRC, delimiters, RETH or AETH once)
	}{
		{"write 4096", ring.OpRDMAWrite, 5, 100.0 * 4096 / (4096 + 28)},
		{"write 2048", ring.OpRDMAWrite, 4, 100.0 * 2048 / (2048 + 28)},
		{"write 256", ring.OpRDMAWrite, 1, 100.0 * 256 / (256 + 28)},
		{"read 4096", ring.OpRDMARead, 5, 100.0 * 4096 / (4096 + 28)},
	} {
		n := newIBNet(t, 1)
		n.star(2)
		n.up(sm.Config{})
		x := n.pairOf(0, 1).connect(connOpt{depth: 64, path: verbs.Path{MTU: c.mtu}})
		w := writeOf(x, 1<<20)
		w.Opcode = c.op
		start := n.e.Now()
		for range 8 {
			if err := x[0].qp.PostSend(&w); err != nil {
				t.Fatal(err)
			}
		}
		last, done := start, 0
		for n.e.Now() < start+10*sim.Millisecond && done < 8 {
			n.run(sim.Microsecond)
			if k := len(x[0].poll()); k > 0 {
				done, last = done+k, n.e.Now()
			}
		}
		if got := 8 * (1 << 20) * 8 / (last - start).Seconds() / 1e9; done != 8 || got < 0.985*c.want || got > c.want*1.0001 {
			t.Errorf("%s: %d done, %.2f Gb/s, want %.2f", c.name, done, got, c.want)
		}
		n.run(sim.Millisecond)
		n.idle()
	}
}

// TestIBPathMTU: no more than what the neighbour takes, and no datagram either.
func TestIBPathMTU(t *testing.T) {
	n := newIBNet(t, 1)
	n.star(1)
	n.port.MTU = mad.MTU1024
	s := n.addSwitch(2)
	n.sw = n.sw[1:]
	n.ca = nil
	n.addCA(s.Port(1))
	n.port.MTU = mad.MTU4096
	n.addCA(s.Port(2))
	n.up(sm.Config{})
	p := n.pairOf(0, 1)
	for _, d := range p.dev {
		if d.ActiveMTU() != uint8(mad.MTU1024) {
			t.Errorf("MTU %d", d.ActiveMTU())
		}
	}
	if err := p.connectErr(verbs.Path{MTU: 4}); err == nil {
		t.Error("a path MTU above the port's is accepted")
	}
	a, b := p.udEnd(1, false), p.udEnd(0, false)
	ah := must[*hca.AH](t)(a.Context.CreateAH(a.PD, p.vector(0)))
	for i, size := range []int{1024, 1025} {
		b.qp.PostRecv(uint64(i), b.buf.SGE(8192*i, 8192))
		a.qp.PostSend(&ring.Send{ID: uint64(i), Opcode: ring.OpSend, Flags: ring.FlagSignaled, QPN: b.qp.Num(), QKey: 0x11, AH: ah.Num(), SGEs: []ring.SGE{a.buf.SGE(0, size)}})
	}
	n.run(100 * sim.Microsecond)
	if c := b.poll(); len(c) != 1 || c[0].ByteLen != 1064 || p.dev[1].Counters().OverMTU != 1 {
		t.Errorf("%+v", c)
	}
	n.idle()
}

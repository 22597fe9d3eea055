package fabric

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire/mad"
)

// addIB posts n writes of size bytes from one host to another, addressed by LID.
func (w *world) addIB(from, to string, n, size int, sl uint8) *flow {
	w.t.Helper()
	a, b := w.f.Node(from).ibs[0].Device(), w.f.Node(to).ibs[0].Device()
	fl := &flow{n: n, size: size}
	fl.from, fl.to = must(verbs.Open(a, n*size+1<<16)), must(verbs.Open(b, n*size+1<<16))
	all := hca.AccessLocalWrite | hca.AccessRemoteWrite | hca.AccessRemoteRead
	fl.src, fl.dst = must(fl.from.Buffer(n*size, all)), must(fl.to.Buffer(n*size, all))
	rng := rand.New(rand.NewPCG(uint64(len(w.flows)), 1))
	for i := range fl.src.B {
		fl.src.B[i] = byte(rng.Uint32())
	}
	fl.cq = must(fl.from.NewCQ(2*n, func() { fl.poll(w.f.Engine.Now()) }))
	rcq := must(fl.to.NewCQ(16, nil))
	c := hca.QPCap{MaxSendWR: uint32(n + 1), MaxRecvWR: 16, MaxSendSGE: 1, MaxRecvSGE: 1}
	fl.qp = must(fl.from.NewQP(fl.cq, fl.cq, c, true))
	peer := must(fl.to.NewQP(rcq, rcq, c, true))
	if err := verbs.Connect(fl.qp, peer, verbs.Path{SL: sl, Timeout: 14}); err != nil {
		w.t.Fatal(err)
	}
	fl.cq.Arm(false)
	for i := range n {
		err := fl.qp.Post(&ring.Send{ID: uint64(i), Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled,
			SGEs: []ring.SGE{fl.src.SGE(i*size, size)}, RemoteAddr: fl.dst.Addr + uint64(i*size), RKey: fl.dst.MR.RKey()})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.flows = append(w.flows, fl)
	return fl
}

// start rings the doorbells; the fabric runs until all is written, at most d.
func (w *world) start() {
	for _, fl := range w.flows {
		if fl.first == 0 {
			fl.first = w.f.Engine.Now()
			fl.qp.Doorbell()
		}
	}
}

func (w *world) finish(d sim.Time) {
	w.t.Helper()
	if !until(w.f, d, w.finished) {
		w.t.Errorf("not done after %v", d)
	}
	w.f.Engine.RunUntil(w.f.Engine.Now() + 100*sim.Millisecond)
	for i, fl := range w.flows {
		if fl.done != fl.n || fl.status.Status != 0 || !bytes.Equal(fl.src.B, fl.dst.B) {
			w.t.Errorf("flow %d: %d of %d, status %d", i, fl.done, fl.n, fl.status.Status)
		}
	}
	if bad := w.f.Check(); len(bad) > 0 {
		w.t.Errorf("conservation: %s", strings.Join(bad, "; "))
	}
	if n := w.f.Pool.Live(); n != 0 && w.f.tunnels == nil { // over tunnels flow control goes on
		w.t.Errorf("%d frames are alive at rest", n)
	}
	for _, s := range w.f.Snapshot().Switches {
		if s.UsedBytes != 0 {
			w.t.Errorf("%s: %d bytes are occupied at rest", s.Name, s.UsedBytes)
		}
	}
}

func (fl *flow) gbps() float64 {
	return float64(fl.n*fl.size) * 8 / (fl.end - fl.first).Seconds() / 1e9
}

// ibCounts are the counters of every InfiniBand port by name: words sent and
// received, and seconds waited.
func (w *world) ibCounts() map[string][3]float64 {
	m := map[string][3]float64{}
	for name, p := range w.f.ib {
		s := ibBasics(p)
		m[name] = [3]float64{float64(s.IB.Counters["xmit_data"]), float64(s.IB.Counters["rcv_data"]), s.IB.WaitSecs}
	}
	return m
}

// tableIBFlows is what flows got, and what ports counted since before.
func (w *world) tableIBFlows(before map[string][3]float64) string {
	var b strings.Builder
	for i, fl := range w.flows {
		fmt.Fprintf(&b, "flow %d: %d of %d messages, status %d, %v, %.4f Gb/s, %d retransmitted\n", i, fl.done, fl.n, fl.status.Status, fl.end-fl.first, fl.gbps(),
			fl.from.Context.Device().Counters().Retransmitted)
	}
	now := w.ibCounts()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		x, y := now[name], before[name]
		fmt.Fprintf(&b, "%s: tx %.0f rx %.0f waited %.9f drops %v\n", name, x[0]-y[0], x[1]-y[1], x[2]-y[2], ibBasics(w.f.ib[name]).Drops)
	}
	return b.String()
}

// TestIBIncast: seven hosts write to one. Nothing is lost and nothing sent
// twice, the senders' links wait for credits, the receiver's is full.
func TestIBIncast(t *testing.T) {
	w, table := (*world)(nil), ""
	for range 2 {
		w = &world{t: t, f: buildIB(t, load(t, "ib-fat-tree"), Options{})}
		bringUp(t, w.f)
		for i := range 7 {
			w.addIB(fmt.Sprintf("h%d", i+2), "h1", 16, 65536, 0)
		}
		before := w.ibCounts()
		w.start()
		w.finish(sim.Second)
		if x := w.tableIBFlows(before); table == "" {
			table = x
		} else if table != x {
			t.Errorf("two runs differ:\n%s\n%s", table, x)
		}
	}
	golden(t, "ib-incast", table)
	var all float64
	var end sim.Time
	for _, fl := range w.flows {
		all += float64(fl.n * fl.size)
		end = max(end, fl.end)
	}
	rate := all * 8 / (end - w.flows[0].first).Seconds() / 1e9
	if rate < 7.3 || rate > 8 {
		t.Errorf("%.2f Gb/s arrive over a link of 8 Gb/s", rate)
	}
	for _, n := range w.f.nodes[1:] {
		p := n.ibs[0].snapshot()
		if p.IB.WaitSecs < 0.3*(end-w.flows[0].first).Seconds() || p.TotalDrops() != 0 || p.RDMA.Counters["retransmitted"] != 0 {
			t.Errorf("%s waited %.6f s, dropped %v, sent again %d", p.Name, p.IB.WaitSecs, p.Drops, p.RDMA.Counters["retransmitted"])
		}
	}
}

// TestIBVictim: a flow that shares nothing with an incast but a lane of a link
// between switches suffers from it, and is cured by a lane of its own.
func TestIBVictim(t *testing.T) {
	victim := func(sl uint8) float64 {
		f := buildIB(t, load(t, "ib-fat-tree"), Options{NoSM: true})
		if _, err := f.StartSM("h1", SMOptions{SM: topology.SM{Engine: topology.MinHop, QoS: true}}); err != nil {
			t.Fatal(err)
		}
		bringUp(t, f)
		w := &world{t: t, f: f}
		// h5, h6 and h7 of leaf2 write to h1 and h2 writes too, so that the way
		// down to leaf1 is full; h8 writes to h3 over the same spine.
		leaf2 := f.switches[1].ib
		var a mad.LinearForwarding
		leaf2.LFTBlock(0, &a)
		out := func(h string) uint8 { return a.Port[f.Node(h).ibs[0].Port().LID()] }
		to := "h3"
		if out(to) != out("h1") {
			to = "h4"
		}
		if out(to) != out("h1") {
			t.Fatalf("no host of leaf1 shares h1's spine: %v", a.Port)
		}
		for _, h := range []string{"h5", "h6", "h7", "h2"} {
			w.addIB(h, "h1", 32, 65536, 0)
		}
		v := w.addIB("h8", to, 8, 65536, sl)
		w.start()
		w.finish(sim.Second)
		return v.gbps()
	}
	same, other := victim(0), victim(1)
	t.Logf("the victim gets %.2f Gb/s on the lane of the incast, %.2f Gb/s on another", same, other)
	if other < 2*same || other < 3 {
		t.Errorf("%.2f Gb/s on the lane of the incast, %.2f on another", same, other)
	}
}

// TestIBSpinePulledUnderTraffic: writes go on over the other spine within their
// retries, and LIDs stay.
func TestIBSpinePulledUnderTraffic(t *testing.T) {
	f := buildIB(t, load(t, "ib-fat-tree"), Options{})
	bringUp(t, f)
	w := &world{t: t, f: f}
	fl := w.addIB("h5", "h1", 64, 65536, 0)
	var a mad.LinearForwarding
	f.switches[1].ib.LFTBlock(0, &a)
	out := a.Port[f.Node("h1").ibs[0].Port().LID()]
	w.start()
	f.Engine.RunUntil(f.Engine.Now() + sim.Millisecond)
	if err := f.SetLink(fmt.Sprintf("leaf2:%d", out), false); err != nil {
		t.Fatal(err)
	}
	w.finish(5 * sim.Second)
	f.switches[1].ib.LFTBlock(0, &a)
	if now := a.Port[f.Node("h1").ibs[0].Port().LID()]; now == out || f.sms[0].m.Status().Stats.Traps == 0 {
		t.Errorf("the way leads by port %d, before by %d", now, out)
	}
	t.Logf("4 MiB in %v with a pulled cable, %d packets again", fl.end-fl.first, f.Node("h5").ibs[0].Device().Counters().Retransmitted)
}

// TestIBSwitchLatency: one small write and its acknowledge pass the switch once
// each way. What a switch takes longer, and the time to take in a packet whole,
// is in how long the write takes, to the picosecond.
func TestIBSwitchLatency(t *testing.T) {
	took := func(latency sim.Time, store bool) sim.Time {
		s := load(t, "ib-two-hosts")
		s.Switches[0].IB.Latency, s.Switches[0].IB.Store = latency, store
		f := buildIB(t, s, Options{})
		bringUp(t, f)
		w := &world{t: t, f: f}
		fl := w.addIB("h1", "h2", 1, 4096, 0)
		w.start()
		w.finish(sim.Second)
		return fl.end - fl.first
	}
	none := took(0, false)
	if d := took(10*sim.Microsecond, false) - none; d != 20*sim.Microsecond {
		t.Errorf("10us of latency each way are %v", d)
	}
	// 25 Gb/s: the 4 KiB take 1.3 us, and cut-through waits for a few headers.
	if d := took(0, true) - none; d < 1200*sim.Nanosecond || d > 1400*sim.Nanosecond {
		t.Errorf("storing the packet takes %v", d)
	}
}

// TestIBMutedPort: who sends no flow control packets gets nothing after the
// first credits, until it does again; nothing is lost.
func TestIBMutedPort(t *testing.T) {
	f := buildIB(t, load(t, "ib-two-hosts"), Options{})
	bringUp(t, f)
	w := &world{t: t, f: f}
	fl := w.addIB("h1", "h2", 16, 65536, 0)
	if err := f.SetMute("h2:ib0", true); err != nil {
		t.Fatal(err)
	}
	w.start()
	f.Engine.RunUntil(f.Engine.Now() + 5*sim.Millisecond)
	s := f.Snapshot()
	if fl.done != 0 || len(s.Faults) != 1 || s.Switches[0].Ports[1].IB.WaitSecs < 0.004 || s.Switches[0].Ports[1].IB.Counters["link_error_recovery"] == 0 {
		t.Errorf("%d done, faults %v, %+v", fl.done, s.Faults, s.Switches[0].Ports[1].IB)
	}
	f.ClearFaults()
	w.finish(5 * sim.Second)
	if l := f.Snapshot().Faults; len(l) != 0 {
		t.Errorf("faults %v", l)
	}
	if err := f.SetMute("s1:9", true); err == nil {
		t.Error("a port that does not exist was muted")
	}
}

// TestIBHopAllocatesNothing: in the steady state, from adapter to adapter over
// a switch, no packet costs an allocation.
func TestIBHopAllocatesNothing(t *testing.T) {
	f := buildIB(t, load(t, "ib-two-hosts"), Options{})
	bringUp(t, f)
	w := &world{t: t, f: f}
	fl := w.addIB("h1", "h2", 2000, 65536, 0)
	w.start()
	f.Engine.RunUntil(f.Engine.Now() + sim.Millisecond)
	port := f.ib["s1:2"]
	before := port.Counters().XmitPkts
	n := testing.AllocsPerRun(5, func() { f.Engine.RunUntil(f.Engine.Now() + sim.Millisecond) })
	packets := float64(port.Counters().XmitPkts-before) / 6
	if packets < 500 || n != 0 {
		t.Errorf("%.0f allocations for %.0f packets in a millisecond", n, packets)
	}
	if fl.done == 0 || fl.done == fl.n {
		t.Errorf("%d of %d messages: this was no steady state", fl.done, fl.n)
	}
}

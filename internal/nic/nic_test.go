package nic

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/qdisc"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

func TestReceiveGoesToTheRightParty(t *testing.T) {
	b := newBench(t, Config{}, 10*link.Gbps)
	bare := func(dst [6]byte, et uint16) *frame.Frame {
		f := b.pool.Get()
		wire.Ethernet(f.Head(60)).Encode(dst, peerMAC, et)
		clear(f.Data[14:])
		f.WireLen()
		return f
	}
	short := func() *frame.Frame { f := b.pool.Get(); f.Head(13); f.WireLen(); return f }
	for _, c := range []struct {
		name         string
		f            *frame.Frame
		hca, kernel  string
		drop         DropReason
		dropped, pfc uint64
	}{
		{"RoCE for us", b.roce(myMAC, peerMAC, 3, 100), "4791", "", 0, 0, 0},
		{"UDP for us", b.udp(myMAC, peerMAC, 53, 0, 100), "", "0800", 0, 0, 0},
		{"ARP broadcast", bare(wire.Broadcast, wire.EtherTypeARP), "", "0806", 0, 0, 0},
		{"RoCE to a group", b.roce([6]byte{1, 0, 0x5e, 0, 0, 1}, peerMAC, 3, 100), "4791", "", 0, 0, 0},
		{"IPv6 multicast", bare([6]byte{0x33, 0x33, 0, 0, 0, 1}, wire.EtherTypeIPv6), "", "86dd", 0, 0, 0},
		{"for another station", b.roce(peerMAC, peerMAC, 3, 100), "", "", DropOtherMAC, 1, 0},
		{"MAC control that is not PFC", bare(wire.PauseAddr, wire.EtherTypeMACControl), "", "", DropControl, 1, 0},
		{"short", short(), "", "", DropMalformed, 1, 0},
		{"PFC", func() *frame.Frame {
			f := b.pool.Get()
			p := wire.PFC{Enable: 1, Time: [8]uint16{1}}
			p.Encode(f.Head(wire.PFCLen), peerMAC)
			f.WireLen()
			return f
		}(), "", "", 0, 0, 1},
	} {
		before := b.n.Counters()
		b.p.port.SendControl(c.f)
		b.run(10 * sim.Microsecond)
		after := b.n.Counters()
		if h, k := strings.Join(b.h.got, " "), strings.Join(b.k.got, " "); h != c.hca || k != c.kernel {
			t.Errorf("%s: HCA %q, kernel %q, want %q and %q", c.name, h, k, c.hca, c.kernel)
		}
		if after.RxDrops[c.drop]-before.RxDrops[c.drop] != c.dropped || after.RxPFC-before.RxPFC != c.pfc {
			t.Errorf("%s: counters %+v", c.name, after)
		}
		b.h.got, b.k.got = nil, nil
	}
	b.n.SetSource(nil)
	b.p.port.SendControl(b.roce(myMAC, peerMAC, 3, 100))
	b.run(10 * sim.Microsecond)
	if strings.Join(b.k.got, " ") != "0800" {
		t.Error("without an HCA, RoCE belongs to the kernel")
	}
	b.n.SetHost(nil)
	b.p.port.SendControl(b.roce(myMAC, peerMAC, 3, 100))
	b.run(10 * sim.Microsecond)
	if d := b.n.Counters().RxDrops[DropNoHost]; d != 1 {
		t.Errorf("no host: %d drops, want 1", d)
	}
}

func TestKernelAndHCAShareAPriorityByBytes(t *testing.T) {
	for _, kernelSize := range []int{200, 1500, 4200} {
		b := newBench(t, Config{}, 10*link.Gbps)
		b.fromKernel(3, kernelSize, 400_000/kernelSize)
		b.h.left[3] = 1000
		b.n.Kick()
		b.run(400 * sim.Microsecond)
		h, k := b.p.bytes[0][3], b.p.bytes[1][3]
		if x := float64(h) / float64(h+k); x < 0.48 || x > 0.52 {
			t.Errorf("kernel frames of %d bytes: the HCA has %.3f of the bytes, want half", kernelSize, x)
		}
		b.run(10 * sim.Millisecond)
		if b.p.frames[0][3] != 1000 {
			t.Errorf("%d of 1000 HCA frames arrived", b.p.frames[0][3])
		}
	}
}

func TestPrioritiesShareByWeight(t *testing.T) {
	b := newBench(t, Config{Scheduler: qdisc.Config{Strict: 1 << 6, Weight: [8]uint16{0: 1, 3: 4}}}, 10*link.Gbps)
	b.fromKernel(0, 1500, 1000)
	b.h.left[3], b.h.left[6] = 1000, 10
	b.n.Kick()
	b.run(500 * sim.Microsecond)
	if b.p.frames[0][6] != 10 {
		t.Errorf("strict priority: %d of 10", b.p.frames[0][6])
	}
	h, k := b.p.bytes[0][3], b.p.bytes[1][0]
	if x := float64(h) / float64(h+k); x < 0.78 || x > 0.82 {
		t.Errorf("priority 3 has %.3f, want 0.8", x)
	}
}

func TestPFCStopsBothAndLosesNothing(t *testing.T) {
	b := newBench(t, Config{}, 10*link.Gbps)
	b.p.stop(1<<3, 0xffff)
	b.run(10 * sim.Microsecond)
	b.fromKernel(3, 1000, 20)
	b.fromKernel(0, 1000, 20)
	b.h.left[3], b.h.left[1] = 20, 20
	b.n.Kick()
	b.run(sim.Millisecond)
	if b.p.frames[0][3]+b.p.frames[1][3] != 0 || b.p.frames[1][0] != 20 || b.p.frames[0][1] != 20 {
		t.Errorf("with priority 3 stopped: HCA %v, kernel %v", b.p.frames[0], b.p.frames[1])
	}
	if p := b.n.Pause(); p.Received != 1 || p.RxPriority[3] != 1 || p.Paused() != 1<<3 {
		t.Errorf("pause %d %v %08b", p.Received, p.RxPriority, p.Paused())
	}
	b.p.stop(1<<3, 0)
	b.run(sim.Millisecond)
	if b.p.frames[0][3] != 20 || b.p.frames[1][3] != 20 {
		t.Errorf("after the resume: HCA %v, kernel %v", b.p.frames[0], b.p.frames[1])
	}
}

func TestIgnorePFC(t *testing.T) {
	b := newBench(t, Config{IgnorePFC: true}, 10*link.Gbps)
	b.p.stop(1<<3, 0xffff)
	b.run(10 * sim.Microsecond)
	b.h.left[3] = 5
	b.n.Kick()
	b.run(100 * sim.Microsecond)
	if b.p.frames[0][3] != 5 || b.n.Pause().Received != 1 {
		t.Errorf("%d frames, %d PFC frames counted", b.p.frames[0][3], b.n.Pause().Received)
	}
}

func TestSourceThatHasNothingAfterAll(t *testing.T) {
	b := newBench(t, Config{}, 10*link.Gbps)
	b.h.empty = true
	b.h.left[3], b.h.left[5] = 1, 1
	b.fromKernel(0, 500, 3)
	b.n.Kick()
	b.run(100 * sim.Microsecond)
	if b.p.frames[1][0] != 3 || b.p.frames[0] != [8]int{} {
		t.Errorf("frames %v", b.p.frames)
	}
}

func TestHostBuffer(t *testing.T) {
	b := newBench(t, Config{HostBuffer: 10_000}, 10*link.Gbps)
	b.p.record = true
	b.p.stop(1<<3, 0xffff)
	b.run(10 * sim.Microsecond)
	b.fromKernel(3, 1000, 9)
	if !b.n.Accepts() {
		t.Error("full at 9000 of 10000 bytes")
	}
	b.fromKernel(3, 1000, 3)
	if b.n.Accepts() || b.n.Counters().HostPeak != 12_000 {
		t.Errorf("accepts %v at %d bytes", b.n.Accepts(), b.n.Counters().HostPeak)
	}
	// What the kernel sends from within Resume must neither be lost nor begin a
	// second transmission beside the one in progress.
	b.k.resume = func() { b.fromKernel(0, 1000, 2) }
	b.p.stop(1<<3, 0)
	b.run(sim.Millisecond)
	if b.k.resumes != 1 || !b.n.Accepts() {
		t.Errorf("%d resumes", b.k.resumes)
	}
	// Seven frames left when the rest was 5000 bytes; then DWRR between the two.
	if got := strings.Join(b.p.got, ""); len(b.p.got) != 14 || !strings.HasPrefix(got, "k3k3k3k3k3k3k3") {
		t.Errorf("order %s", got)
	}
}

// talker kicks the NIC from within Next.
type talker struct {
	hca
	n *NIC
}

func (k *talker) Next(prio int) *frame.Frame {
	f := k.hca.Next(prio)
	k.n.Kick()
	return f
}

func TestKickFromWithinNext(t *testing.T) {
	b := newBench(t, Config{}, 10*link.Gbps)
	k := &talker{hca: hca{b: b, size: 1000}, n: b.n}
	b.n.SetSource(k)
	k.left[3] = 10
	var at []sim.Time
	b.n.Port().AddObserver(observer(func(now sim.Time) { at = append(at, now) }))
	b.n.Kick()
	b.run(sim.Millisecond)
	for i := range at {
		if at[i] != sim.Time(i)*816*sim.Nanosecond {
			t.Errorf("frame %d begins at %v: frames overlap or wait", i, at[i])
		}
	}
	if len(at) != 10 {
		t.Errorf("%d frames", len(at))
	}
}

type observer func(sim.Time)

func (o observer) Observe(_ *link.Port, d link.Direction, now sim.Time, _ *frame.Frame) {
	if d == link.Tx {
		o(now)
	}
}

func TestLinkDown(t *testing.T) {
	b := newBench(t, Config{HostBuffer: 2000}, 10*link.Gbps)
	b.p.stop(0xff, 0xffff)
	b.run(10 * sim.Microsecond)
	b.fromKernel(0, 1000, 3)
	b.h.left[3] = 2
	b.n.Port().SetUp(false)
	if c := b.n.Counters(); c.TxDrops[DropLinkDown] != 3 || !b.n.Accepts() || b.k.resumes != 1 {
		t.Errorf("drops %v, accepts %v, resumes %d", c.TxDrops, b.n.Accepts(), b.k.resumes)
	}
	b.fromKernel(0, 1000, 1)
	if c := b.n.Counters(); c.TxDrops[DropLinkDown] != 4 {
		t.Errorf("a frame for a link that is down: drops %v", c.TxDrops)
	}
	b.n.Port().SetUp(true)
	b.run(sim.Millisecond)
	if b.p.frames[0][3] != 2 || b.n.Pause().Paused() != 0 {
		t.Errorf("the HCA's frames %v, paused %08b", b.p.frames[0], b.n.Pause().Paused())
	}
	if fmt.Sprint(b.h.links, b.k.links) != "[false true] [false true]" {
		t.Errorf("link changes %v %v", b.h.links, b.k.links)
	}
}

func TestNewPanics(t *testing.T) {
	bad := qdisc.DefaultClassifier()
	bad.Default = 9
	for name, c := range map[string]Config{
		"group address": {MAC: [6]byte{1}},
		"classifier":    {Classifier: bad},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was accepted", name)
				}
			}()
			New(sim.NewEngine(1), &frame.Pool{}, c)
		}()
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	b := newBench(t, Config{}, 100*link.Gbps)
	b.h.got = make([]string, 0, 1)
	round := func() {
		b.h.left[3], b.h.left[0] = 50, 50
		b.fromKernel(3, 1500, 20)
		b.n.Kick()
		b.run(100 * sim.Microsecond)
	}
	round()
	if x := testing.AllocsPerRun(20, round); x != 0 {
		t.Errorf("%v allocations for 120 frames, want 0", x)
	}
}

func BenchmarkDequeue(bb *testing.B) {
	b := newBench(bb, Config{}, 100*link.Gbps)
	f := b.udp(peerMAC, myMAC, 53, 3, 1500)
	b.h.left[3] = 1 << 60
	b.n.port.SetUp(true)
	b.n.choosing = true // the port does not ask; frames are taken out by hand
	bb.ReportAllocs()
	for bb.Loop() {
		b.n.FromHost(f)
		for {
			g := b.n.choose()
			if g == f {
				break
			}
			b.pool.Put(g)
		}
	}
	b.pool.Put(f)
	b.h.left[3] = 0
	b.n.choosing = false
}

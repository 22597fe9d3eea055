package nic

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/qdisc"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

var (
	myMAC   = [6]byte{2, 0, 0, 0, 0, 1}
	peerMAC = [6]byte{2, 0, 0, 0, 0, 2}
)

// hca is a Source with as many frames as it is told.
type hca struct {
	b     *bench
	left  [8]int
	size  int
	empty bool // Next has nothing although Ready said so
	got   []string
	links []bool
}

func (h *hca) Ready() (m uint8) {
	for i, n := range h.left {
		if n > 0 {
			m |= 1 << i
		}
	}
	return
}

func (h *hca) Next(prio int) *frame.Frame {
	if h.empty {
		h.left[prio] = 0
		return nil
	}
	h.left[prio]--
	return h.b.roce(peerMAC, myMAC, prio, h.size)
}
func (h *hca) Receive(f *frame.Frame) {
	h.got = append(h.got, fmt.Sprint(f.Meta.Layers.DstPort))
	h.b.pool.Put(f)
}
func (h *hca) LinkChanged(up bool) { h.links = append(h.links, up) }

// kernel is a Host.
type kernel struct {
	b       *bench
	got     []string
	resumes int
	resume  func()
	links   []bool
}

func (k *kernel) Deliver(f *frame.Frame) {
	k.got = append(k.got, fmt.Sprintf("%04x", f.Meta.Layers.EtherType))
	k.b.pool.Put(f)
}
func (k *kernel) Resume() {
	k.resumes++
	if k.resume != nil {
		k.resume()
	}
}
func (k *kernel) LinkChanged(up bool) { k.links = append(k.links, up) }

// peer is the switch port at the other end.
type peer struct {
	b      *bench
	port   *link.Port
	pause  link.Pause
	record bool
	got    []string
	frames [2][8]int // HCA, kernel; by priority
	bytes  [2][8]int64
}

func (p *peer) Receive(_ int, f *frame.Frame) {
	if !p.pause.Apply(f) {
		f.Parse()
		k := 1
		if f.Meta.Layers.RoCE {
			k = 0
		}
		c := f.Meta.Layers.DSCP() >> 3
		p.frames[k][c]++
		p.bytes[k][c] += int64(f.Len)
		if p.record {
			p.got = append(p.got, fmt.Sprintf("%s%d", []string{"h", "k"}[k], c))
		}
	}
	p.b.pool.Put(f)
}
func (p *peer) Dequeue(int) *frame.Frame { return nil }

func (p *peer) stop(prios uint8, quanta uint16) {
	h := wire.PFC{Enable: prios}
	for i := range h.Time {
		h.Time[i] = quanta
	}
	f := p.b.pool.Get()
	h.Encode(f.Head(wire.PFCLen), peerMAC)
	f.WireLen()
	p.port.SendControl(f)
}

// bench is a NIC with all its neighbours.
type bench struct {
	e    *sim.Engine
	pool *frame.Pool
	n    *NIC
	h    *hca
	k    *kernel
	p    *peer
}

func newBench(t testing.TB, cfg Config, rate link.Rate) *bench {
	b := &bench{e: sim.NewEngine(1), pool: &frame.Pool{}}
	if cfg.MAC == ([6]byte{}) {
		cfg.MAC = myMAC
	}
	cfg.Name, cfg.Classifier = "h1:eth0", qdisc.DefaultClassifier()
	b.n = New(b.e, b.pool, cfg)
	b.h, b.k, b.p = &hca{b: b, size: 4200}, &kernel{b: b}, &peer{b: b}
	b.n.SetSource(b.h)
	b.n.SetHost(b.k)
	b.p.port = link.NewPort(b.e, b.pool, b.p, 0, "s1:1")
	b.p.pause.Init(b.p.port)
	if err := link.Connect(b.n.Port(), b.p.port, link.Config{Rate: rate, Delay: 500 * sim.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.n.Storm(0, 0)
		b.run(sim.Second)
		if err := b.n.Conservation(); err != nil {
			t.Error(err)
		}
		if l := b.pool.Live(); l != 0 && !t.Failed() {
			t.Errorf("%d frames are alive at the end", l)
		}
	})
	return b
}

func (b *bench) run(d sim.Time) { b.e.RunUntil(b.e.Now() + d) }

var zeros [8192]byte

func (b *bench) udp(dst, src [6]byte, dport uint16, prio, total int) *frame.Frame {
	f := b.pool.Get()
	d := f.Head(wire.EthernetLen + wire.IPv4Len + wire.UDPLen)
	wire.Ethernet(d).Encode(dst, src, wire.EtherTypeIPv4)
	h := wire.IPv4Fields{TOS: uint8(prio) << 5, TotalLen: total - 18, TTL: 64, Proto: wire.ProtoUDP}
	h.Encode(d[wire.EthernetLen:])
	wire.UDP(d[wire.EthernetLen+wire.IPv4Len:]).Encode(0xc000, dport, total-38)
	f.SetPayload(zeros[:total-len(d)-wire.FCSLen], nil)
	f.WireLen()
	return f
}

func (b *bench) roce(dst, src [6]byte, prio, total int) *frame.Frame {
	return b.udp(dst, src, wire.RoCEv2Port, prio, total)
}

// fromKernel sends count frames of the kernel.
func (b *bench) fromKernel(prio, total, count int) {
	for range count {
		b.n.FromHost(b.udp(peerMAC, myMAC, 53, prio, total))
	}
}

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
		{"RoCE to a group is the kernel's", b.roce([6]byte{1, 0, 0x5e, 0, 0, 1}, peerMAC, 3, 100), "", "0800", 0, 0, 0},
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

func TestStormDuty(t *testing.T) {
	for _, rate := range []link.Rate{100 * link.Mbps, 10 * link.Gbps, 100 * link.Gbps, 800 * link.Gbps} {
		for _, duty := range []float64{0.05, 0.5, 0.99, 1} {
			b := newBench(t, Config{}, rate)
			b.n.Storm(1<<3|1<<5, duty)
			if b.n.Storming() != 1<<3|1<<5 {
				t.Error("not storming")
			}
			b.run(100 * sim.Millisecond) // the first PFC frame has arrived
			from := b.p.pause.StoppedFor(3, b.e.Now())
			const d = 300 * sim.Millisecond
			b.run(d)
			share := float64(b.p.pause.StoppedFor(3, b.e.Now())-from) / float64(d)
			if math.Abs(share-duty) > 0.005 || duty == 1 && share != 1 {
				t.Errorf("%v, duty %g: stopped for %.4f of the time", rate, duty, share)
			}
			if b.p.pause.RxPriority[3] == 0 || b.p.pause.RxPriority[0] != 0 || b.p.pause.RxPriority[5] != b.p.pause.RxPriority[3] {
				t.Errorf("%v: PFC frames by priority %v", rate, b.p.pause.RxPriority)
			}
			b.n.Storm(1<<5, duty)
			b.run(20 * sim.Microsecond)
			if b.p.pause.Paused()&(1<<3) != 0 {
				t.Errorf("%v: priority 3 is stopped after it was taken out of the storm", rate)
			}
			b.n.Storm(0, 0)
			b.run(20 * sim.Microsecond)
			if b.p.pause.Paused() != 0 {
				t.Errorf("%v: still paused after the storm", rate)
			}
			sent := b.n.Counters().TxPFC
			b.run(10 * sim.Millisecond)
			if b.n.Counters().TxPFC != sent {
				t.Errorf("%v: the storm goes on after its end", rate)
			}
		}
	}
}

func TestStormOutlivesTheLink(t *testing.T) {
	b := newBench(t, Config{}, 10*link.Gbps)
	b.n.Storm(1<<3, 1)
	b.run(10 * sim.Microsecond)
	b.n.Port().SetUp(false)
	b.p.pause.Clear()
	sent := b.n.Counters().TxPFC
	b.run(10 * sim.Millisecond)
	if b.n.Counters().TxPFC != sent {
		t.Error("pause frames on a link that is down")
	}
	b.n.Port().SetUp(true)
	b.run(10 * sim.Microsecond)
	if b.p.pause.Paused() != 1<<3 {
		t.Error("the sick NIC recovered with its link")
	}
	for _, duty := range []float64{0, -1, math.NaN()} {
		b.n.Storm(1<<3, duty)
		if b.n.Storming() != 0 {
			t.Errorf("duty %v does not end the storm", duty)
		}
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

package nic

import (
	"fmt"
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
	see    func(*frame.Frame) // of every frame that is not PFC
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
		if p.see != nil {
			p.see(f)
		}
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
		b.n.Storm(0, 0, 0)
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

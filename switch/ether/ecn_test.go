package ether

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cnuas/internal/qdisc"
	"cnuas/internal/wire"
)

// curve marks between 5 and 15 KB, with 20 % at the top.
var curve = ECN{Enable: true, KMin: 5000, KMax: 15000, PMax: 0.2}

func TestMarkingCurve(t *testing.T) {
	// 20000 frames at each length of the queue: the share that is marked is
	// within three standard deviations of the curve.
	cfg := Config{Ports: make([]PortConfig, 2), Classifier: qdisc.DefaultClassifier()}
	cfg.ECN[3] = curve
	n := star(t, cfg, fast)
	f := n.h[0].to(n.h[1], tos3, 1000)
	f.Parse()
	const draws = 20000
	for _, c := range []struct {
		waits int64
		p     float64
	}{{0, 0}, {5000, 0}, {5001, 0.00002}, {6000, 0.02}, {10000, 0.1}, {14000, 0.18}, {15000, 0.2}, {15001, 1}, {1 << 40, 1}} {
		marked := 0
		for range draws {
			h := wire.IPv4(f.Data[14:])
			h.UpdateTOS(tos3)
			f.Meta.Layers.TOS = tos3
			if e := &n.s.ecn[3]; c.waits > e.kmin {
				n.s.mark(n.s.ports[1], e, 3, f, c.waits)
			}
			if h.TOS()&3 == wire.ECNCE {
				marked++
			}
			if !h.ChecksumOK() {
				t.Fatalf("checksum is wrong after marking at %d", c.waits)
			}
		}
		sigma := math.Sqrt(draws * c.p * (1 - c.p))
		if d := math.Abs(float64(marked) - draws*c.p); d > 3*sigma {
			t.Errorf("queue of %d bytes: %d of %d marked, want %.0f +- %.0f", c.waits, marked, draws, draws*c.p, 3*sigma)
		}
	}
	n.pool.Put(f)
}

func TestOnlyCapableFramesAreMarked(t *testing.T) {
	cfg := Config{Ports: make([]PortConfig, 2)}
	cfg.ECN[0] = ECN{Enable: true, KMin: 0, KMax: 0, PMax: 1}
	n := star(t, cfg, fast)
	n.hello()
	a, b := n.h[0], n.h[1]
	b.stop(1, 0xffff)
	n.run(fast.Delay * 4)
	a.send(0, a.to(b, 0, 1000)) // finds an empty queue
	for _, tos := range []uint8{2, 1, 3, 0} {
		a.send(0, a.to(b, tos, 1000))
	}
	v6 := n.raw(nil)
	d := v6.Buf(14 + 40 + 8)
	wire.Ethernet(d).Encode(b.mac, a.mac, wire.EtherTypeIPv6)
	h := wire.IPv6Fields{TrafficClass: 0xab<<2&0xfc | 2, FlowLabel: 0x12345, PayloadLen: 8, NextHeader: 17, HopLimit: 9, Src: [16]byte{0xfd, 15: 1}, Dst: [16]byte{0xfd, 15: 2}}
	h.Encode(d[14:])
	v6.WireLen()
	a.send(0, v6)
	a.send(0, n.raw(n.bare(b.mac, a.mac, -1)))
	n.run(fast.Delay * 40)
	b.stop(1, 0)
	n.run(fast.Delay * 40)
	expect(t, "ECT(0), ECT(1), CE, not ECT, IPv6, not IP", b.take(), strings.Join([]string{
		"h1>h2 10.0.0.1>10.0.0.2 ttl 64",
		"h1>h2 10.0.0.1>10.0.0.2 ttl 64 tos 0x3",
		"h1>h2 10.0.0.1>10.0.0.2 ttl 64 tos 0x3",
		"h1>h2 10.0.0.1>10.0.0.2 ttl 64 tos 0x3",
		"h1>h2 10.0.0.1>10.0.0.2 ttl 64",
		"h1>h2 fd00::1>fd00::2 hl 9",
		"h1>h2 type 88b5",
	}, "\n"))
	if c := n.s.Counters(1); c.ECNMarked[0] != 3 {
		t.Errorf("%d frames counted as marked, want 3", c.ECNMarked[0])
	}
}

func TestGoldenMarksByDepth(t *testing.T) {
	// The egress is stopped, so that frame k finds k x 500 bytes. Which frames
	// are marked is part of the golden table.
	golden(t, "ecn-depth", func() string {
		cfg := lossless(2, 1<<20, 1<<19, 50_000)
		cfg.ECN[3] = curve
		n := star(t, cfg, fast)
		n.hello()
		a, b := n.h[0], n.h[1]
		b.stop(1<<3, 0xffff)
		n.run(10 * fast.Delay)
		for range 40 {
			a.send(3, a.to(b, tos3, 500))
		}
		n.run(200 * fast.Delay)
		b.stop(1<<3, 0)
		n.run(200 * fast.Delay)
		var s strings.Builder
		for i, g := range b.got {
			fmt.Fprintf(&s, "%5d bytes %v\n", i*500, strings.HasSuffix(g, "tos 0x6b"))
		}
		fmt.Fprintf(&s, "marked %d\n", n.s.Counters(1).ECNMarked[3])
		return s.String()
	})
}

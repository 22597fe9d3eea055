package ib

import (
	"testing"

	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// load makes every end of a star of 36 ports send to its neighbour, and every
// sixth also to end 1, without end, on two lanes.
func load(t testing.TB, cfg Config) *network {
	n := star(t, 36, cfg)
	for i := 1; i <= 36; i++ {
		n.flow(i, i%36+1, 0, 0, 4096, -1)
		if i%6 == 2 {
			n.flow(i, 1, 1, 1, 1024, -1)
		}
	}
	n.run(2 * sim.Millisecond)
	return n
}

// What a packet costs over the switch: events, and no allocation.
func TestHopCost(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		set  func(n *network)
		max  float64 // events a packet and hop
	}{
		{"cut-through", Config{}, nil, 3},
		{"store-and-forward", Config{StoreAndForward: true}, nil, 3},
		{"marking", Config{}, func(n *network) {
			n.sw[0].cc.setting.Threshold = 15
			n.sw[0].changed()
		}, 3},
	} {
		n := load(t, c.cfg)
		if c.set != nil {
			c.set(n)
		}
		hops := func() (sum uint64) { // packets sent by an end and by the switch
			for i, x := range n.end {
				sum += x.Port.Counters().XmitPkts + n.sw[0].Port(i+1).Counters().XmitPkts
			}
			return sum
		}
		h, e := hops(), n.e.Fired()
		if a := testing.AllocsPerRun(5, func() { n.run(100 * sim.Microsecond) }); a != 0 {
			t.Errorf("%s: %v allocations in 100 us of traffic", c.name, a)
		}
		h, e = hops()-h, n.e.Fired()-e
		per := float64(e) / float64(h)
		t.Logf("%s: %d packets and hops, %d events: %.2f each", c.name, h, e, per)
		if per > c.max {
			t.Errorf("%s: %.2f events a packet and hop, at most %v", c.name, per, c.max)
		}
		if c.set != nil && n.sw[0].Totals().Marked == 0 {
			t.Error("nothing was marked")
		}
		n.lossless()
		n.done()
	}
}

// One flow that meets no queue: the least that a hop costs.
func TestQuietHopCost(t *testing.T) {
	n := star(t, 2, Config{})
	n.flow(1, 2, 0, 0, 4096, -1)
	n.run(100 * sim.Microsecond)
	h, e := n.end[0].Port.Counters().XmitPkts, n.e.Fired()
	n.run(sim.Millisecond)
	h, e = n.end[0].Port.Counters().XmitPkts-h, n.e.Fired()-e
	if per := float64(e) / float64(2*h); per > 2.1 {
		t.Errorf("%.2f events a packet and hop", per)
	} else {
		t.Logf("%.2f events a packet and hop", per)
	}
	n.done()
}

func TestMulticastAllocatesNothing(t *testing.T) {
	n := star(t, 8, Config{})
	var a mad.MulticastForwarding
	a.PortMask[0] = 0x1fe
	n.sw[0].SetMFTBlock(0, 0, &a)
	n.end[0].Start(0, &ibtest.Flow{Left: -1, Packet: ibtest.Packet{SLID: 1, DLID: wire.LIDMulticastMin, Payload: 1024}})
	n.run(100 * sim.Microsecond)
	if x := testing.AllocsPerRun(10, func() { n.run(50 * sim.Microsecond) }); x != 0 {
		t.Errorf("%v allocations", x)
	}
	n.lossless()
	n.done()
}

// BenchmarkHop is a hop with everything: a sender's port and wire, the switch
// of 36 ports under load, credits.
func BenchmarkHop(b *testing.B) {
	n := load(b, Config{})
	sent := func() (sum uint64) {
		for i, x := range n.end {
			sum += x.Port.Counters().XmitPkts + n.sw[0].Port(i+1).Counters().XmitPkts
		}
		return sum
	}
	b.ReportAllocs()
	b.ResetTimer()
	h := sent()
	for sent()-h < uint64(b.N) {
		n.run(20 * sim.Microsecond)
	}
	b.StopTimer()
	n.done()
}

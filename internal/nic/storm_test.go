package nic

import (
	"math"
	"testing"

	"cnuas/internal/link"
	"cnuas/internal/sim"
)

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
			if c := b.n.Counters(); c.PauseSent != b.p.pause.RxPriority {
				t.Errorf("%v: sent %v, the peer counts %v", rate, c.PauseSent, b.p.pause.RxPriority)
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

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
			b.n.Storm(1<<3|1<<5, duty, 0)
			if m, d, until := b.n.Storming(); m != 1<<3|1<<5 || d != duty || until != sim.Forever {
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
			b.n.Storm(1<<5, duty, 0)
			b.run(20 * sim.Microsecond)
			if b.p.pause.Paused()&(1<<3) != 0 {
				t.Errorf("%v: priority 3 is stopped after it was taken out of the storm", rate)
			}
			b.n.Storm(0, 0, 0)
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
	b.n.Storm(1<<3, 1, 0)
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
		b.n.Storm(1<<3, duty, 0)
		if m, _, _ := b.n.Storming(); m != 0 {
			t.Errorf("duty %v does not end the storm", duty)
		}
	}
}

// A storm that is to last for some time ends then, to the picosecond.
func TestStormEnds(t *testing.T) {
	for _, rate := range []link.Rate{100 * link.Mbps, 10 * link.Gbps, 400 * link.Gbps} {
		for _, d := range []sim.Time{10 * sim.Microsecond, 100 * sim.Millisecond, sim.Second} {
			b := newBench(t, Config{}, rate)
			b.run(sim.Millisecond)
			b.n.Storm(1<<3|1<<4, 1, d)
			if _, _, until := b.n.Storming(); until != b.e.Now()+d {
				t.Errorf("it ends at %v", until)
			}
			b.run(d + sim.Millisecond)
			p := &b.p.pause
			if got := p.StoppedFor(3, b.e.Now()); got != d || p.StoppedFor(4, b.e.Now()) != d || p.Paused() != 0 {
				t.Errorf("%v: stopped for %v, want %v; %08b is stopped at the end", rate, got, d, p.Paused())
			}
			if m, _, _ := b.n.Storming(); m != 0 {
				t.Error("it goes on")
			}
			sent := b.n.Counters().TxPFC
			b.run(sim.Second)
			if b.n.Counters().TxPFC != sent {
				t.Error("pause frames after the end")
			}
		}
	}
}

// A storm anew replaces the end of the one before; the end comes while the link
// is down as well.
func TestStormEndMoves(t *testing.T) {
	b := newBench(t, Config{}, 10*link.Gbps)
	b.n.Storm(1<<3, 1, 10*sim.Millisecond)
	b.run(5 * sim.Millisecond)
	b.n.Storm(1<<3, 1, 20*sim.Millisecond)
	b.run(15 * sim.Millisecond)
	if m, _, _ := b.n.Storming(); m != 1<<3 {
		t.Error("the first end was kept")
	}
	b.run(10 * sim.Millisecond)
	if got := b.p.pause.StoppedFor(3, b.e.Now()); got != 25*sim.Millisecond {
		t.Errorf("stopped for %v, want 25 ms", got)
	}
	b.n.Storm(1<<3, 1, 10*sim.Millisecond)
	b.run(sim.Millisecond)
	b.n.Storm(1<<3, 1, 0)
	b.run(20 * sim.Millisecond)
	if m, _, until := b.n.Storming(); m != 1<<3 || until != sim.Forever {
		t.Error("a storm without an end has ended")
	}
	b.n.Storm(1<<3, 1, 10*sim.Millisecond)
	b.n.Port().SetUp(false)
	b.run(20 * sim.Millisecond)
	b.n.Port().SetUp(true)
	b.run(sim.Millisecond)
	if m, _, _ := b.n.Storming(); m != 0 {
		t.Error("the end was lost with the link")
	}
}

// A storm of half of the time, for some time, is resumed at its end.
func TestStormEndsWithDuty(t *testing.T) {
	b := newBench(t, Config{}, 10*link.Gbps)
	b.n.Storm(1<<3, 0.5, 100*sim.Millisecond)
	b.run(sim.Second)
	if got := float64(b.p.pause.StoppedFor(3, b.e.Now())) / float64(50*sim.Millisecond); math.Abs(got-1) > 0.005 || b.p.pause.Paused() != 0 {
		t.Errorf("stopped for %.4f of 50 ms", got)
	}
}

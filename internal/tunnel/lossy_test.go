package tunnel_test

import (
	"testing"

	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/tunnel"
	"cnuas/internal/tunnel/datagram"
	"cnuas/internal/wire/mad"
)

// Traffic in both directions over a path that loses, reorders, repeats and
// spoils. Whatever does not arrive is a symbol error of the receiver, no credit
// is lost for good, the link stays up, and afterwards it is as good as new.
func TestBadPaths(t *testing.T) {
	const us = sim.Microsecond
	for _, c := range []struct {
		name     string
		f        datagram.Faults
		least    float64 // share of packets that arrive
		recovers bool    // gaps are long enough for link error recovery
	}{
		{"perfect", datagram.Faults{Delay: 10 * us}, 1, false},
		{"loss of 0.1 %", datagram.Faults{Delay: 10 * us, Loss: .001}, .997, false},
		{"loss of 5 %", datagram.Faults{Delay: 10 * us, Loss: .05}, .93, false},
		{"bursts of 30", datagram.Faults{Delay: 10 * us, Loss: .001, Burst: 30}, .9, true},
		{"reordered", datagram.Faults{Delay: 10 * us, Jitter: us / 2}, .3, true},
		{"much reordered", datagram.Faults{Delay: 10 * us, Jitter: 20 * us}, .01, true},
		{"repeated", datagram.Faults{Delay: 10 * us, Repeat: .2}, 1, false},
		{"spoilt", datagram.Faults{Delay: 10 * us, Spoil: .02}, .96, false},
		{"everything", datagram.Faults{Delay: 50 * us, Jitter: us / 2, Loss: .02, Burst: 2, Repeat: .02, Spoil: .02}, .2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newBench(t)
			x.activate()
			x.net.Faults = c.f
			const n = 20000
			x.end[0].Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, Payload: 4096}, Left: n})
			x.end[1].Start(1, &ibtest.Flow{Packet: ibtest.Packet{SLID: 2, DLID: 1, SL: 1, Payload: 1000}, Left: n})
			x.run(2 * sim.Second)
			x.net.Faults = datagram.Faults{Delay: 10 * us}
			x.run(300 * sim.Millisecond)
			x.states(mad.PortActive, mad.PortActive)
			for i := range 2 {
				s, r := x.end[i], x.end[1-i]
				sc, rc, st := s.Port.Counters(), r.Port.Counters(), &x.tun[1-i].Stats
				if sc.XmitPkts != n {
					t.Errorf("%s sent %d of %d packets in 2 s: it waits for credits", s.Port.Name(), sc.XmitPkts, n)
				}
				if got := float64(r.Rcvd) / n; got < c.least {
					t.Errorf("%s: %.4f of the packets arrived, want %v", r.Port.Name(), got, c.least)
				}
				// Every datagram that was sent came or is missed.
				if sent := x.tun[i].Stats.Sent; sent != st.Received+st.Lost+st.Drops[tunnel.DropPacket]+st.Drops[tunnel.DropState] {
					t.Errorf("%s: %d datagrams sent, %+v", r.Port.Name(), sent, *st)
				}
				missed := st.Lost + st.Drops[tunnel.DropPacket]
				if rc.SymbolErrors > missed || rc.SymbolErrors < missed*9/10 && !c.recovers || c.f.Loss > 0 && rc.SymbolErrors == 0 {
					t.Errorf("%s: %d symbol errors, %d datagrams missed", r.Port.Name(), rc.SymbolErrors, missed)
				}
				if lost := n - r.Rcvd; lost > 0 && rc.SymbolErrors == 0 {
					t.Errorf("%s: %d packets lost silently", r.Port.Name(), lost)
				}
				if rc.LinkDowned != 0 || (rc.LinkErrorRecovery != 0) != c.recovers || rc.BufferOverrun != 0 {
					t.Errorf("%s: down %d times, %d recoveries, %d overruns", r.Port.Name(), rc.LinkDowned, rc.LinkErrorRecovery, rc.BufferOverrun)
				}
				for vl := range uint8(4) {
					if k := s.Port.Credits(vl); k < 2048*3/4 {
						t.Errorf("%s: only %d credits of VL%d at the end", s.Port.Name(), k, vl)
					}
				}
				t.Logf("%s: %d of %d packets, %d symbol errors, %d recoveries, late %d", r.Port.Name(), r.Rcvd, n, rc.SymbolErrors, rc.LinkErrorRecovery, st.Drops[tunnel.DropLate])
			}
			before := x.end[1].Rcvd
			x.end[0].Start(2, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, SL: 2, Payload: 4096}, Left: n})
			x.run(sim.Second)
			if got := x.end[1].Rcvd - before; got != n {
				t.Errorf("afterwards %d of %d packets", got, n)
			}
		})
	}
}

// A link that trains and is pulled again and again while a fifth of everything
// is lost comes up every time.
func TestTrainingWithLoss(t *testing.T) {
	for _, loss := range []float64{.05, .2} {
		x := newBench(t)
		x.net.Faults.Loss = loss
		for k := range 50 {
			x.run(5 * sim.Second)
			if k%2 == 0 {
				x.states(mad.PortInit, mad.PortInit)
				x.end[k/2%2].Port.Link().SetUp(false)
			} else {
				x.states(mad.PortDown, mad.PortDown)
				x.end[k/2%2].Port.Link().SetUp(true)
			}
		}
	}
}

// Packets that an injected loss hits are symbol errors at the far end, as on a
// link in memory.
func TestInjectedLoss(t *testing.T) {
	x := newBench(t)
	x.activate()
	x.end[0].Port.Link().SetLoss(.03)
	const n = 10000
	x.end[0].Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, Payload: 4096}, Left: n})
	x.run(sim.Second)
	x.end[0].Port.Link().SetLoss(0)
	x.run(sim.Second)
	c, l := x.end[1].Port.Counters(), x.end[0].Port.Link().Counters
	if l.Corrupted == 0 || c.SymbolErrors != l.Corrupted || x.tun[0].Stats.Spoilt != l.Corrupted || c.LinkErrorRecovery != 0 {
		t.Errorf("%d hit, %d symbol errors, %d recoveries", l.Corrupted, c.SymbolErrors, c.LinkErrorRecovery)
	}
	if got := float64(x.end[1].Rcvd) / n; got < .96 || got > .98 {
		t.Errorf("%v of the packets arrived", got)
	}
}

// Traffic over a tunnel allocates nothing.
func TestTrafficAllocatesNothing(t *testing.T) {
	x := newBench(t)
	x.activate()
	x.end[0].Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, Payload: 4096}, Left: -1})
	x.end[1].Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 2, DLID: 1, Payload: 256}, Left: -1})
	x.run(100 * sim.Millisecond)
	before := x.end[1].Rcvd
	if n := testing.AllocsPerRun(5, func() { x.run(sim.Millisecond) }); n != 0 || x.end[1].Rcvd < before+1000 {
		t.Errorf("%v allocations in a millisecond, %d packets", n, x.end[1].Rcvd-before)
	}
}

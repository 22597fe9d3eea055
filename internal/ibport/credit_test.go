package ibport_test

import (
	"slices"
	"testing"

	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

func data(payload int) ibtest.Packet { return ibtest.Packet{SLID: 1, DLID: 2, Payload: payload} }

// A receiver that takes a tenth of what comes loses nothing, whatever the size
// of buffer and packets: the sender waits, and counts that it does.
func TestSlowReceiver(t *testing.T) {
	for _, c := range []struct{ buffer, payload int }{{0, 4096}, {0, 1}, {4224, 4096}, {4224, 1000}, {1 << 20, 4096}} {
		cb := edr("b")
		cb.BufferBytes = c.buffer
		x := pair(t, edr("a"), cb).up()
		k := data(c.payload)
		wireTime := sim.Time(k.Len()+ibport.Overhead) * 80
		x.b.Service = 10 * wireTime
		const n = 3000
		x.a.Start(0, &ibtest.Flow{Packet: k, Left: n})
		x.run(n * 10 * wireTime * 9 / 10)
		half := x.b.Rcvd
		x.run(n * 10 * wireTime)
		if x.b.Rcvd != n {
			t.Errorf("%+v: %d of %d packets", c, x.b.Rcvd, n)
		}
		if r := x.b.Port.Counters(); r.RcvErrors != 0 || r.BufferOverrun != 0 || r.ExcessiveOverruns != 0 {
			t.Errorf("%+v: errors %+v", c, r)
		}
		// It is not slowed down further: 90 % of the time, 90 % of the packets,
		// unless the buffer holds but one packet and the way there costs as well.
		if c.buffer != 4224 && half < n*88/100 {
			t.Errorf("%+v: %d of %d packets in 90%% of the time", c, half, n)
		}
		s := x.a.Port.Counters()
		if c.payload > 1 && c.buffer < 1<<20 {
			wait := sim.Time(s.XmitWait) * x.a.Port.Tick()
			if ideal := n * 9 * wireTime; wait < ideal*9/10 || wait > ideal*13/10 && c.buffer == 0 {
				t.Errorf("%+v: waited %v of about %v", c, wait, ideal)
			}
			if s.LaneWait[0] == 0 || s.LaneWait[1] != 0 {
				t.Errorf("%+v: by lane %v", c, s.LaneWait)
			}
		}
		x.done()
	}
}

// At full rate the default buffer keeps the wire full, and few flow control
// packets are sent.
func TestFullRate(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	k := data(4096)
	x.a.Start(0, &ibtest.Flow{Packet: k, Left: -1})
	x.run(sim.Millisecond)
	ideal := uint64(sim.Millisecond / (4124 * 80))
	if x.b.Rcvd < ideal*997/1000 {
		t.Errorf("%d packets, a full wire has %d", x.b.Rcvd, ideal)
	}
	most := uint64(14) // percent
	if tunnelled {
		most = 26 // the round trip is not known
	}
	if c := x.b.Port.Counters(); !exact && c.FlowXmit > x.b.Rcvd*most/100 {
		t.Errorf("%d flow control packets for %d packets", c.FlowXmit, x.b.Rcvd)
	}
	if c := x.a.Port.Counters(); c.XmitData != c.XmitPkts*1030 || c.UnicastXmitPkts != c.XmitPkts || c.XmitWait > 100 {
		t.Errorf("counters %+v", c)
	}
	x.done()
}

// Symbol errors hit data and flow control alike. Packets that were hit are
// lost, all others arrive, and no credit is lost for good.
func TestErrors(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	for _, n := range []*ibtest.End{x.a, x.b} {
		n.Port.Link().SetLoss(0.02)
	}
	x.b.Service = 500 * sim.Nanosecond
	x.a.Start(0, &ibtest.Flow{Packet: data(4096), Left: 20000})
	x.b.Start(1, &ibtest.Flow{Packet: ibtest.Packet{SLID: 2, DLID: 1, SL: 1, Payload: 1024}, Left: 20000})
	x.run(30 * sim.Millisecond)
	for _, n := range []*ibtest.End{x.a, x.b} {
		n.Port.Link().SetLoss(0)
	}
	x.run(20 * sim.Millisecond)
	for i, n := range []*ibtest.End{x.a, x.b} {
		o := []*ibtest.End{x.b, x.a}[i]
		c, d := n.Port.Counters(), o.Port.Counters()
		if lost := c.XmitPkts + c.FlowXmit - d.RcvPkts - d.FlowRcv; c.XmitPkts != 20000 || lost != d.SymbolErrors || lost == 0 || lost != n.Port.Link().Counters.Corrupted {
			t.Errorf("%s: %d sent, %d received, %d errors, %d corrupted", n.Port.Name(), c.XmitPkts, d.RcvPkts, d.SymbolErrors, n.Port.Link().Counters.Corrupted)
		}
		if d.BufferOverrun != 0 || d.LinkErrorRecovery != 0 || d.LocalLinkIntegrity != 0 || d.RcvErrors != d.SymbolErrors {
			t.Errorf("%s: %+v", o.Port.Name(), d)
		}
		for vl := range uint8(4) {
			if n.Port.Credits(vl) < ibport.DefaultBuffer/64*3/4 {
				t.Errorf("%s: only %d credits of VL%d at the end", n.Port.Name(), n.Port.Credits(vl), vl)
			}
		}
	}
	x.done()
}

// All flow control packets of a while are lost; afterwards the lanes recover
// what was lost from FCTBS and FCCL.
func TestLostFlowControl(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	x.a.Start(0, &ibtest.Flow{Packet: data(4096), Left: -1})
	x.run(20 * sim.Microsecond)
	x.a.Events = nil
	x.b.Port.MuteFlow(true)
	x.run(40 * sim.Microsecond)
	before := x.b.Rcvd
	x.run(40 * sim.Microsecond)
	if x.b.Rcvd != before || x.a.Port.Credits(0) >= 66 {
		t.Errorf("%d packets more without credits, %d credits", x.b.Rcvd-before, x.a.Port.Credits(0))
	}
	x.b.Port.MuteFlow(false)
	x.run(40 * sim.Microsecond)
	if x.b.Rcvd < before+100 {
		t.Errorf("%d packets after flow control is back", x.b.Rcvd-before)
	}
	if len(x.a.Events) != 0 {
		t.Errorf("events %v", x.a.Events)
	}
	x.done()
}

// Without flow control packets for 400,000 symbol times (128 us on an EDR
// link) the link recovers, again and again, and works when they are back.
func TestWatchdog(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	x.a.Start(0, &ibtest.Flow{Packet: data(4096), Left: -1})
	x.a.Events, x.a.States = nil, nil
	x.b.Port.MuteFlow(true)
	x.run(127 * sim.Microsecond)
	if len(x.a.Events) != 0 {
		t.Fatal("too early")
	}
	x.run(60 * sim.Microsecond)
	if !slices.Equal(x.a.Events, []ibport.Event{ibport.EventWatchdog}) || x.a.Port.Counters().LinkErrorRecovery != 1 || x.b.Port.Counters().LinkErrorRecovery != 1 {
		t.Errorf("events %v, %+v", x.a.Events, x.a.Port.Counters())
	}
	x.run(sim.Millisecond)
	if n := len(x.a.Events); n < 4 || n > 8 || len(x.a.States) != 0 {
		t.Errorf("%d watchdogs in a millisecond, states %v", n, x.a.States)
	}
	x.b.Port.MuteFlow(false)
	n, got := len(x.a.Events), x.b.Rcvd
	x.run(sim.Millisecond)
	if len(x.a.Events) > n+1 || x.b.Rcvd < got+2000 {
		t.Errorf("%d watchdogs and %d packets after flow control is back", len(x.a.Events)-n, x.b.Rcvd-got)
	}
	x.done()
}

// An idle link of good health costs nothing; with ExactFlow it sends what the
// standard wants: a packet a lane every 65,536 symbol times (20.97 us).
func TestIdle(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	before := x.e.Fired()
	x.run(sim.Second)
	if n := x.e.Fired() - before; n != 0 {
		t.Errorf("%d events in an idle second", n)
	}
	x.done()
	ca := edr("a")
	ca.ExactFlow = true
	x = pair(t, ca, edr("b")).up()
	c := x.b.Port.Counters().FlowRcv
	x.run(10 * sim.Millisecond)
	if n := x.b.Port.Counters().FlowRcv - c; n < 4*470 || n > 4*480 {
		t.Errorf("%d flow control packets in 10 ms, want 4 x 476", n)
	}
}

// More local physical errors than LocalPhyErrors: integrity is in doubt, the
// link recovers and goes on.
func TestLinkIntegrity(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	x.a.Start(0, &ibtest.Flow{Packet: data(4096), Left: -1})
	x.run(10 * sim.Microsecond)
	x.a.Port.Link().SetLoss(1)
	x.run(100 * sim.Microsecond)
	x.a.Port.Link().SetLoss(0)
	x.run(100 * sim.Microsecond)
	c := x.b.Port.Counters()
	if c.LocalLinkIntegrity == 0 || !slices.Contains(x.b.Events, ibport.EventLinkIntegrity) || c.LinkErrorRecovery != c.LocalLinkIntegrity {
		t.Errorf("%+v", c)
	}
	n := x.b.Rcvd
	x.run(100 * sim.Microsecond)
	if x.b.Rcvd < n+250 {
		t.Errorf("%d packets in 100 us afterwards", x.b.Rcvd-n)
	}
	x.done()
}

// A sender without respect for credits overruns the buffer: packets are lost,
// counted, and the link is retrained.
func TestOverrun(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	x.b.Service = sim.Second
	for range 40 {
		k := data(4096)
		x.a.Port.Link().SendControl(k.Make(x.pool))
	}
	x.run(10 * sim.Microsecond)
	c := x.b.Port.Counters()
	if x.b.Rcvd != ibport.DefaultBuffer/(66*64) || c.BufferOverrun == 0 || c.ExcessiveOverruns == 0 || !slices.Contains(x.b.Events, ibport.EventBufferOverrun) {
		t.Errorf("%d received, %+v, %v", x.b.Rcvd, c, x.b.Events)
	}
	x.run(20 * sim.Second)
	x.done()
}

// VL15 has no credits: what does not fit is lost.
func TestVL15(t *testing.T) {
	cb := edr("b")
	cb.VL15Packets = 4
	x := pair(t, edr("a"), cb)
	x.run(10 * sim.Millisecond)
	x.b.Service = 10 * sim.Microsecond
	m := make(mad.SMP, mad.PacketLen)
	(&mad.Header{Class: mad.ClassSubnLID, Method: mad.MethodGet, Attr: mad.AttrNodeInfo}).Encode(mad.Packet(m))
	for range 10 {
		x.a.Send(wire.VL15, ibtest.NewMAD(x.pool, 1, 2, 0, mad.Packet(m)))
	}
	x.run(sim.Millisecond)
	if c := x.b.Port.Counters(); c.VL15Dropped != 6 || c.RcvPkts != 10 || c.RcvData != 720 {
		t.Errorf("%+v", c)
	}
	x.done()
}

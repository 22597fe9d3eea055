package ibagent_test

import (
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/ibagent/catest"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// pair is two adapters back to back, LIDs 1 and 2, the first with the manager.
func pair(t *testing.T) (e *sim.Engine, pool *frame.Pool, a, b *catest.CA) {
	e, pool = sim.NewEngine(1), &frame.Pool{}
	a = catest.New(e, pool, ibport.Config{Name: "a"}, 0x100)
	b = catest.New(e, pool, ibport.Config{Name: "b"}, 0x200)
	if err := ibport.Connect(a.P, b.P, 100*sim.Nanosecond); err != nil {
		t.Fatal(err)
	}
	e.RunUntil(5 * sim.Millisecond)
	for i, c := range []*catest.CA{a, b} {
		for _, s := range []mad.PortState{mad.PortArmed, mad.PortActive} {
			ibtest.Set(c.P, s, func(p *mad.PortInfo) { p.LID, p.MasterSMLID = wire.LID(i+1), 1 })
		}
	}
	t.Cleanup(func() {
		e.RunUntil(e.Now() + 100*sim.Second)
		if pool.Live() != 0 {
			t.Errorf("%d frames are alive at the end", pool.Live())
		}
	})
	return e, pool, a, b
}

func TestOwnNode(t *testing.T) {
	_, _, a, _ := pair(t)
	var i mad.NodeInfo
	for _, ask := range []catest.Ask{{Path: []uint8{}}, {DLID: 1}} { // by directed route and by the own LID
		ask.Method, ask.Attr = mad.MethodGet, mad.AttrNodeInfo
		if err := a.Do(ask, &i); err != nil || i.NodeGUID != 0x100 || i.PortGUID != 0x101 || i.LocalPortNum != 1 {
			t.Errorf("%v, %+v", err, i)
		}
	}
	var p mad.PortCounters
	if err := a.Do(catest.Ask{Class: mad.ClassPerf, Method: mad.MethodGet, Attr: mad.AttrPortCounters, DLID: 1, Data: &mad.PortCounters{PortSelect: 1}}, &p); err != nil {
		t.Error(err)
	}
}

// A GMP with a wrong Q_Key or P_Key is counted, reported and not answered.
func TestKeys(t *testing.T) {
	e, pool, a, b := pair(t)
	send := func(change func(f *frame.Frame)) {
		m := make(mad.Packet, mad.PacketLen)
		(&mad.Header{Class: mad.ClassPerf, Method: mad.MethodGet, Attr: mad.AttrClassPortInfo}).Encode(m)
		f := ibtest.NewMAD(pool, 1, 2, 0, m)
		change(f)
		a.SendLID(1, f)
		e.RunUntil(e.Now() + 100*sim.Microsecond)
	}
	got := func() (l []mad.Trap) {
		for _, m := range a.Got {
			var n mad.Notice
			if m.Method() == mad.MethodTrap && mad.Decode(&n, m.Data()) {
				l = append(l, n.TrapNumber)
			}
		}
		return l
	}
	send(func(f *frame.Frame) { wire.DETH(f.Data[20:]).Encode(5, 1) })
	if l := got(); len(l) != 1 || l[0] != mad.TrapBadQKey || b.P.Info().QKeyViolations != 1 || len(a.Got) != 1 {
		t.Errorf("Q_Key: traps %v, %d MADs", l, len(a.Got))
	}
	send(func(f *frame.Frame) { wire.BTH(f.Data[8:]).SetPKey(0x8123) })
	if l := got(); len(l) != 2 || l[1] != mad.TrapBadPKey || b.P.Info().PKeyViolations != 1 {
		t.Errorf("P_Key: traps %v", l)
	}
	// The same again is under way already.
	send(func(f *frame.Frame) { wire.BTH(f.Data[8:]).SetPKey(0x8123) })
	if l := got(); len(l) != 2 || b.P.Info().PKeyViolations != 2 {
		t.Errorf("again: traps %v", l)
	}
	send(func(*frame.Frame) {})
	if m := a.Got[len(a.Got)-1]; m.Method() != mad.MethodGetResp {
		t.Error(mad.Line(m))
	}
}

// TestTrapRate: packets with wrong keys cannot make a port send more than one trap
// for each of them, and 16 together, in the subnet timeout, though the manager
// represses each at once. A change of state is told beside them.
func TestTrapRate(t *testing.T) {
	for _, c := range []struct {
		keys     uint32
		min, max int // traps in three subnet timeouts
	}{{1, 3, 4}, {40, 3 * 16, 4 * 16}} {
		e, pool, a, b := pair(t)
		ibtest.Set(b.P, mad.PortNoChange, func(p *mad.PortInfo) { p.SubnetTimeOut = 12 }) // 17 ms
		every := sim.Time(b.P.SubnetTimeout().Picoseconds())
		a.Got = nil
		begin, traps := e.Now(), 0
		for i := uint32(0); e.Now() < begin+3*every; i++ {
			m := make(mad.Packet, mad.PacketLen)
			(&mad.Header{Class: mad.ClassPerf, Method: mad.MethodGet, Attr: mad.AttrClassPortInfo}).Encode(m)
			f := ibtest.NewMAD(pool, 1, 2, 0, m)
			wire.DETH(f.Data[20:]).Encode(5+i%c.keys, 1)
			a.SendLID(1, f)
			e.RunUntil(e.Now() + 100*sim.Microsecond)
			for _, m := range a.Got {
				traps++
				r := make(mad.Packet, mad.PacketLen)
				copy(r, m)
				r.SetMethod(mad.MethodTrapRepress)
				a.SendLID(1, ibtest.NewMAD(pool, 1, 2, 0, r))
			}
			a.Got = nil
		}
		if n := b.P.Info().QKeyViolations; traps < c.min || traps > c.max || n < 400 {
			t.Errorf("%d keys: %d traps in three subnet timeouts for %d violations, want %d to %d", c.keys, traps, n, c.min, c.max)
		}
		before := b.Agent.Count.Traps
		b.Agent.CapMaskChanged()
		if b.Agent.Count.Traps != before+1 {
			t.Errorf("%d keys: no trap 144", c.keys)
		}
	}
}

// GMPs that come faster than they are answered are dropped and counted.
func TestQP1Dropped(t *testing.T) {
	e, pool, a, b := pair(t)
	m := make(mad.Packet, mad.PacketLen)
	(&mad.Header{Class: mad.ClassPerf, Method: mad.MethodGet, Attr: mad.AttrClassPortInfo}).Encode(m)
	for range 300 {
		a.SendLID(1, ibtest.NewMAD(pool, 1, 2, 0, m))
	}
	e.RunUntil(e.Now() + 10*sim.Millisecond)
	if n := b.P.Counters().QP1Dropped; n == 0 || int(n)+len(a.Got) != 300 {
		t.Errorf("%d dropped, %d answered", n, len(a.Got))
	}
}

// Client reregistration and other events reach the owner; a client re-reads.
func TestEvents(t *testing.T) {
	e, pool := sim.NewEngine(1), &frame.Pool{}
	x := ibtest.NewEnd(e, pool, ibport.Config{})
	i := x.Port.Info()
	i.LID, i.MasterSMLID, i.ClientReregister = 5, 6, true
	if x.Port.Set(&i) != 0 || len(x.Events) != 3 || x.Events[0] != ibport.EventLID || x.Events[1] != ibport.EventSM || x.Events[2] != ibport.EventReregister {
		t.Errorf("%v", x.Events)
	}
}

// Counters stop at their maximum.
func TestSaturation(t *testing.T) {
	_, _, a, b := pair(t)
	for range 70000 {
		b.P.CountQP1Dropped()
		b.P.CountVL15Dropped()
	}
	var c mad.PortCounters
	ask := catest.Ask{Class: mad.ClassPerf, Method: mad.MethodGet, Attr: mad.AttrPortCounters, DLID: 2, Data: &mad.PortCounters{PortSelect: 1}}
	if err := a.Do(ask, &c); err != nil || c.QP1Dropped != 0xffff || c.VL15Dropped != 0xffff {
		t.Errorf("%v, %+v", err, c)
	}
	var x mad.PortCountersExtended
	ask.Attr, ask.Data = mad.AttrPortCountersExtended, &mad.PortCountersExtended{PortSelect: 1}
	if err := a.Do(ask, &x); err != nil || x.QP1Dropped != 70000 {
		t.Errorf("%v, %+v", err, x)
	}
}

// A question and its answer allocate nothing, whichever agent gives it.
func TestAnswersAllocateNothing(t *testing.T) {
	e, pool, a, _ := pair(t)
	a.Hook = func(_ mad.Packet, f *frame.Frame) bool { pool.Put(f); return true }
	var ms []mad.Packet
	for _, h := range []mad.Header{
		{Class: mad.ClassSubnLID, Method: mad.MethodGet, Attr: mad.AttrNodeInfo},
		{Class: mad.ClassSubnLID, Method: mad.MethodGet, Attr: mad.AttrPortInfo},
		{Class: mad.ClassSubnLID, Method: mad.MethodGet, Attr: mad.AttrPKeyTable},
	} {
		m := make(mad.Packet, mad.PacketLen)
		h.Encode(m)
		ms = append(ms, m)
	}
	if n := testing.AllocsPerRun(50, func() {
		for _, m := range ms {
			a.SendLID(1, ibtest.NewMAD(pool, 1, 2, 0, m))
		}
		e.RunUntil(e.Now() + 50*sim.Microsecond)
	}); n != 0 {
		t.Errorf("%v allocations for %d answers", n, len(ms))
	}
}

package hca_test

import (
	"errors"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// TestCommitOrder: nothing is visible before Commit; then data come first,
// completions next, ring space, and the event last.
func TestCommitOrder(t *testing.T) {
	b := hca.NewBatch()
	p := newPair(t, 1, b, hca.Config{})
	x := p.connect(connOpt{})
	var order []string
	cq := must[*verbs.CQ](t)(x[1].NewCQ(16, func() { order = append(order, "event") }))
	qp := must[*verbs.QP](t)(x[1].NewQP(cq, cq, hca.QPCap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1}, false))
	src := must[*verbs.QP](t)(x[0].NewQP(x[0].cq, x[0].cq, hca.QPCap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1}, false))
	if err := verbs.Connect(src, qp, verbs.Path{}); err != nil {
		t.Fatal(err)
	}
	cq.Arm(false)
	x[1].Fault = func(s hca.Segment, write bool) error {
		if write {
			order = append(order, fmt.Sprintf("data %d, completions %d, slots %d", s.Len, cq.Ring().Producer(), qp.RecvRing().Consumer()))
		}
		return nil
	}
	qp.PostRecv(1, x[1].buf.SGE(0, 10000))
	src.PostSend(&ring.Send{Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: []ring.SGE{x[0].buf.SGE(0, 10000)}})
	p.run(sim.Millisecond)
	if len(order) != 0 || cq.Ring().Producer() != 0 || !b.Pending() {
		t.Fatalf("before Commit: %v, %d completions", order, cq.Ring().Producer())
	}
	b.Commit()
	if fmt.Sprint(order) != "[data 10000, completions 0, slots 0 event]" || qp.RecvRing().Consumer() != 1 || b.Pending() {
		t.Errorf("order %v, slots %d", order, qp.RecvRing().Consumer())
	}
	if n := len(x[0].poll()); n != 1 {
		t.Errorf("%d completions at the sender", n)
	}
	p.drain()
}

// TestCommitBySize: a batch does not grow without end.
func TestCommitBySize(t *testing.T) {
	b := hca.NewBatch()
	p := newPair(t, 1, b, hca.Config{})
	x := p.connect(connOpt{})
	n := 0
	x[1].Fault = func(s hca.Segment, write bool) error {
		if n += int(s.Len); s.Len > 256<<10+4096 {
			t.Errorf("%d bytes in one piece", s.Len)
		}
		return nil
	}
	x[0].qp.PostSend(&ring.Send{Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled, RemoteAddr: x[1].buf.Addr, RKey: x[1].buf.MR.RKey(), SGEs: []ring.SGE{x[0].buf.SGE(0, 1<<20)}})
	p.run(10 * sim.Millisecond)
	if n < 768<<10 {
		t.Errorf("%d bytes written before Commit", n)
	}
	b.Commit()
	if n != 1<<20 {
		t.Errorf("%d bytes written", n)
	}
	p.drain()
}

// TestScatterFails: a memory that cannot be written ends both sides with an
// error and no success; an innocent queue pair of the same program goes on.
func TestScatterFails(t *testing.T) {
	b := hca.NewBatch()
	p := newPair(t, 1, b, hca.Config{})
	x := p.connect(connOpt{})
	caps := hca.QPCap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1}
	good := [2]*verbs.QP{}
	for i := range good {
		good[i] = must[*verbs.QP](t)(x[i].NewQP(x[i].cq, x[i].cq, caps, false))
	}
	if err := verbs.Connect(good[0], good[1], verbs.Path{}); err != nil {
		t.Fatal(err)
	}
	bad := errors.New("not mapped")
	x[1].Fault = func(s hca.Segment, write bool) error {
		if lo := x[1].buf.Addr + 8192; write && s.Addr < lo+10 && lo < s.Addr+s.Len {
			return bad
		}
		return nil
	}
	good[1].PostRecv(1, x[1].buf.SGE(0, 4096))
	x[1].qp.PostRecv(2, x[1].buf.SGE(8192, 4096))
	fill(x[0].buf.B[:4096], 1)
	good[0].PostSend(&ring.Send{ID: 10, Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: []ring.SGE{x[0].buf.SGE(0, 4096)}})
	x[0].qp.PostSend(&ring.Send{ID: 20, Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: []ring.SGE{x[0].buf.SGE(0, 4096)}})
	p.run(sim.Millisecond)
	b.Commit()
	p.run(sim.Millisecond)
	b.Commit()
	got := func(l []ring.CQE) (s string) {
		for _, c := range l {
			s += fmt.Sprintf("%d:%d ", c.ID, c.Status)
		}
		return s
	}
	if s := got(x[1].poll()); s != "1:0 2:4 " {
		t.Errorf("receiver: %s", s)
	}
	if s := got(x[0].poll()); s != "10:0 20:11 " {
		t.Errorf("sender: %s", s)
	}
	if string(x[1].buf.B[:4096]) != string(x[0].buf.B[:4096]) {
		t.Error("the innocent queue pair's data did not arrive")
	}
	if x[1].qp.State() != hca.Err || x[0].qp.State() != hca.Err || good[1].State() != hca.RTS {
		t.Errorf("states %v %v %v", x[1].qp.State(), x[0].qp.State(), good[1].State())
	}
	if len(x[1].Events) != 1 || x[1].Events[0].Type != hca.EventQPFatal || x[1].Events[0].QP != x[1].qp.QP {
		t.Errorf("events %+v", x[1].Events)
	}
	p.drain()
}

// TestScatterFailsLater: the acknowledge is on its way when the copy fails; a
// request that is outstanding then meets the NAK.
func TestScatterFailsLater(t *testing.T) {
	b := hca.NewBatch()
	p := newPair(t, 1, b, hca.Config{})
	x := p.connect(connOpt{})
	x[1].Fault = func(s hca.Segment, write bool) error {
		if write {
			return errors.New("gone")
		}
		return nil
	}
	p.port[0].rx = func(f *frameT) *frameT { // acknowledges are lost, the NAK comes through
		if h := wire.BTH(f.Data[42:]); h.Opcode() == wire.RCAcknowledge && wire.AETH(f.Data[54:]).Syndrome().Kind() == wire.KindACK {
			p.pool.Put(f)
			return nil
		}
		return f
	}
	x[0].qp.PostSend(&ring.Send{ID: 1, Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled, RemoteAddr: x[1].buf.Addr, RKey: x[1].buf.MR.RKey(), SGEs: []ring.SGE{x[0].buf.SGE(0, 4096)}})
	p.run(100 * sim.Microsecond)
	b.Commit()
	if x[1].qp.State() != hca.Err {
		t.Fatal("no error at the responder")
	}
	for range 10 {
		p.run(200 * sim.Millisecond)
		b.Commit()
	}
	if c := x[0].poll(); len(c) != 1 || c[0].Status == 0 {
		t.Errorf("completions %+v", c)
	}
}

// TestArm: an event comes once per arming, for a solicited completion only if
// that was asked for, and at once for an error.
func TestArm(t *testing.T) {
	p := newPair(t, 1, nil, hca.Config{})
	x := p.connect(connOpt{})
	events := 0
	cq := must[*verbs.CQ](t)(x[1].NewCQ(64, func() { events++ }))
	qp := must[*verbs.QP](t)(x[1].NewQP(cq, cq, hca.QPCap{MaxSendWR: 4, MaxRecvWR: 16, MaxSendSGE: 1, MaxRecvSGE: 1}, false))
	src := must[*verbs.QP](t)(x[0].NewQP(x[0].cq, x[0].cq, hca.QPCap{MaxSendWR: 16, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1}, false))
	if err := verbs.Connect(src, qp, verbs.Path{}); err != nil {
		t.Fatal(err)
	}
	send := func(flags uint32) {
		t.Helper()
		qp.PostRecv(1, x[1].buf.SGE(0, 8))
		if err := src.PostSend(&ring.Send{Opcode: ring.OpSend, Flags: flags, SGEs: []ring.SGE{x[0].buf.SGE(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		p.run(100 * sim.Microsecond)
	}
	expect := func(n int, what string) {
		t.Helper()
		if events != n {
			t.Errorf("%s: %d events, want %d", what, events, n)
		}
		events = 0
	}
	send(ring.FlagSolicited)
	expect(0, "not armed")
	cq.Arm(false)
	send(0)
	send(0)
	expect(1, "armed")
	cq.Arm(true)
	send(0)
	expect(0, "solicited only")
	send(ring.FlagSolicited)
	expect(1, "solicited")
	cq.Arm(true)
	qp.PostRecv(1, x[1].buf.SGE(0, 8))
	if err := qp.Modify(&hca.QPAttr{State: hca.Err}, hca.AttrState); err != nil {
		t.Fatal(err)
	}
	expect(1, "error")
}

// TestCQOverrun: completions that find no room are lost with an event; nothing
// else happens.
func TestCQOverrun(t *testing.T) {
	p := newPeer(t, nil)
	small := must[*verbs.CQ](t)(p.NewCQ(3, nil))
	qp := must[*verbs.QP](t)(p.NewQP(small, small, hca.QPCap{MaxSendWR: 16, MaxRecvWR: 16}, false))
	for i := range 8 {
		qp.PostRecv(uint64(i))
	}
	if err := qp.Modify(&hca.QPAttr{State: hca.Init, Port: 1}, toInit); err != nil {
		t.Fatal(err)
	}
	if err := qp.Modify(&hca.QPAttr{State: hca.Err}, hca.AttrState); err != nil {
		t.Fatal(err)
	}
	var wc [8]ring.CQE
	if n := small.Poll(wc[:]); n != 3 {
		t.Errorf("%d completions", n)
	}
	p.wantEvents(hca.EventCQErr)
	if c := p.dev.Counters(); c.CQOverruns != 5 {
		t.Errorf("%d overruns", c.CQOverruns)
	}
}

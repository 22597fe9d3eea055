package hca_test

import (
	"errors"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// TestSRQ shares one queue between two connections and a UD queue pair.
func TestSRQ(t *testing.T) {
	p := newPair(t, 1, nil, hca.Config{})
	a, b := p.udEnd(0, false), p.udEnd(1, false)
	srq := must[*verbs.SRQ](t)(b.NewSRQ(hca.SRQAttr{MaxWR: 31, MaxSGE: 1}))
	caps := hca.QPCap{MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 1, MaxRecvSGE: 1}
	var send, recv [3]*verbs.QP
	for i, typ := range []hca.QPType{hca.RC, hca.RC, hca.UD} {
		send[i] = must[*verbs.QP](t)(a.NewQPOf(verbs.QPSpec{Type: typ, Send: a.cq, Recv: a.cq, Cap: caps}))
		recv[i] = must[*verbs.QP](t)(b.NewQPOf(verbs.QPSpec{Type: typ, Send: b.cq, Recv: b.cq, SRQ: srq, Cap: caps}))
		var err error
		if typ == hca.RC {
			err = verbs.Connect(send[i], recv[i], verbs.Path{MinRNRTimer: 1})
		} else if err = verbs.Datagrams(send[i], 5); err == nil {
			err = verbs.Datagrams(recv[i], 5)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ah := must[*hca.AH](t)(a.Context.CreateAH(a.PD, p.vector(1)))
	post := func(i int) {
		t.Helper()
		w := ring.Send{ID: uint64(i), Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: []ring.SGE{a.buf.SGE(0, 100)}}
		if i == 2 {
			w.QPN, w.QKey, w.AH = recv[2].Num(), 5, ah.Num()
		}
		if err := send[i].PostSend(&w); err != nil {
			t.Fatal(err)
		}
		p.run(5 * sim.Microsecond)
	}
	for k := range 6 {
		srq.PostRecv(uint64(100+k), b.buf.SGE(k*1000, 1000))
	}
	if err := srq.SetLimit(2); err != nil || srq.SetLimit(32) == nil {
		t.Errorf("limit: %v, or more than the queue has", err)
	}
	for _, i := range []int{0, 2, 1, 0} {
		post(i)
	}
	if len(b.Events) != 0 {
		t.Errorf("events %+v with two left", b.Events)
	}
	post(2)
	if len(b.Events) != 1 || b.Events[0].Type != hca.EventSRQLimit || b.Events[0].SRQ != srq.SRQ || srq.Query().Limit != 0 {
		t.Errorf("events %+v, attributes %+v", b.Events, srq.Query())
	}
	post(1)
	b.Events = nil
	post(2) // nothing left: lost
	post(0) // waits
	p.run(100 * sim.Microsecond)
	if n := p.dev[0].Counters().RxRNRNaks; n == 0 {
		t.Error("no RNR NAK from an empty shared queue")
	}
	srq.PostRecv(106, b.buf.SGE(0, 1000))
	p.run(sim.Millisecond)
	var ids, from []uint64
	for _, c := range b.poll() {
		ids = append(ids, c.ID)
		for i := range recv {
			if c.QPN == recv[i].Num() {
				from = append(from, uint64(i))
			}
		}
		if c.Status != 0 {
			t.Errorf("%+v", c)
		}
	}
	for k, want := range []uint64{0, 2, 1, 0, 2, 1, 0} {
		if k >= len(ids) || ids[k] != uint64(100+k) || from[k] != want {
			t.Fatalf("work requests %v for %v", ids, from)
		}
	}
	if n := len(a.poll()); n != 8 {
		t.Errorf("%d sends complete", n)
	}
	// The end of a queue pair leaves the work requests to the others.
	srq.PostRecv(107, b.buf.SGE(0, 1000))
	if err := recv[0].Modify(&hca.QPAttr{State: hca.Err}, hca.AttrState); err != nil {
		t.Fatal(err)
	}
	p.run(sim.Microsecond)
	if len(b.Events) != 1 || b.Events[0].Type != hca.EventLastWQE || b.Events[0].QP != recv[0].QP || len(b.poll()) != 0 {
		t.Errorf("events %+v", b.Events)
	}
	post(1)
	if c := b.poll(); len(c) != 1 || c[0].ID != 107 {
		t.Errorf("%+v", c)
	}
	if err := srq.Destroy(); !errors.Is(err, hca.ErrBusy) {
		t.Errorf("destroyed in use: %v", err)
	}
	for _, q := range recv {
		if err := q.Destroy(); err != nil {
			t.Error(err)
		}
	}
	if err := srq.Destroy(); err != nil || srq.Destroy() == nil {
		t.Errorf("destroy: %v, or twice", err)
	}
	a.Context.Close()
	b.Context.Close()
	p.drain()
}

// TestLastWQEIsBehindCompletions: who hears of the end finds every completion.
func TestLastWQEIsBehindCompletions(t *testing.T) {
	b := hca.NewBatch()
	p := newPair(t, 1, b, hca.Config{})
	x := p.udEnd(0, false)
	srq := must[*verbs.SRQ](t)(x.NewSRQ(hca.SRQAttr{MaxWR: 7, MaxSGE: 1}))
	q := must[*verbs.QP](t)(x.NewQPOf(verbs.QPSpec{Type: hca.UD, Send: x.cq, Recv: x.cq, SRQ: srq, Cap: hca.QPCap{MaxSendWR: 4, MaxSendSGE: 1}}))
	if err := verbs.Datagrams(q, 1); err != nil {
		t.Fatal(err)
	}
	q.Post(&ring.Send{ID: 1, Opcode: ring.OpRDMARead}) // fails
	q.Modify(&hca.QPAttr{State: hca.Err}, hca.AttrState)
	if len(x.Events) != 0 {
		t.Errorf("events %+v before the commit", x.Events)
	}
	b.Commit()
	if c := x.poll(); len(c) != 1 || len(x.Events) != 1 {
		t.Errorf("%+v, events %+v", c, x.Events)
	}
}

// TestSRQInit: what may be made.
func TestSRQInit(t *testing.T) {
	p := newPeer(t, nil)
	for _, a := range []hca.SRQAttr{{MaxWR: 4, MaxSGE: hca.MaxSGE + 1}, {MaxWR: 4, Limit: 5}} {
		if _, err := p.NewSRQ(a); !errors.Is(err, hca.ErrInvalid) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	o := must[*verbs.Program](t)(verbs.Open(p.dev, 4096))
	other := must[*verbs.SRQ](t)(o.NewSRQ(hca.SRQAttr{MaxWR: 4, MaxSGE: 1}))
	if _, err := p.NewQPOf(verbs.QPSpec{Send: p.cq, Recv: p.cq, SRQ: other}); !errors.Is(err, hca.ErrInvalid) {
		t.Errorf("of another program: %v", err)
	}
	if err := o.PD.Dealloc(); !errors.Is(err, hca.ErrBusy) {
		t.Errorf("domain in use: %v", err)
	}
}

// TestSRQUsesItsDomain: keys of shared work requests are those of the SRQ's
// protection domain, whatever the queue pair's is.
func TestSRQUsesItsDomain(t *testing.T) {
	p := newPeerOf(t, hca.UD, nil)
	srq := must[*verbs.SRQ](t)(p.NewSRQ(hca.SRQAttr{MaxWR: 4, MaxSGE: 1}))
	mine := p.PD
	p.PD = must[*hca.PD](t)(p.Context.AllocPD())
	q := must[*verbs.QP](t)(p.NewQPOf(verbs.QPSpec{Type: hca.UD, Send: p.cq, Recv: p.cq, SRQ: srq, Cap: hca.QPCap{MaxSendWR: 1}}))
	foreign := must[*verbs.Buffer](t)(p.Buffer(64, allAccess))
	p.PD = mine
	if err := verbs.Datagrams(q, 0x1234); err != nil {
		t.Fatal(err)
	}
	srq.PostRecv(1, p.buf.SGE(0, 64))
	srq.PostRecv(2, foreign.SGE(0, 64))
	k := pkt{op: wire.UDSendOnly, qkey: 0x1234, dst: q.Num(), pay: bytesOf(8, 1)}
	p.in(k)
	p.wantCQ("1 0 128 48")
	p.in(k)
	p.wantCQ("2 4 128 0")
}

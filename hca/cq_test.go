package hca_test

import (
	"errors"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/wire"
)

// TestOverrunEndsQueuePairs: a completion queue that overruns takes the queue
// pairs that use it to Err, and no others.
func TestOverrunEndsQueuePairs(t *testing.T) {
	p := newPeerOf(t, hca.UC, nil)
	small := must[*verbs.CQ](t)(p.NewCQ(3, nil))
	caps := hca.QPCap{MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 1, MaxRecvSGE: 1}
	q := must[*verbs.QP](t)(p.NewQPOf(verbs.QPSpec{Type: hca.UD, Send: small, Recv: p.cq, Cap: caps}))
	r := must[*verbs.QP](t)(p.NewQPOf(verbs.QPSpec{Type: hca.UD, Send: p.cq, Recv: small, Cap: caps}))
	for _, x := range []*verbs.QP{q, r} {
		if err := verbs.Datagrams(x, 1); err != nil {
			t.Fatal(err)
		}
	}
	ah := p.ahTo(0)
	r.PostRecv(9, p.buf.SGE(0, 8))
	for i := range 5 {
		q.Post(&ring.Send{ID: uint64(i), Opcode: ring.OpSend, Flags: ring.FlagSignaled, QPN: peerQPN, AH: ah.Num()})
	}
	q.Doorbell()
	p.out()
	if q.State() != hca.Err || r.State() != hca.Err || p.qp.State() != hca.RTS {
		t.Errorf("states %v, %v and %v", q.State(), r.State(), p.qp.State())
	}
	p.wantEvents(hca.EventCQErr, hca.EventQPFatal, hca.EventQPFatal)
	var wc [8]ring.CQE
	if n := small.Poll(wc[:]); n != 3 || wc[2].ID != 2 {
		t.Errorf("%d completions, %+v", n, wc[:n])
	}
	p.recv(1, 0, 8)
	p.in(pkt{op: wire.UCSendOnly, psn: 200, pay: bytesOf(8, 1)})
	p.wantCQ("1 0 128 8")
}

// TestResizeCQ: what is in the queue moves, published or not.
func TestResizeCQ(t *testing.T) {
	b := hca.NewBatch()
	p := newPair(t, 1, b, hca.Config{})
	x := p.udEnd(0, false)
	cq := must[*verbs.CQ](t)(x.NewCQ(7, nil))
	q := must[*verbs.QP](t)(x.NewQPOf(verbs.QPSpec{Type: hca.UD, Send: cq, Recv: cq, Cap: hca.QPCap{MaxSendWR: 63, MaxRecvWR: 1, MaxSendSGE: 1}}))
	if err := verbs.Datagrams(q, 1); err != nil {
		t.Fatal(err)
	}
	ah := must[*hca.AH](t)(x.Context.CreateAH(x.PD, p.vector(1)))
	id := uint64(0)
	send := func(n int) {
		for range n {
			q.Post(&ring.Send{ID: id, Opcode: ring.OpSend, Flags: ring.FlagSignaled, QPN: 5, AH: ah.Num()})
			id++
		}
		q.Doorbell()
		p.run(1e8)
	}
	var wc [64]ring.CQE
	want := uint64(0)
	take := func(n int) {
		t.Helper()
		if got := cq.Poll(wc[:n]); got != n {
			t.Fatalf("%d completions, want %d", got, n)
		}
		for _, c := range wc[:n] {
			if c.ID != want || c.Status != 0 {
				t.Fatalf("%+v, want number %d", c, want)
			}
			want++
		}
	}
	send(6)
	b.Commit()
	take(5) // the next ones go round the end of the ring
	send(4)
	b.Commit()
	send(2) // not published
	if err := cq.Resize(3); !errors.Is(err, hca.ErrInvalid) {
		t.Errorf("too small: %v", err)
	}
	if err := cq.Resize(40); err != nil {
		t.Fatal(err)
	}
	take(5)
	if cq.Poll(wc[:]) != 0 {
		t.Error("a resize publishes")
	}
	b.Commit()
	take(2)
	send(30)
	b.Commit()
	take(30)
	if err := cq.Resize(1); err != nil {
		t.Error(err)
	}
}

// TestRereg: other keys, other rights, and old ones worth nothing, even where a
// queue pair has just used them.
func TestRereg(t *testing.T) {
	p := newPeer(t, nil)
	mr := must[*hca.MR](t)(p.Context.RegMR(p.PD, p.buf.Addr, 64, p.buf.Addr, allAccess))
	pd := must[*hca.PD](t)(p.Context.AllocPD())
	write := func(psn uint32, key uint32) {
		p.in(pkt{op: wire.RCWriteOnly, psn: psn, va: p.buf.Addr, rkey: key, dmaLen: 4, pay: []byte{1, 2, 3, byte(psn)}, ack: true})
	}
	write(200, mr.RKey())
	p.want("Acknowledge 200 [ACK msn 1]")
	old := mr.RKey()
	ro := hca.AccessRemoteRead
	bad := hca.AccessRemoteWrite
	if err := mr.Rereg(hca.Rereg{Access: &bad}); !errors.Is(err, hca.ErrInvalid) || mr.RKey() != old {
		t.Errorf("remote without local write: %v", err)
	}
	if err := mr.Rereg(hca.Rereg{Range: true, Start: p.buf.Addr + 4096, Length: 64, IOVA: p.buf.Addr}); err != nil || mr.RKey() == old {
		t.Errorf("range: %v", err)
	}
	write(201, mr.RKey())
	if p.out(); p.buf.B[4099] != 201 {
		t.Error("the new range was not written")
	}
	if err := mr.Rereg(hca.Rereg{PD: pd}); err != nil {
		t.Error(err)
	}
	if err := pd.Dealloc(); !errors.Is(err, hca.ErrBusy) {
		t.Errorf("domain with the region: %v", err)
	}
	write(202, mr.RKey())
	p.want("Acknowledge 202 [NAK remote access error msn 2]")
	p = newPeer(t, nil)
	mr = must[*hca.MR](t)(p.Context.RegMR(p.PD, p.buf.Addr, 64, p.buf.Addr, allAccess))
	if err := mr.Rereg(hca.Rereg{Access: &ro}); err != nil {
		t.Error(err)
	}
	write(200, mr.RKey())
	p.want("Acknowledge 200 [NAK remote access error msn 0]")
	mr.Dereg()
	if err := mr.Rereg(hca.Rereg{Access: &ro}); !errors.Is(err, hca.ErrInvalid) {
		t.Errorf("after dereg: %v", err)
	}
}

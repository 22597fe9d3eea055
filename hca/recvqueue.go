package hca

import (
	"cnuas/hca/ring"
	"cnuas/hca/transport"
	"cnuas/internal/wire"
)

// recvQueue is where receive work requests come from: a queue pair's own queue,
// or one that several queue pairs share.
type recvQueue struct {
	ring *ring.Ring
	pd   *PD    // of the keys in it
	srq  *SRQ   // nil: a queue pair's own
	sge  uint32 // the most SGEs that a work request has
	next uint32 // the next one to take
}

// hasRecv tells whether a receive work request is there: one is posted, or an
// unreliable queue pair has one left from a message that was given up.
func (q *QP) hasRecv() bool { return q.resp.busy || q.rq.next != q.rq.ring.Producer() }

// hasOwnRecv tells whether something is posted to the queue pair's own queue.
func (q *QP) hasOwnRecv() bool { return q.own.ring != nil && q.own.next != q.own.ring.Producer() }

// takeRecv takes the next receive work request. data: its SGEs will be needed.
func (q *QP) takeRecv(data bool) Status {
	r := &q.resp
	if r.busy { // of UC, from a message that was given up: begin again
		r.rewind()
		return 0
	}
	if !data {
		r.recvID, r.recvSegs, r.recvLen = ring.RecvWQE(q.rq.ring.At(q.rq.next)).ID(), nil, 0
		r.rewind()
		q.advanceRecv()
		return 0
	}
	st := q.peekRecv()
	q.advanceRecv()
	return st
}

// peekRecv looks at the next receive work request, which stays where it is.
func (q *QP) peekRecv() Status {
	r, rq := &q.resp, q.rq
	w := ring.RecvWQE(rq.ring.At(rq.next))
	r.recvID, r.recvLen = w.ID(), 0
	r.recvSegs = r.segBuf[:0]
	r.rewind()
	n := w.NumSGE()
	if n > rq.sge || int(n) > w.MaxSGE() {
		return StatusLocQPOpErr
	}
	for i := range int(n) {
		s := w.SGE(i)
		if s.Len == 0 {
			continue
		}
		m := q.region(rq.pd, s.LKey)
		if m == nil {
			return StatusLocProtErr
		}
		a, ok := m.translate(s.Addr, uint64(s.Len), AccessLocalWrite)
		if !ok {
			return StatusLocProtErr
		}
		r.recvSegs = append(r.recvSegs, Segment{a, uint64(s.Len)})
		r.recvLen += uint64(s.Len)
	}
	return 0
}

// advanceRecv takes what peekRecv looked at.
func (q *QP) advanceRecv() {
	rq := q.rq
	rq.next = rq.ring.Next(rq.next)
	q.resp.busy = true
	if rq.srq != nil {
		rq.srq.taken()
	} else {
		q.markDirty()
	}
}

// rewind goes back to the beginning of the receive work request in use.
func (s *responder) rewind() { s.recvGot, s.recvSeg, s.recvOff = 0, 0, 0 }

// place puts the next bytes of a message where the receive work request has
// room, which there is.
func (q *QP) place(p []byte) {
	r := &q.resp
	r.recvGot += uint32(len(p))
	for len(p) > 0 {
		g := &r.recvSegs[r.recvSeg]
		l := min(uint64(len(p)), g.Len-r.recvOff)
		q.write(g.Addr+r.recvOff, p[:l])
		p = p[l:]
		if r.recvOff += l; r.recvOff == g.Len {
			r.recvSeg, r.recvOff = r.recvSeg+1, 0
		}
	}
}

// skip leaves the next n bytes of the receive work request as they are.
func (q *QP) skip(n uint32) {
	r := &q.resp
	r.recvGot += n
	for left := uint64(n); left > 0; {
		g := &r.recvSegs[r.recvSeg]
		l := min(left, g.Len-r.recvOff)
		left -= l
		if r.recvOff += l; r.recvOff == g.Len {
			r.recvSeg, r.recvOff = r.recvSeg+1, 0
		}
	}
}

// received completes the receive work request that is in use. e has what is
// particular to the service.
func (q *QP) received(p *request, e ring.CQE) {
	q.resp.busy = false
	e.ID, e.QPN, e.Port = q.resp.recvID, q.num, 1
	if p.op.Kind&transport.Imm != 0 {
		e.Flags |= ring.WCFlagImm
		copy(e.Imm[:], p.head[len(p.head)-wire.ImmDtLen:])
	}
	q.rcq.push(&e, p.solicited)
}

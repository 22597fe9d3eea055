package hca

import "cnuas/hca/ring"

// Read IBTA vol. 1 §10.3.1.5 to §10.3.1.7 and §10.10.2 before editing.

// toErr moves the queue pair to Err and completes every work request as
// flushed. Those of an SRQ stay there for others; instead the program is told
// that this queue pair takes no more of them.
func (q *QP) toErr() {
	if q.attr.State == Err {
		return
	}
	q.attr.State = Err
	q.activate()
	q.req.stop()
	q.resp.halt()
	q.flush()
	if q.rq.srq != nil {
		b := q.ctx.dev.batch
		b.last = append(b.last, q)
	}
}

// toSQE stops the send queue of an unreliable queue pair after an error of its
// own: what is posted is flushed, what arrives is still received.
func (q *QP) toSQE() {
	if q.attr.State == Err {
		return
	}
	q.attr.State = SQE
	q.activate()
	q.unready()
	q.req.stop()
	q.flushSends()
}

// activate has Sweep look at the queue pair.
func (q *QP) activate() {
	if !q.active {
		q.active = true
		d := q.ctx.dev
		d.active = append(d.active, q)
	}
}

// flush completes what is posted to a queue pair in Err.
func (q *QP) flush() {
	q.flushSends()
	e := ring.CQE{Status: uint32(StatusWRFlushErr), Opcode: ring.WCRecv, QPN: q.num, SrcQP: q.attr.DestQPN, Port: 1}
	if q.resp.busy {
		q.resp.busy = false
		e.ID = q.resp.recvID
		q.rcq.push(&e, true)
	}
	if q.own.ring == nil {
		return
	}
	for p := q.own.ring.Producer(); q.own.next != p; q.own.next = q.own.ring.Next(q.own.next) {
		e.ID = ring.RecvWQE(q.own.ring.At(q.own.next)).ID()
		q.rcq.push(&e, true)
	}
}

func (q *QP) flushSends() {
	r := &q.req
	e := ring.CQE{Status: uint32(StatusWRFlushErr), QPN: q.num, SrcQP: q.attr.DestQPN, Port: 1}
	for p := q.sq.Producer(); r.acked != p; r.acked = q.sq.Next(r.acked) {
		w := ring.SendWQE(q.sq.At(r.acked))
		e.ID, e.Opcode = w.ID(), ring.SendCompletion(w.Opcode())
		q.scq.push(&e, true)
	}
	q.swept = r.acked
	r.started, r.cur, r.fetch, r.parsed = r.acked, r.acked, r.acked, r.acked
	r.coff, r.foff, r.failed = 0, 0, 0
	q.markDirty()
}

package hca

import (
	"cnuas/hca/ring"
	"cnuas/hca/transport"
	"cnuas/internal/sim"
)

// Read IBTA vol. 1 §9.7.6 before editing.

// impliedNak repeats what a gap in the responses calls for, once.
func (q *QP) impliedNak() {
	if q.req.implied {
		return
	}
	q.ctx.dev.ctr.ImpliedNaks++
	q.retry()
	q.req.implied = true
}

// retry goes back to una, if a retry is left.
func (q *QP) retry() {
	r := &q.req
	if r.retries == 0 {
		q.fail(StatusRetryExcErr)
		return
	}
	r.retries--
	q.goBack()
}

// goBack sends again from una on. The first packet asks for an acknowledge.
func (q *QP) goBack() {
	q.seek()
	q.req.sinceAck = q.ctx.dev.cfg.AckEvery
	q.armTimer()
	q.makeReady()
}

// solicit makes sure that what is outstanding will be acknowledged though
// nothing follows it: if no packet asked since, it is sent once more.
func (q *QP) solicit() {
	if q.req.sinceAck > 0 && q.req.una != q.req.nxt {
		q.goBack()
	}
}

// seek makes the packet with PSN una the next one. Its bytes are read again.
func (q *QP) seek() {
	r := &q.req
	r.dropSlab()
	r.nxt, r.cur, r.coff = r.una, r.acked, 0
	if r.acked != r.started {
		if w := &r.work[r.acked]; w.op <= ring.OpRDMARead {
			r.coff = transport.Add(r.una-w.first, 0) * q.mtu
		}
	}
	r.fetch, r.foff, r.failed = r.cur, r.coff, 0
}

// rnr waits as an RNR NAK asks for (IBTA vol. 1 §9.7.5.2.8).
func (q *QP) rnr(code uint8) {
	r := &q.req
	if r.rnrRetries == 0 {
		q.fail(StatusRNRRetryExcErr)
		return
	}
	if r.rnrRetries != 7 {
		r.rnrRetries--
	}
	q.ctx.dev.ctr.RNRWaits++
	q.seek()
	r.rnrWait = true
	r.timer.Stop()
	r.rnrTimer.Reset(q.ctx.dev.eng.Now() + transport.RNRTime(code))
}

func (q *QP) rnrTimeout() {
	if q.req.rnrWait {
		q.req.rnrWait = false
		q.goBack()
	}
}

func (q *QP) ackTimeout() {
	r := &q.req
	if r.una == r.max || q.attr.State != RTS && q.attr.State != SQD {
		return
	}
	q.ctx.dev.ctr.Timeouts++
	r.implied = false
	q.retry()
}

// armTimer starts the ACK timer, or starts it again. The time is from T to
// 2 T: the standard allows 4 T, and peers that lost packets at the same
// moment should not repeat them at the same moment for ever.
func (q *QP) armTimer() {
	r := &q.req
	if r.timeout == 0 {
		return
	}
	r.jitter = r.jitter*1664525 + 1013904223
	r.timer.Reset(q.ctx.dev.eng.Now() + r.timeout + r.timeout/256*sim.Time(r.jitter>>24))
}

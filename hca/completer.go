package hca

import (
	"encoding/binary"

	"cnuas/hca/ring"
	"cnuas/hca/transport"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §9.7.5 and §9.7.6 before editing.

// onAck handles an acknowledge, positive or negative.
func (q *QP) onAck(psn uint32, h wire.AETH) bool {
	r := &q.req
	d := q.ctx.dev
	if transport.Add(psn-r.una, 0) >= transport.Add(r.max-r.una, 0) {
		d.ctr.RxStale++ // a ghost, or acknowledged before
		return false
	}
	syn := h.Syndrome()
	switch syn.Kind() {
	case wire.KindACK:
		d.ctr.RxAcks++
		q.ackThrough(psn)
	case wire.KindRNRNAK:
		d.ctr.RxRNRNaks++
		if q.ackThrough(psn - 1) {
			q.rnr(syn.Value())
		}
	case wire.KindNAK:
		ok := q.ackThrough(psn - 1)
		switch syn {
		case wire.NAKSequence:
			d.ctr.RxSeqNaks++
			if ok {
				q.retry()
			}
		case wire.NAKInvalidRequest:
			d.ctr.RxInvalidNaks++
			if ok {
				q.fail(StatusRemInvReqErr)
			}
		case wire.NAKRemoteAccess:
			d.ctr.RxAccessNaks++
			if ok {
				q.fail(StatusRemAccessErr)
			}
		case wire.NAKRemoteOperational:
			d.ctr.RxOpNaks++
			if ok {
				q.fail(StatusRemOpErr)
			}
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// ackThrough takes every PSN up to psn as acknowledged. It reports false when
// that passes over the response to a READ or atomic: the response was lost,
// which is a NAK though none came (IBTA vol. 1 §9.7.5.1.2).
func (q *QP) ackThrough(psn uint32) bool {
	r := &q.req
	una := r.una
	gap := false
	for r.acked != r.started && transport.Diff(psn, r.una) >= 0 {
		w := &r.work[r.acked]
		if w.reads() {
			gap = true
			break
		}
		if transport.Diff(w.last, psn) > 0 {
			r.una = transport.Add(psn, 1)
			break
		}
		r.una = transport.Add(w.last, 1)
		q.complete(w, StatusSuccess)
	}
	if r.una != una {
		q.progress()
	}
	if gap {
		q.impliedNak()
	}
	return !gap
}

// progress is made when a response moved una: counters are loaded anew and the
// timer starts again (IBTA vol. 1 §9.7.6.1.3).
func (q *QP) progress() {
	r := &q.req
	r.implied = false
	r.retries, r.rnrRetries = q.attr.RetryCnt, q.attr.RNRRetry
	if transport.Diff(r.nxt, r.una) < 0 {
		q.seek()
	}
	if r.una == r.max {
		r.timer.Stop()
	} else {
		q.armTimer()
	}
	if r.cur != q.swept {
		q.makeReady() // the window opened, or what had to wait may go
	}
	q.drained()
}

// complete ends the work request at acked.
func (q *QP) complete(w *sendWork, st Status) {
	r := &q.req
	if w.reads() {
		r.reading--
		r.inFlight--
	}
	if st != StatusSuccess || q.sigAll || w.flags&ring.FlagSignaled != 0 {
		e := ring.CQE{ID: w.id, Status: uint32(st), Opcode: ring.SendCompletion(uint32(w.op)), QPN: q.num, SrcQP: q.attr.DestQPN, Port: 1}
		if st == StatusSuccess {
			e.ByteLen = w.len
		}
		q.scq.push(&e, false)
	}
	r.acked = q.sq.Next(r.acked)
	q.markDirty()
}

// fail ends the oldest work request with an error and the queue pair with it.
func (q *QP) fail(st Status) {
	r := &q.req
	d := q.ctx.dev
	switch st {
	case StatusRetryExcErr, StatusRNRRetryExcErr:
		d.ctr.RetryExceeded++
	case StatusLocLenErr, StatusLocProtErr, StatusLocQPOpErr:
		d.ctr.LocalErrors++
	}
	if r.acked == q.sq.Producer() {
		q.failed()
		return
	}
	w := ring.SendWQE(q.sq.At(r.acked))
	e := ring.CQE{ID: w.ID(), Status: uint32(st), Opcode: ring.SendCompletion(w.Opcode()), QPN: q.num, SrcQP: q.attr.DestQPN, Port: 1}
	if r.acked != r.parsed {
		p := &r.work[r.acked]
		e.ID, e.Opcode = p.id, ring.SendCompletion(uint32(p.op))
	}
	q.scq.push(&e, true)
	r.acked = q.sq.Next(r.acked)
	q.failed()
}

// failed stops the queue pair after a completion error of the send queue.
func (q *QP) failed() {
	if q.typ == RC {
		q.toErr()
	} else {
		q.toSQE()
	}
}

// onReadResponse takes the data of a READ.
func (q *QP) onReadResponse(kind transport.Kind, psn uint32, ext, pay []byte) (held bool) {
	w := q.response(psn)
	if w == nil {
		return false
	}
	r := &q.req
	off := transport.Add(psn-w.first, 0) * q.mtu
	last := psn == w.last
	bad := w.op != ring.OpRDMARead || (kind&transport.Last != 0) != last
	if !bad && last {
		bad = uint32(len(pay)) != w.len-off
	} else if !bad {
		bad = uint32(len(pay)) != q.mtu
	}
	if bad || len(ext) > 0 && wire.AETH(ext).Syndrome().Kind() != wire.KindACK {
		q.fail(StatusBadRespErr)
		return false
	}
	if st := q.deliver(w, off, pay); st != 0 {
		q.fail(st)
		return false
	}
	q.ctx.dev.ctr.RxResponses++
	r.una = transport.Add(psn, 1)
	if last {
		q.complete(w, StatusSuccess)
	}
	q.progress()
	return len(pay) > 0
}

// onAtomicAck takes the original value that an atomic returns. The eight bytes
// in the frame are turned into the machine's order where they are.
func (q *QP) onAtomicAck(psn uint32, ext []byte) (held bool) {
	w := q.response(psn)
	if w == nil {
		return false
	}
	if w.op <= ring.OpRDMARead || wire.AETH(ext).Syndrome().Kind() != wire.KindACK {
		q.fail(StatusBadRespErr)
		return false
	}
	b := ext[wire.AETHLen : wire.AETHLen+wire.AtomicAckETHLen]
	binary.NativeEndian.PutUint64(b, wire.AtomicAckETH(b).Original())
	if st := q.deliver(w, 0, b); st != 0 {
		q.fail(st)
		return false
	}
	q.ctx.dev.ctr.RxResponses++
	q.req.una = transport.Add(psn, 1)
	q.complete(w, StatusSuccess)
	q.progress()
	return true
}

// response returns the work request that a response with this PSN answers, or
// nil: it is stale or leaves a gap. What was sent before it is acknowledged.
func (q *QP) response(psn uint32) *sendWork {
	r := &q.req
	if transport.Add(psn-r.una, 0) >= transport.Add(r.max-r.una, 0) {
		q.ctx.dev.ctr.RxStale++
		return nil
	}
	if psn != r.una && !q.ackThrough(psn-1) {
		return nil
	}
	if r.acked == r.started || psn != r.una {
		return nil
	}
	return &r.work[r.acked]
}

// deliver puts bytes that a response brought where w wants them.
func (q *QP) deliver(w *sendWork, off uint32, p []byte) Status {
	if len(p) == 0 {
		return 0
	}
	d := q.ctx.dev
	d.segs = d.segs[:0]
	if st := q.segments(w, ring.SendWQE(q.sq.At(q.req.acked)), off, uint32(len(p)), AccessLocalWrite); st != 0 {
		return st
	}
	for _, s := range d.segs {
		q.write(s.Addr, p[:s.Len])
		p = p[s.Len:]
	}
	return 0
}

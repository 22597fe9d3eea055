package hca

import (
	"cnuas/hca/transport"
)

// Read IBTA vol. 1 §9.8.2 and §9.9.3.1 (classes D and D1) before editing.

// onUnreliable serves a packet of UC. Nothing is ever answered: a message with
// a gap, or one that is not permitted, is dropped up to the next that begins,
// and the receive work request it had taken serves that one.
func (q *QP) onUnreliable(p *request) (held bool) {
	r := &q.resp
	d := q.ctx.dev
	k := p.op.Kind
	if p.psn != r.epsn {
		d.ctr.OutOfSequence++
		r.message = 0
	}
	r.epsn = p.psn // a refusal leaves it here; executed moves on
	q.established()
	kind := k & transport.Request
	if k&transport.First == 0 && r.message != kind {
		r.message = 0
		d.ctr.Dropped[DropMessage]++
		r.epsn = transport.Add(p.psn, 1)
		return false
	}
	before := r.epsn
	if !q.fits(p) {
		held = q.giveUp(0)
	} else if n := uint32(len(p.pay)); kind == transport.Send {
		held = q.onSend(p, k, n)
	} else {
		held = q.onWrite(p, k, n)
	}
	if r.epsn == before { // not carried out: the rest of the message is dropped too
		r.epsn = transport.Add(before, 1)
		r.message = 0
	}
	return held
}

// giveUp drops the message under way.
func (q *QP) giveUp(st Status) bool {
	d := q.ctx.dev
	q.resp.message = 0
	if st == StatusLocLenErr {
		d.ctr.Dropped[DropTooLong]++
	} else {
		d.ctr.Dropped[DropMessage]++
	}
	return false
}

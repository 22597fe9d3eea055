package hca

import (
	"cnuas/hca/transport"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §9.7.5.1.2 and §9.7.5.1.5 before editing.

// duplicate answers a request that was carried out before (IBTA vol. 1
// §9.7.5.1.2): SEND and WRITE are acknowledged, a READ is read again, an atomic
// answered from the saved result.
func (q *QP) duplicate(p *request) {
	r := &q.resp
	k := p.op.Kind
	if k&(transport.Send|transport.Write) != 0 {
		if p.ackReq || k&transport.Last != 0 {
			q.ackAgain(p.psn)
		}
		return
	}
	res, ok := r.recall(p.psn, k&transport.Atomic != 0)
	if !ok {
		return // too old: the standard has it dropped
	}
	j := job{psn: p.psn, msn: r.msn, atomic: res.atomic, result: res.result}
	if !res.atomic {
		h := wire.RETH(p.head)
		j.va, j.rkey, j.len = h.VA(), h.RKey(), h.DMALen()
		if transport.Diff(transport.Add(p.psn, transport.Packets(j.len, q.mtu)-1), res.last) > 0 {
			return
		}
	}
	// The requester has gone back to here: what was to follow it will ask for
	// again.
	r.dropSlab()
	for i := range r.n {
		if x := &r.jobs[(r.first+i)%MaxRdAtomic]; transport.Diff(x.psn, p.psn) >= 0 || !x.atomic && transport.Diff(transport.Add(x.psn, transport.Packets(x.len-x.off, q.mtu)-1), p.psn) >= 0 {
			r.n = i
			break
		}
	}
	if !j.atomic {
		if _, _, ok := q.remote(j.rkey, j.va, j.len, AccessRemoteRead); !ok {
			q.refuse(nakRemoteAccess, 0)
			r.replyPSN = p.psn
			return
		}
	}
	if r.n == MaxRdAtomic {
		return
	}
	r.push(j)
	q.makeReady()
}

// recall finds what a duplicate READ or atomic belongs to.
func (s *responder) recall(psn uint32, atomic bool) (resource, bool) {
	for i := range min(s.past, MaxRdAtomic) {
		r := s.history[(s.past-1-i)%MaxRdAtomic]
		if r.atomic == atomic && transport.Diff(psn, r.psn) >= 0 && transport.Diff(psn, r.last) <= 0 {
			return r, true
		}
	}
	return resource{}, false
}

// ackAgain acknowledges a duplicate: everything up to the last packet carried
// out, but not past a READ or atomic behind it, whose response may have been
// lost too.
func (q *QP) ackAgain(psn uint32) {
	r := &q.resp
	up := transport.Add(r.epsn, transport.PSNMask)
	for i := range min(r.past, MaxRdAtomic) {
		if x := &r.history[i]; transport.Diff(x.psn, psn) > 0 && transport.Diff(x.psn, up) <= 0 {
			up = transport.Add(x.psn, transport.PSNMask)
		}
	}
	if r.reply == replyNak {
		return // it acknowledges what lies before it
	}
	q.ack(up)
}

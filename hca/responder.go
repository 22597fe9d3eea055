package hca

import (
	"cnuas/hca/ring"
	"cnuas/hca/transport"
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §9.7.4 and §9.7.5 before editing. The steps have the order
// and the names of its figures: CHK_PSN, CHK_OP_SEQ, CHK_OP_VALID, CHK_LENGTH,
// CHK_RESOURCE, CHK_RKEY, EXECUTE. Nothing of the queue pair changes before
// EXECUTE, so that a request refused for want of resources can come again.

// request is a request packet that is well formed by itself.
type request struct {
	op        transport.Op
	code      wire.Opcode
	psn       uint32
	ackReq    bool
	solicited bool
	head      []byte // extension headers
	pay       []byte
}

// reply is what the responder has to say when the responses before are sent.
type reply uint8

const (
	replyNone reply = iota
	replyAck
	replyNak
)

// responder is the receiving half of a queue pair.
type responder struct {
	epsn uint32 // expected PSN
	msn  uint32 // messages completed

	reply    reply
	syndrome wire.Syndrome
	replyPSN uint32
	naked    bool // a NAK was sent for epsn; not repeated (IBTA vol. 1 §9.7.5.2.3)
	halted   bool // no requests any more: state Err, but a NAK may be due
	alive    bool // a packet has arrived

	message transport.Kind // Send or Write: a message has begun and not ended
	va      uint64         // WRITE: where in the program's memory the rest goes
	left    uint32         // WRITE: bytes missing
	mr      *MR            // WRITE: where va is
	mrKey   uint32

	rqNext   uint32 // next receive WQE to take
	busy     bool   // one is taken and not complete
	recvID   uint64
	recvGot  uint32
	recvLen  uint64
	recvSegs []Segment // what is left of it
	segBuf   [MaxSGE]Segment

	jobs    [MaxRdAtomic]job // READs and atomics to be answered, oldest first
	first   int
	n       int
	history [MaxRdAtomic]resource // for duplicates
	past    int                   // READs and atomics since RTR

	slab   *frame.Slab // bytes of the jobs, in their order
	so, se int
}

func (s *responder) begin(psn uint32) {
	s.epsn, s.msn = psn, 0
	s.reply, s.naked, s.halted = replyNone, false, false
}

func (s *responder) dropSlab() {
	if s.slab != nil {
		s.slab.Release()
		s.slab = nil
	}
	s.so, s.se = 0, 0
}

func (s *responder) stop() {
	s.dropSlab()
	s.n, s.reply, s.message = 0, replyNone, 0
}

// halt takes no more requests. If that is because one was refused, what came
// before it is still answered, then the NAK is sent.
func (s *responder) halt() {
	s.message, s.halted = 0, true
	if s.reply != replyNak || s.syndrome.Kind() != wire.KindNAK || s.syndrome == nakSequence {
		s.stop()
	}
}

const (
	nakSequence          = wire.NAKSequence
	nakInvalidRequest    = wire.NAKInvalidRequest
	nakRemoteAccess      = wire.NAKRemoteAccess
	nakRemoteOperational = wire.NAKRemoteOperational
)

// nak answers the expected PSN with an error.
func (q *QP) nak(s wire.Syndrome) {
	r := &q.resp
	r.reply, r.syndrome, r.replyPSN, r.naked = replyNak, s, r.epsn, true
	q.makeReady()
}

// ack acknowledges everything up to psn.
func (q *QP) ack(psn uint32) {
	r := &q.resp
	r.reply, r.syndrome, r.replyPSN = replyAck, wire.ACK(wire.CreditInvalid), psn
	q.makeReady()
}

// nextAck makes the acknowledge that is due, unless READ responses or atomic
// acknowledges come first.
func (q *QP) nextAck() *frame.Frame {
	r := &q.resp
	if r.reply == replyNone || r.n > 0 {
		return nil
	}
	r.reply = replyNone
	f, h := q.build(wire.RCAcknowledge, 0, r.replyPSN, wire.AETHLen, 0)
	wire.AETH(h).Encode(r.syndrome, r.msn)
	c := &q.ctx.dev.ctr
	switch {
	case r.syndrome.Kind() == wire.KindACK:
		c.TxAcks++
	case r.syndrome.Kind() == wire.KindRNRNAK:
		c.TxRNRNaks++
	case r.syndrome == nakSequence:
		c.TxSeqNaks++
	case r.syndrome == nakInvalidRequest:
		c.TxInvalidNaks++
	case r.syndrome == nakRemoteAccess:
		c.TxAccessNaks++
	default:
		c.TxOpNaks++
	}
	return f
}

// onRequest serves a request packet. It reports whether the payload was given
// to the batch.
func (q *QP) onRequest(p *request) (held bool) {
	r := &q.resp
	d := q.ctx.dev
	// CHK_PSN
	if p.psn != r.epsn {
		if transport.Diff(p.psn, r.epsn) < 0 {
			d.ctr.Duplicates++
			q.duplicate(p)
			return false
		}
		d.ctr.OutOfSequence++
		d.ctr.Dropped[DropOutOfOrder]++
		if !r.naked {
			q.nak(nakSequence)
		}
		return false
	}
	if !r.alive {
		r.alive = true
		if q.attr.State == RTR {
			q.async(EventCommEst)
		}
	}
	// CHK_OP_SEQ
	k := p.op.Kind
	kind := k & transport.Request
	if k&transport.First != 0 {
		if r.message != 0 {
			return q.refuse(nakInvalidRequest, 0)
		}
	} else if r.message != kind {
		return q.refuse(nakInvalidRequest, 0)
	}
	// CHK_LENGTH: of the packet. All but the last of a message are full.
	n := uint32(len(p.pay))
	if k&transport.Last == 0 && n != q.mtu || n > q.mtu || k&(transport.First|transport.Last) == transport.Last && n == 0 {
		return q.refuse(nakInvalidRequest, 0)
	}
	switch kind {
	case transport.Send:
		return q.onSend(p, k, n)
	case transport.Write:
		return q.onWrite(p, k, n)
	case transport.Read:
		q.onRead(p)
	default:
		q.onAtomic(p)
	}
	return false
}

// executed moves on behind a packet that was carried out.
func (q *QP) executed(p *request, packets uint32) {
	r := &q.resp
	r.epsn = transport.Add(r.epsn, packets)
	r.naked = false
	if r.reply == replyNak {
		r.reply = replyNone // what it complained of has come after all
	}
	if p.op.Kind&transport.Last != 0 {
		r.msn = transport.Add(r.msn, 1)
		r.message = 0
	} else {
		r.message = p.op.Kind & transport.Request
	}
	q.ctx.dev.ctr.RxRequests++
	if p.ackReq && p.op.Kind&(transport.Send|transport.Write) != 0 {
		q.ack(transport.Add(r.epsn, transport.PSNMask))
	}
}

// refuse ends the connection from this side: a NAK for the peer, for the
// program an event and, if a receive work request was in use, its completion
// with st, or flushed if st is 0 (IBTA vol. 1 §9.9.3).
func (q *QP) refuse(s wire.Syndrome, st Status) bool {
	r := &q.resp
	q.nak(s)
	if st != 0 && r.busy {
		r.busy = false
		e := ring.CQE{ID: r.recvID, Status: uint32(st), Opcode: ring.WCRecv, QPN: q.num, SrcQP: q.attr.DestQPN, Port: 1}
		q.rcq.push(&e, true)
	}
	switch s {
	case nakRemoteAccess:
		q.async(EventQPAccessErr)
	case nakInvalidRequest:
		q.async(EventQPReqErr)
	default:
		q.async(EventQPFatal)
	}
	q.toErr()
	return false
}

// rnrNak answers that no receive work request is there.
func (q *QP) rnrNak() {
	q.ctx.dev.ctr.Dropped[DropRNR]++
	q.nak(wire.RNRNAK(q.attr.MinRNRTimer))
}

// onSend is CHK_RESOURCE to EXECUTE for SEND.
func (q *QP) onSend(p *request, k transport.Kind, n uint32) bool {
	r := &q.resp
	if k&transport.First != 0 {
		if !q.hasRecv() {
			q.rnrNak()
			return false
		}
		if st := q.takeRecv(true); st != 0 {
			return q.refuse(nakRemoteOperational, st)
		}
	}
	if uint64(r.recvGot)+uint64(n) > r.recvLen {
		return q.refuse(nakInvalidRequest, StatusLocLenErr)
	}
	for pay := p.pay; len(pay) > 0; {
		g := &r.recvSegs[0]
		l := min(uint64(len(pay)), g.Len)
		q.write(g.Addr, pay[:l])
		pay = pay[l:]
		g.Addr, g.Len = g.Addr+l, g.Len-l
		if g.Len == 0 {
			r.recvSegs = r.recvSegs[1:]
		}
	}
	r.recvGot += n
	if k&transport.Last != 0 {
		q.received(p, k, r.recvGot, ring.WCRecv)
	}
	q.executed(p, 1)
	return n > 0
}

// onWrite is CHK_OP_VALID to EXECUTE for RDMA WRITE.
func (q *QP) onWrite(p *request, k transport.Kind, n uint32) bool {
	r := &q.resp
	if k&transport.First != 0 {
		h := wire.RETH(p.head)
		total := h.DMALen()
		switch {
		case q.attr.Access&AccessRemoteWrite == 0:
			return q.refuse(nakInvalidRequest, 0)
		case total > MaxMsgSize, n > total, k&transport.Last != 0 && n != total, k&transport.Last == 0 && n == total:
			return q.refuse(nakInvalidRequest, 0)
		}
		m, va, ok := q.remote(h.RKey(), h.VA(), total, AccessRemoteWrite)
		if !ok {
			return q.refuse(nakRemoteAccess, 0)
		}
		if k&transport.Imm != 0 && !q.hasRecv() {
			q.rnrNak()
			return false
		}
		r.mr, r.va, r.left = m, va, total
		if m != nil {
			r.mrKey = m.key
		}
	} else {
		if n > r.left || k&transport.Last != 0 && n != r.left || k&transport.Last == 0 && n == r.left {
			return q.refuse(nakInvalidRequest, 0)
		}
		if r.mr != nil && r.mr.key != r.mrKey {
			return q.refuse(nakRemoteAccess, 0) // deregistered in the middle
		}
		if k&transport.Imm != 0 && !q.hasRecv() {
			q.rnrNak()
			return false
		}
	}
	if n > 0 {
		q.write(r.va, p.pay)
		r.va += uint64(n)
		r.left -= n
	}
	if k&(transport.Last|transport.Imm) == transport.Last|transport.Imm {
		q.takeRecv(false)
		q.received(p, k, 0, ring.WCRecvImm)
	}
	q.executed(p, 1)
	return n > 0
}

// remote is CHK_RKEY: the region of a key and where the range lies in memory.
// A length of zero is not checked (IBTA vol. 1 §9.7.4.1.6).
func (q *QP) remote(rkey uint32, va uint64, n uint32, need Access) (*MR, uint64, bool) {
	if n == 0 {
		return nil, 0, true
	}
	m := q.region(rkey)
	if m == nil {
		return nil, 0, false
	}
	a, ok := m.translate(va, uint64(n), need)
	return m, a, ok
}

// hasRecv tells whether a receive work request is posted.
func (q *QP) hasRecv() bool { return q.resp.rqNext != q.rq.Producer() }

// takeRecv takes the next receive work request. data: its SGEs will be needed.
func (q *QP) takeRecv(data bool) Status {
	r := &q.resp
	w := ring.RecvWQE(q.rq.At(r.rqNext))
	r.rqNext = q.rq.Next(r.rqNext)
	q.markDirty()
	r.busy, r.recvID, r.recvGot, r.recvLen = true, w.ID(), 0, 0
	r.recvSegs = r.segBuf[:0]
	if !data {
		return 0
	}
	n := w.NumSGE()
	if n > q.cap.MaxRecvSGE || int(n) > w.MaxSGE() {
		return StatusLocQPOpErr
	}
	for i := range int(n) {
		s := w.SGE(i)
		if s.Len == 0 {
			continue
		}
		m := q.region(s.LKey)
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

// received completes the receive work request that is in use.
func (q *QP) received(p *request, k transport.Kind, n, op uint32) {
	r := &q.resp
	r.busy = false
	e := ring.CQE{ID: r.recvID, Opcode: op, ByteLen: n, QPN: q.num, SrcQP: q.attr.DestQPN, Port: 1}
	if k&transport.Imm != 0 {
		e.Flags = ring.WCFlagImm
		copy(e.Imm[:], p.head[len(p.head)-wire.ImmDtLen:])
	}
	q.rcq.push(&e, p.solicited)
}

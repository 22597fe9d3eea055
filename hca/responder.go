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
	total   uint32         // WRITE: bytes of the message
	mr      *MR            // WRITE: where va is
	mrKey   uint32

	busy     bool // a receive work request is taken and not complete
	recvID   uint64
	recvGot  uint32
	recvLen  uint64
	recvSegs []Segment // where it wants the bytes
	recvSeg  int       // the piece of it that the next byte goes to
	recvOff  uint64    // and the place in that
	segBuf   [MaxSGE]Segment

	jobs    []job // READs and atomics to be answered, oldest first; MaxRdAtomic from RTR on
	first   int
	n       int
	history []resource // for duplicates; as many
	past    int        // READs and atomics since RTR

	slab   *frame.Slab // bytes of the jobs, in their order
	so, se int
}

func (s *responder) begin(psn uint32, typ QPType) {
	if typ == RC {
		s.jobs, s.history = make([]job, MaxRdAtomic), make([]resource, MaxRdAtomic)
	}
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

// onRequest serves a request packet of a connection. It reports whether the payload was given
// to the batch.
func (q *QP) onRequest(p *request) (held bool) {
	r := &q.resp
	d := q.ctx.dev
	if q.typ == UC {
		return q.onUnreliable(p)
	}
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
	q.established()
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
	if !q.fits(p) {
		return q.refuse(nakInvalidRequest, 0)
	}
	n := uint32(len(p.pay))
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

// established tells the program, once, that its peer sends.
func (q *QP) established() {
	if !q.resp.alive {
		q.resp.alive = true
		if q.attr.State == RTR {
			q.async(EventCommEst)
		}
	}
}

// fits is CHK_LENGTH of a packet: all but the last of a message are full.
func (q *QP) fits(p *request) bool {
	k, n := p.op.Kind, uint32(len(p.pay))
	return (k&transport.Last != 0 || n == q.mtu) && n <= q.mtu && (k&(transport.First|transport.Last) != transport.Last || n > 0)
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
	if p.ackReq && q.typ == RC && p.op.Kind&(transport.Send|transport.Write) != 0 {
		q.ack(transport.Add(r.epsn, transport.PSNMask))
	}
}

// refuse ends the connection from this side: a NAK for the peer, for the
// program an event and, if a receive work request was in use, its completion
// with st, or flushed if st is 0 (IBTA vol. 1 §9.9.3). UC has no NAK, and only
// the message is lost unless the fault is on this side.
func (q *QP) refuse(s wire.Syndrome, st Status) bool {
	r := &q.resp
	if q.typ == RC {
		q.nak(s)
	} else if s != nakRemoteOperational {
		return q.giveUp(st)
	}
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
	if q.typ != RC {
		q.resp.message = 0
		return
	}
	q.nak(wire.RNRNAK(q.attr.MinRNRTimer))
}

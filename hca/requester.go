package hca

import (
	"cnuas/hca/ring"
	"cnuas/hca/transport"
	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §9.7.2 to §9.7.4 and §9.7.6 before editing.

// sendWork is what the requester remembers of the WQE in a slot. A WQE is
// looked at once; what the program changes in it afterwards changes no length
// and no packet sequence number.
type sendWork struct {
	id          uint64
	raddr       uint64    // datagrams: the destination's number and, above, its Q_Key
	operand     [2]uint64 // atomics: swap or add, compare
	sge         ring.SGE  // the only one, if nsge is 1
	len         uint32
	rkey        uint32 // datagrams: the address handle
	at          uint32 // where in the slab its next byte is
	first, last uint32 // PSNs, from when it is started
	imm         [4]byte
	op          uint8 // of package ring, at most OpFetchAdd
	flags       uint8
	nsge        uint8
}

// reads tells whether the responder answers with data.
func (w *sendWork) reads() bool { return w.op >= ring.OpRDMARead }

// sends tells whether the packets carry the program's bytes.
func (w *sendWork) sends() bool { return w.op < ring.OpRDMARead }

// requester is the sending half of a queue pair. Its positions in the send
// queue never overtake each other:
//
//	acked <= cur <= started <= parsed,  cur <= fetch <= parsed
type requester struct {
	work []sendWork

	acked   uint32 // the oldest that is not complete
	cur     uint32 // the one that the next packet belongs to
	started uint32 // the first that has no PSNs yet
	fetch   uint32 // the first whose bytes are not all in the slab
	parsed  uint32 // the first that has not been looked at
	coff    uint32 // bytes of cur that are sent
	foff    uint32 // bytes of fetch that are in the slab

	una uint32 // oldest PSN without a response
	nxt uint32 // PSN of the next packet
	max uint32 // first PSN never sent

	slab *frame.Slab // bytes from cur, coff to fetch, foff; nil if there are none

	failed     Status // of the WQE at fetch; reported when those before are complete
	reading    uint32 // READs and atomics looked at and not complete
	inFlight   uint8  // READs and atomics started and not complete
	sinceAck   int    // packets since one asked for an acknowledge
	implied    bool   // a gap in responses has led to a retry, with no progress since
	rnrWait    bool
	retries    uint8 // left
	rnrRetries uint8 // left
	timeout    sim.Time
	jitter     uint32
	timer      sim.Timer
	rnrTimer   sim.Timer
}

func (r *requester) dropSlab() {
	if r.slab != nil {
		r.slab.Release()
		r.slab = nil
	}
}

func (r *requester) stop() {
	r.dropSlab()
	r.timer.Stop()
	r.rnrTimer.Stop()
	r.rnrWait = false
}

// reset is the state of a queue pair in Reset: empty queue, no PSNs.
func (r *requester) reset() {
	r.acked, r.cur, r.started, r.fetch, r.parsed, r.coff, r.foff = 0, 0, 0, 0, 0, 0, 0
	r.una, r.nxt, r.max = 0, 0, 0
	r.failed, r.reading, r.inFlight, r.sinceAck, r.implied = 0, 0, 0, 0, false
	r.retries, r.rnrRetries, r.timeout = 0, 0, 0
}

func (r *requester) begin(psn uint32) { r.una, r.nxt, r.max = psn, psn, psn }

// nextRequest makes the next request packet; nil when the queue pair has to
// wait for a work request, a response or a timer.
func (q *QP) nextRequest() *frame.Frame {
	r := &q.req
	d := q.ctx.dev
	if q.typ == UD {
		return q.nextDatagram()
	}
	fresh := r.cur == r.started
	if q.attr.State != RTS && (q.attr.State != SQD || fresh) || r.rnrWait {
		return nil
	}
	if int(transport.Diff(r.nxt, r.una)) >= d.cfg.Window {
		return nil
	}
	if r.cur == r.fetch && r.coff == r.foff && (q.putOff() || !q.fetchWork(fetchWQEs)) {
		if r.failed != 0 {
			if r.acked == r.cur {
				q.fail(r.failed)
			} else {
				q.solicit()
			}
		}
		return nil
	}
	w := &r.work[r.cur]
	if fresh && !q.start(w) {
		return nil
	}
	var f *frame.Frame
	switch {
	case w.sends():
		f = q.sendPacket(w)
	case w.op == ring.OpRDMARead:
		f = q.readPacket(w)
	default:
		f = q.atomicPacket(w)
	}
	if r.cur == r.fetch && r.coff == r.foff {
		r.dropSlab()
	}
	d.ctr.TxRequests++
	if q.typ == UC {
		r.una, r.max = r.nxt, r.nxt
		if r.coff == 0 {
			q.complete(w, StatusSuccess) // nobody will say more of it
			q.drained()
		}
		return f
	}
	if transport.Diff(r.nxt, r.max) > 0 {
		r.max = r.nxt
	} else {
		d.ctr.Retransmitted++
	}
	if !r.timer.Armed() {
		q.armTimer()
	}
	return f
}

// start gives a work request its PSNs.
func (q *QP) start(w *sendWork) bool {
	r := &q.req
	n := uint32(1)
	if w.op <= ring.OpRDMARead {
		n = transport.Packets(w.len, q.mtu)
	}
	if transport.Add(r.max-r.una, n) >= 1<<23-1 || n >= 1<<23-1 {
		return false // a half of the PSNs must stay free (IBTA vol. 1 §9.7.2)
	}
	if w.reads() {
		if r.inFlight >= q.attr.MaxRdAtomic {
			return false
		}
		r.inFlight++
	}
	w.first, w.last = r.max, transport.Add(r.max, n-1)
	r.started = q.sq.Next(r.started)
	return true
}

// wantAck decides whether the packet asks for an acknowledge: one in AckEvery,
// the end of what a completion is wanted for, the end of the queue, and the
// last that the window permits. last: the packet ends its message.
func (q *QP) wantAck(w *sendWork, last bool) uint32 {
	r := &q.req
	if q.typ != RC {
		return 0
	}
	r.sinceAck++
	if r.sinceAck >= q.ctx.dev.cfg.AckEvery ||
		last && (q.sigAll || w.flags&ring.FlagSignaled != 0 || q.lastInQueue()) ||
		int(transport.Diff(r.nxt, r.una))+1 >= q.ctx.dev.cfg.Window {
		r.sinceAck = 0
		return ackReq
	}
	return 0
}

// lastInQueue tells whether nothing will be sent behind cur: nothing is posted,
// what comes next cannot be carried out, or the queue is being drained.
func (q *QP) lastInQueue() bool {
	r := &q.req
	n := q.sq.Next(r.cur)
	if r.failed != 0 && n == r.fetch || q.attr.State == SQD && n == r.started {
		return true
	}
	if n != q.swept {
		return false
	}
	q.swept = q.sq.Producer()
	return n == q.swept
}

func (q *QP) sendPacket(w *sendWork) *frame.Frame {
	r := &q.req
	l := min(w.len-r.coff, q.mtu)
	first, last := r.coff == 0, r.coff+l == w.len
	imm := last && (w.op == ring.OpSendImm || w.op == ring.OpRDMAWriteImm)
	ext := 0
	if imm {
		ext = wire.ImmDtLen
	}
	var se byte
	if last && w.flags&ring.FlagSolicited != 0 {
		se = solicited
	}
	psn := r.nxt | q.wantAck(w, last)
	var f *frame.Frame
	var h []byte
	if w.op >= ring.OpSend {
		f, h = q.build(q.service.code|transport.SendOpcode(first, last, imm), se, psn, ext, int(l))
	} else {
		if first {
			ext += wire.RETHLen
		}
		f, h = q.build(q.service.code|transport.WriteOpcode(first, last, imm), se, psn, ext, int(l))
		if first {
			wire.RETH(h).Encode(w.raddr, w.rkey, w.len)
			h = h[wire.RETHLen:]
		}
	}
	if imm {
		copy(h, w.imm[:])
	}
	if l > 0 {
		f.SetPayload(r.slab.B[w.at:w.at+l], r.slab)
		w.at += l
	}
	r.nxt = transport.Add(r.nxt, 1)
	if last {
		r.cur, r.coff = q.sq.Next(r.cur), 0
	} else {
		r.coff += l
	}
	return f
}

// readPacket makes a READ request for what of w is still missing.
func (q *QP) readPacket(w *sendWork) *frame.Frame {
	r := &q.req
	f, h := q.build(wire.RCReadRequest, 0, r.nxt|ackReq, wire.RETHLen, 0)
	wire.RETH(h).Encode(w.raddr+uint64(r.coff), w.rkey, w.len-r.coff)
	r.nxt = transport.Add(w.last, 1)
	r.cur, r.coff = q.sq.Next(r.cur), 0
	return f
}

func (q *QP) atomicPacket(w *sendWork) *frame.Frame {
	r := &q.req
	op := wire.RCCompareSwap
	if w.op == ring.OpFetchAdd {
		op = wire.RCFetchAdd
	}
	f, h := q.build(op, 0, r.nxt|ackReq, wire.AtomicETHLen, 0)
	wire.AtomicETH(h).Encode(w.raddr, w.rkey, w.operand[0], w.operand[1])
	r.nxt = transport.Add(r.nxt, 1)
	r.cur, r.coff = q.sq.Next(r.cur), 0
	return f
}

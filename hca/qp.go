package hca

import (
	"cnuas/hca/cc"
	"cnuas/hca/ring"
	"cnuas/internal/sim"
)

// QPInit describes a queue pair to be made. SQ and RQ are the rings for work
// requests; a slot has room for a WQE with Cap's SGEs and inline data.
type QPInit struct {
	PD             *PD
	Type           QPType
	SendCQ, RecvCQ *CQ
	SQ, RQ         *ring.Ring
	Cap            QPCap
	SigAll         bool
}

// QP is a queue pair (IBTA vol. 1 §10.3): a requester that sends what the send
// queue asks for and completes it, and a responder that serves the peer.
type QP struct {
	// UserHandle is for the owner's use.
	UserHandle uint64

	num      uint32
	ctx      *Context
	pd       *PD
	scq, rcq *CQ
	sq, rq   *ring.Ring
	cap      QPCap
	sigAll   bool
	gone     bool
	active   bool // in the list that Sweep looks at
	draining bool // SQD: the event for the drained send queue is still owed
	attr     QPAttr

	mtu     uint32
	head    template
	prio    uint8
	loop    bool // the peer is on this device
	queued  bool // in a ready list
	turn    bool // the responder's turn to send data
	dirty   bool // in the batch's list
	swept   uint32
	fetched uint64 // the device's turn in which work was last fetched
	lastMR  *MR    // of the last look-up

	next, prev *QP // in a ready list

	req  requester
	resp responder
	np   cc.NotificationPoint
	rp   cc.ReactionPoint // nil: CNPs are only counted
	pace sim.Time         // the reaction point allows nothing before
}

// Events of a queue pair.
const (
	opAckTimeout = iota
	opRNRTimeout
	opPace
)

// CreateQP makes a queue pair in state Reset. Services other than RC give
// ErrNotSupported.
func (c *Context) CreateQP(in QPInit) (*QP, error) {
	d := c.dev
	if in.Type != RC {
		return nil, ErrNotSupported
	}
	if c.closed || in.PD == nil || in.PD.gone || in.PD.ctx != c {
		return nil, ErrInvalid
	}
	for _, q := range []*CQ{in.SendCQ, in.RecvCQ} {
		if q == nil || q.gone || q.ctx != c {
			return nil, ErrInvalid
		}
	}
	p := in.Cap
	switch {
	case in.SQ == nil || in.RQ == nil,
		p.MaxSendSGE > MaxSGE || p.MaxRecvSGE > MaxSGE || p.MaxInline > MaxInline,
		p.MaxSendWR > MaxQPWR || p.MaxRecvWR > MaxQPWR,
		in.SQ.Slots() > 2*MaxQPWR || in.RQ.Slots() > 2*MaxQPWR,
		in.SQ.Elem() < ring.SendWQELen+max(int(p.MaxInline), ring.SGELen*int(p.MaxSendSGE)),
		in.RQ.Elem() < ring.RecvWQELen+ring.SGELen*int(p.MaxRecvSGE):
		return nil, ErrInvalid
	}
	q := &QP{ctx: c, pd: in.PD, scq: in.SendCQ, rcq: in.RecvCQ, sq: in.SQ, rq: in.RQ, cap: p, sigAll: in.SigAll}
	if !d.qps.insert(q, d.keys.Uint64()) {
		return nil, ErrNoMemory
	}
	q.req.work = make([]sendWork, in.SQ.Slots())
	q.req.timer.Init(d.proc, q, opAckTimeout, 0)
	q.req.rnrTimer.Init(d.proc, q, opRNRTimeout, 0)
	q.req.jitter = uint32(d.rand.Uint64())
	in.PD.used++
	in.SendCQ.users++
	in.RecvCQ.users++
	c.qps = append(c.qps, q)
	return q, nil
}

// Num is the number of the queue pair, 24 bits.
func (q *QP) Num() uint32 { return q.num }

// Context returns the context of the queue pair.
func (q *QP) Context() *Context { return q.ctx }

// State returns the state.
func (q *QP) State() QPState { return q.attr.State }

// Query returns the attributes and the sizes.
func (q *QP) Query() (QPAttr, QPCap) {
	a := q.attr
	a.CurState = a.State
	if a.State != Reset {
		a.SQPSN, a.RQPSN = q.req.nxt, q.resp.epsn
	}
	return a, q.cap
}

// Destroy frees the queue pair. Work requests that are outstanding get no
// completion.
func (q *QP) Destroy() error {
	if q.gone {
		return ErrInvalid
	}
	q.remove()
	return nil
}

func (q *QP) remove() {
	q.quiet()
	q.gone = true
	d := q.ctx.dev
	d.qps.remove(q)
	drop(&d.active, q)
	drop(&q.ctx.qps, q)
	q.pd.used--
	q.scq.users--
	q.rcq.users--
}

// quiet stops everything that the queue pair does by itself.
func (q *QP) quiet() {
	q.unready()
	q.req.stop()
	q.resp.stop()
}

// SetReactionPoint lets r see the congestion notifications for the queue pair
// and pace its packets; nil ends it.
func (q *QP) SetReactionPoint(r cc.ReactionPoint) { q.rp, q.pace = r, 0 }

// HandleEvent implements sim.Handler; only the engine calls it.
func (q *QP) HandleEvent(now sim.Time, op uint32, _ uint64) {
	if q.gone {
		return
	}
	q.ctx.dev.enter()
	switch op {
	case opAckTimeout:
		q.ackTimeout()
	case opRNRTimeout:
		q.rnrTimeout()
	case opPace:
		q.makeReady()
	}
	q.ctx.dev.leave()
}

func (q *QP) async(t EventType) {
	if q.ctx.async != nil {
		q.ctx.async(Event{Type: t, QP: q})
	}
}

// region finds the region of a key for the queue pair's protection domain.
func (q *QP) region(key uint32) *MR {
	if m := q.lastMR; m != nil && m.key == key && key != 0 {
		return m
	}
	m := q.ctx.dev.mrs.find(key)
	if m == nil || m.pd != q.pd {
		return nil
	}
	q.lastMR = m
	return m
}

// publish gives the ring slots that are done back to the program.
func (q *QP) publish() {
	q.dirty = false
	if q.gone || q.attr.State == Reset {
		return
	}
	q.sq.SetConsumer(q.req.acked)
	q.rq.SetConsumer(q.resp.rqNext)
}

func (q *QP) markDirty() {
	if !q.dirty {
		q.dirty = true
		b := q.ctx.dev.batch
		b.qps = append(b.qps, q)
	}
}

// toErr moves the queue pair to Err and completes every work request as
// flushed (IBTA vol. 1 §10.3.1.5).
func (q *QP) toErr() {
	if q.attr.State == Err {
		return
	}
	q.attr.State = Err
	q.activate()
	q.req.stop()
	q.resp.halt()
	q.flush()
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
	e.Opcode = ring.WCRecv
	if q.resp.busy {
		q.resp.busy = false
		e.ID = q.resp.recvID
		q.rcq.push(&e, true)
	}
	for p := q.rq.Producer(); q.resp.rqNext != p; q.resp.rqNext = q.rq.Next(q.resp.rqNext) {
		e.ID = ring.RecvWQE(q.rq.At(q.resp.rqNext)).ID()
		q.rcq.push(&e, true)
	}
	q.markDirty()
}

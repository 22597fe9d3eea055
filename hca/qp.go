package hca

import (
	"cnuas/hca/cc"
	"cnuas/hca/ring"
	"cnuas/hca/transport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// QPInit describes a queue pair to be made. SQ and RQ are the rings for work
// requests; a slot has room for a WQE with Cap's SGEs and inline data. With an
// SRQ there is no RQ.
type QPInit struct {
	PD             *PD
	Type           QPType
	SendCQ, RecvCQ *CQ
	SRQ            *SRQ
	SQ, RQ         *ring.Ring
	Cap            QPCap
	SigAll         bool

	// BlockLoopback keeps a UD queue pair's multicasts from itself.
	BlockLoopback bool
}

// QP is a queue pair (IBTA vol. 1 §10.3): a requester that sends what the send
// queue asks for and completes it, and a responder that serves the peer, or with
// UD all who send to it.
type QP struct {
	// UserHandle is for the owner's use.
	UserHandle uint64

	num      uint32
	ctx      *Context
	pd       *PD
	scq, rcq *CQ
	typ      QPType
	service  *service
	sq       *ring.Ring
	rq       *recvQueue // own, or that of an SRQ
	own      recvQueue
	cap      QPCap
	sigAll   bool
	block    bool // its multicasts do not come back to it
	gone     bool
	active   bool // in the list that Sweep looks at
	draining bool // SQD: the event for the drained send queue is still owed
	attr     QPAttr

	mtu     uint32
	head    template
	prio    uint8
	loop    bool    // the peer is on this device
	list    *qpList // of those that want to send; nil if in none
	turn    bool    // the responder's turn to send data
	dirty   bool    // in the batch's list
	swept   uint32
	fetched uint64 // the device's turn in which work was last fetched
	lastMR  *MR    // of the last look-up

	next, prev *QP     // in list
	groups     []group // multicast groups that it is attached to
	inline     inlineAH
	kernel     *DatagramQP // it is the kernel's: without rings

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

// service is what differs between the transport services.
type service struct {
	code  wire.Opcode // high three bits of its opcodes
	ops   *[32]transport.Op
	posts uint32 // work requests that may be posted, bit n for opcode n
	moves *[Err + 1][Err + 1]transition
}

var services = [UD + 1]service{
	RC: {wire.ServiceRC, &transport.Ops, 1<<(ring.OpFetchAdd+1) - 1, &rcTransitions},
	UC: {wire.ServiceUC, &transport.UnreliableOps, 1<<(ring.OpSendImm+1) - 1, &ucTransitions},
	UD: {wire.ServiceUD, &transport.DatagramOps, 1<<ring.OpSend | 1<<ring.OpSendImm, &udTransitions},
}

// CreateQP makes a queue pair in state Reset. Services other than RC, UC and UD
// give ErrNotSupported.
func (c *Context) CreateQP(in QPInit) (*QP, error) {
	d := c.dev
	if in.Type < RC || in.Type > UD {
		return nil, ErrNotSupported
	}
	if err := c.checkInit(&in); err != nil {
		return nil, err
	}
	q := &QP{
		ctx: c, pd: in.PD, scq: in.SendCQ, rcq: in.RecvCQ, typ: in.Type, service: &services[in.Type],
		sq: in.SQ, cap: in.Cap, sigAll: in.SigAll, block: in.BlockLoopback,
	}
	q.own = recvQueue{ring: in.RQ, pd: in.PD, sge: in.Cap.MaxRecvSGE}
	q.rq = &q.own
	if !d.qps.insert(q, d.keys.Uint64()) {
		return nil, ErrNoMemory
	}
	if in.SRQ != nil {
		q.rq = &in.SRQ.rq
		in.SRQ.users++
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

func (c *Context) checkInit(in *QPInit) error {
	if c.closed || in.PD == nil || in.PD.gone || in.PD.ctx != c {
		return ErrInvalid
	}
	for _, q := range []*CQ{in.SendCQ, in.RecvCQ} {
		if q == nil || q.gone || q.ctx != c {
			return ErrInvalid
		}
	}
	p := in.Cap
	switch {
	case in.SQ == nil || (in.RQ == nil) == (in.SRQ == nil),
		in.SRQ != nil && (in.SRQ.gone || in.SRQ.ctx != c),
		in.BlockLoopback && in.Type != UD,
		p.MaxSendSGE > MaxSGE || p.MaxRecvSGE > MaxSGE || p.MaxInline > MaxInline,
		p.MaxSendWR > MaxQPWR || p.MaxRecvWR > MaxQPWR,
		in.SQ.Slots() > 2*MaxQPWR,
		in.SQ.Elem() < ring.SendWQELen+max(int(p.MaxInline), ring.SGELen*int(p.MaxSendSGE)):
		return ErrInvalid
	case in.RQ != nil && (in.RQ.Slots() > 2*MaxQPWR || in.RQ.Elem() < ring.RecvWQELen+ring.SGELen*int(p.MaxRecvSGE)):
		return ErrInvalid
	}
	return nil
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

// Type is the transport service.
func (q *QP) Type() QPType { return q.typ }

// Destroy frees the queue pair: ErrBusy while it is attached to a multicast
// group. Work requests that are outstanding get no completion.
func (q *QP) Destroy() error {
	if q.gone {
		return ErrInvalid
	}
	if len(q.groups) > 0 {
		return ErrBusy
	}
	q.remove()
	return nil
}

func (q *QP) remove() {
	q.quiet()
	q.gone = true
	for len(q.groups) > 0 {
		q.leave(q.groups[len(q.groups)-1])
	}
	if q.rq.srq != nil {
		q.rq.srq.users--
	}
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

// region finds the region of a key in a protection domain: the queue pair's
// own, or that of its SRQ. A region can change its domain (MR.Rereg).
func (q *QP) region(pd *PD, key uint32) *MR {
	if m := q.lastMR; m != nil && m.key == key && key != 0 && m.pd == pd {
		return m
	}
	m := q.ctx.dev.mrs.find(key)
	if m == nil || m.pd != pd {
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
	if q.own.ring != nil {
		q.own.ring.SetConsumer(q.own.next)
	}
}

func (q *QP) markDirty() {
	if !q.dirty {
		q.dirty = true
		b := q.ctx.dev.batch
		b.qps = append(b.qps, q)
	}
}

package hca

import "cnuas/hca/ring"

// CQ is a completion queue (IBTA vol. 1 §10.8).
type CQ struct {
	// UserHandle is for the owner's use.
	UserHandle uint64

	ctx   *Context
	ring  *ring.Ring
	event func(*CQ)
	users int // queue pairs
	gone  bool
	fail  bool // overran; the event is sent once
	over  bool // in the batch's list of those that overran

	prod  uint32 // next slot to write
	pub   uint32 // published so far
	seen  uint32 // consumer index when last read
	dirty bool   // in the batch's list

	armed     armState
	news      bool // completions since the last commit
	solicited bool // one of them solicited or in error
}

type armState uint8

const (
	unarmed armState = iota
	armedNext
	armedSolicited
)

// CreateCQ makes a completion queue over r, whose slots have ring.CQELen
// bytes. event is called when the queue is armed and a completion that meets
// the arming has been published; it may be nil.
func (c *Context) CreateCQ(r *ring.Ring, event func(*CQ)) (*CQ, error) {
	switch {
	case c.closed || r == nil || r.Elem() < ring.CQELen || r.Slots() > MaxCQE+1:
		return nil, ErrInvalid
	case c.dev.nCQ >= c.dev.cfg.MaxCQ:
		return nil, ErrNoMemory
	}
	c.dev.nCQ++
	q := &CQ{ctx: c, ring: r, event: event}
	c.cqs = append(c.cqs, q)
	return q, nil
}

// Ring returns the memory of the queue.
func (q *CQ) Ring() *ring.Ring { return q.ring }

// Resize moves the queue and what the program has not taken to the ring r, in
// which the oldest completion is at index 0 (IBTA vol. 1 §11.2.8.3). ErrInvalid:
// r has no room for it. The old ring is not touched any more.
func (q *CQ) Resize(r *ring.Ring) error {
	if q.gone || r == nil || r.Elem() < ring.CQELen || r.Slots() > MaxCQE+1 {
		return ErrInvalid
	}
	from := q.ring.Consumer()
	n, shown := q.ring.Distance(from, q.prod), q.ring.Distance(from, q.pub)
	if n > r.Mask() {
		return ErrInvalid
	}
	if shown > n {
		shown = n // the program's index is wild
	}
	for i := range n {
		copy(r.At(i)[:ring.CQELen], q.ring.At(from + i)[:ring.CQELen])
	}
	r.SetConsumer(0)
	r.SetProducer(shown)
	q.ring, q.prod, q.pub, q.seen = r, n, shown, 0
	return nil
}

// Arm asks for one event, at the next completion or at the next that is
// solicited or in error (IBTA vol. 1 §11.4.2.2).
func (q *CQ) Arm(solicitedOnly bool) {
	if !solicitedOnly {
		q.armed = armedNext
	} else if q.armed == unarmed {
		q.armed = armedSolicited
	}
}

// Destroy frees the queue: ErrBusy while queue pairs use it.
func (q *CQ) Destroy() error {
	if q.gone {
		return ErrInvalid
	}
	if q.users > 0 {
		return ErrBusy
	}
	q.remove()
	return nil
}

func (q *CQ) remove() {
	q.gone = true
	q.ctx.dev.nCQ--
	drop(&q.ctx.cqs, q)
}

// push writes a completion into the next slot; it becomes visible at commit.
// A queue without room loses it, with an event the first time.
func (q *CQ) push(e *ring.CQE, solicited bool) {
	if q.gone {
		return
	}
	next := q.ring.Next(q.prod)
	if next == q.seen {
		if q.seen = q.ring.Consumer(); next == q.seen {
			q.overrun()
			return
		}
	}
	e.Encode(q.ring.At(q.prod))
	q.prod = next
	q.news = true
	q.solicited = q.solicited || solicited || e.Status != 0
	if !q.dirty {
		q.dirty = true
		b := q.ctx.dev.batch
		b.cqs = append(b.cqs, q)
	}
}

// overrun loses a completion. The queue pairs end with the batch: whoever
// completes something is in the middle of it (IBTA vol. 1 §11.6.3.1).
func (q *CQ) overrun() {
	q.ctx.dev.ctr.CQOverruns++
	if !q.over {
		q.over = true
		b := q.ctx.dev.batch
		b.over = append(b.over, q)
	}
	if q.fail {
		return
	}
	q.fail = true
	if q.ctx.async != nil {
		q.ctx.async(Event{Type: EventCQErr, CQ: q})
	}
}

// endUsers moves the queue pairs that use a queue which has overrun to Err.
func (q *CQ) endUsers() {
	if q.gone {
		return
	}
	for _, p := range q.ctx.qps {
		if s := p.attr.State; (p.scq == q || p.rcq == q) && s >= Init && s != Err {
			p.async(EventQPFatal)
			p.resp.stop()
			p.toErr()
		}
	}
	q.over = false // what the flush loses concerns nobody any more
}

// publish makes the completions visible and notes whether an event is due.
func (q *CQ) publish(b *Batch) {
	q.dirty = false
	if q.gone {
		return
	}
	q.ring.SetProducer(q.prod)
	q.pub = q.prod
	news, sol := q.news, q.solicited
	q.news, q.solicited = false, false
	if news && (q.armed == armedNext || q.armed == armedSolicited && sol) {
		q.armed = unarmed
		if q.event != nil {
			b.fire = append(b.fire, q)
		}
	}
}

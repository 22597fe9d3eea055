package hca

import "cnuas/hca/ring"

// Read IBTA vol. 1 §10.2.9 before editing.

// SRQ is a shared receive queue: queue pairs of one context take their receive
// work requests from it in the order in which they need them.
type SRQ struct {
	// UserHandle is for the owner's use.
	UserHandle uint64

	ctx   *Context
	rq    recvQueue
	cap   SRQAttr
	users int // queue pairs
	gone  bool
	dirty bool // in the batch's list
}

// SRQAttr are the attributes of a shared receive queue.
type SRQAttr struct {
	MaxWR, MaxSGE uint32
	Limit         uint32 // an event is due when fewer work requests are posted; 0: none
}

// CreateSRQ makes a shared receive queue over r, whose slots have room for WQEs
// with a.MaxSGE SGEs.
func (c *Context) CreateSRQ(pd *PD, r *ring.Ring, a SRQAttr) (*SRQ, error) {
	switch {
	case c.closed || pd == nil || pd.gone || pd.ctx != c || r == nil,
		a.MaxWR > MaxQPWR || a.MaxSGE > MaxSGE || a.Limit > a.MaxWR,
		r.Slots() > 2*MaxQPWR || r.Elem() < ring.RecvWQELen+ring.SGELen*int(a.MaxSGE):
		return nil, ErrInvalid
	case c.dev.nSRQ >= c.dev.cfg.MaxSRQ:
		return nil, ErrNoMemory
	}
	s := &SRQ{ctx: c, cap: a}
	s.rq = recvQueue{ring: r, pd: pd, srq: s, sge: a.MaxSGE}
	pd.used++
	c.dev.nSRQ++
	c.srqs = append(c.srqs, s)
	return s, nil
}

// Query returns the attributes; the limit is 0 once its event has been sent.
func (s *SRQ) Query() SRQAttr { return s.cap }

// SetLimit arms the queue for one event (IBTA vol. 1 §10.2.9.3).
func (s *SRQ) SetLimit(n uint32) error {
	if s.gone || n > s.cap.MaxWR {
		return ErrInvalid
	}
	s.cap.Limit = n
	return nil
}

// Destroy frees the queue: ErrBusy while queue pairs use it.
func (s *SRQ) Destroy() error {
	if s.gone {
		return ErrInvalid
	}
	if s.users > 0 {
		return ErrBusy
	}
	s.remove()
	return nil
}

func (s *SRQ) remove() {
	s.gone = true
	s.rq.pd.used--
	s.ctx.dev.nSRQ--
	drop(&s.ctx.srqs, s)
}

// taken notes that a work request was taken.
func (s *SRQ) taken() {
	if !s.dirty {
		s.dirty = true
		b := s.ctx.dev.batch
		b.srqs = append(b.srqs, s)
	}
	if s.cap.Limit > 0 && s.rq.ring.Distance(s.rq.next, s.rq.ring.Producer()) < s.cap.Limit {
		s.cap.Limit = 0
		if s.ctx.async != nil {
			s.ctx.async(Event{Type: EventSRQLimit, SRQ: s})
		}
	}
}

// publish gives the slots that were taken back to the program.
func (s *SRQ) publish() {
	s.dirty = false
	if !s.gone {
		s.rq.ring.SetConsumer(s.rq.next)
	}
}

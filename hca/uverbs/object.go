package uverbs

import (
	"cnuas/hca"
	"cnuas/hca/uverbs/memfile"
)

// kind is a type of object, with the numbers of enum uverbs_default_objects.
type kind uint16

const (
	kindDevice      kind = 0
	kindPD          kind = 1
	kindCompChannel kind = 2
	kindCQ          kind = 3
	kindQP          kind = 4
	kindSRQ         kind = 5
	kindAH          kind = 6
	kindMR          kind = 7
	kindAsync       kind = 16
)

// object is what a handle of a context names.
type object struct {
	kind   kind
	handle uint32

	pd *hca.PD
	mr *hca.MR
	ah *hca.AH

	start, length uint64 // of a region, in the memory of process proc
	proc          int

	cq      *hca.CQ
	channel *channel // of a CQ; may be nil
	events  uint32   // completion events sent for a CQ; engine held

	srq          *hca.SRQ
	qp           *hca.QP
	sq, rq       *queue  // a CQ and an SRQ have sq
	shared       *object // SRQ of a QP
	scq, rcq     *object
	cap          hca.QPCap
	sigAll       bool
	asyncEvents  uint32 // asynchronous events sent for a CQ, a QP or an SRQ; engine held
	user         uint64 // the program's own name of it, in events
	slot         int    // in the memory file's directory
	hasDirectory bool
}

// add gives o a handle.
func (c *context) add(o *object) error {
	if len(c.objects) >= c.srv.cfg.Limits.Objects {
		return hca.ErrNoMemory
	}
	for c.handle == 0 || c.objects[c.handle] != nil {
		c.handle++
	}
	o.handle = c.handle
	c.objects[c.handle] = o
	c.handle++
	return nil
}

// find returns the object of a kind, or nil.
func (c *context) find(k kind, handle uint32) *object {
	if o := c.objects[handle]; o != nil && o.kind == k {
		return o
	}
	return nil
}

// publish enters the object's queues in the memory file's directory.
func (c *context) publish(o *object) error {
	d, ok := c.file.dir, false
	switch o.kind {
	case kindCQ:
		if o.slot, ok = c.file.freeCQ.get(); ok {
			d.SetCQ(o.slot, o.sq.Queue)
		}
	case kindQP:
		if o.slot, ok = c.file.freeQP.get(); ok {
			e := memfile.QP{Num: o.qp.Num(), SQ: o.sq.Queue, SendCQ: uint32(o.scq.slot), RecvCQ: uint32(o.rcq.slot)}
			if o.rq != nil {
				e.RQ = o.rq.Queue
			} else if o.shared != nil {
				e.RQ = o.shared.sq.Queue // whoever flushes takes them from there
			}
			d.SetQP(o.slot, e)
		}
	}
	if !ok {
		return hca.ErrNoMemory
	}
	o.hasDirectory = true
	return nil
}

// withdraw undoes publish.
func (c *context) withdraw(o *object) {
	if !o.hasDirectory {
		return
	}
	o.hasDirectory = false
	if o.kind == kindCQ {
		c.file.dir.ClearCQ(o.slot)
		c.file.freeCQ.put(o.slot)
	} else {
		c.file.dir.ClearQP(o.slot)
		c.file.freeQP.put(o.slot)
	}
}

func (o *object) freeQueues(f *file) {
	f.freeQueue(o.sq)
	f.freeQueue(o.rq)
	o.sq, o.rq = nil, nil
}

// destroy removes an object that its program wants to be rid of: hca.ErrBusy
// while others use it. reported is how many of its events the program has been
// given: completion events and asynchronous ones.
func (c *context) destroy(o *object) (comp, async uint32, err error) {
	c.srv.do(func() {
		switch o.kind {
		case kindPD:
			err = o.pd.Dealloc()
		case kindMR:
			err = o.mr.Dereg()
		case kindAH:
			err = o.ah.Destroy()
		case kindSRQ:
			err = o.srq.Destroy()
		case kindCQ:
			if err = o.cq.Destroy(); err == nil && o.channel != nil {
				comp = o.events - o.channel.takeBack(func(e []byte) bool { return le.Uint64(e) == o.user })
			}
		case kindQP:
			err = o.qp.Destroy()
		}
		if err == nil {
			delete(c.live, o.handle)
		}
		if err == nil && c.events != nil && (o.kind == kindCQ || o.kind == kindQP || o.kind == kindSRQ) {
			async = o.asyncEvents - c.events.takeBack(func(e []byte) bool { return isAsyncOf(e, o) })
		}
	})
	if err != nil {
		return 0, 0, err
	}
	delete(c.objects, o.handle)
	c.withdraw(o)
	o.freeQueues(c.file)
	return comp, async, nil
}

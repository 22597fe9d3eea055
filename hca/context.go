package hca

// Context is what one program has opened: its objects and its memory.
type Context struct {
	dev    *Device
	mem    Memory
	async  func(Event)
	closed bool

	pds []*PD
	cqs []*CQ
	qps []*QP
	mrs []*MR

	srqs   []*SRQ
	ahs    []*AH    // by number, from 1 on; nil where there is none
	freeAH []uint32 // numbers to be used again

	out scatter // what waits in the batch for mem
}

// Open returns the context of a program whose memory is mem. async receives
// the asynchronous events; it may be nil. It is called in the middle of other
// work and must not call into the device.
func (d *Device) Open(mem Memory, async func(Event)) *Context {
	c := &Context{dev: d, mem: mem, async: async}
	d.contexts = append(d.contexts, c)
	return c
}

// Device returns the device of the context.
func (c *Context) Device() *Device { return c.dev }

// Close destroys every object of the context. What waits in the batch for its
// memory is forgotten.
func (c *Context) Close() {
	if c.closed {
		return
	}
	c.closed = true
	c.dev.enter()
	c.out.reset()
	for len(c.qps) > 0 {
		c.qps[len(c.qps)-1].remove()
	}
	for len(c.srqs) > 0 {
		c.srqs[len(c.srqs)-1].remove()
	}
	c.dropAHs()
	for len(c.mrs) > 0 {
		c.mrs[len(c.mrs)-1].remove()
	}
	for len(c.cqs) > 0 {
		c.cqs[len(c.cqs)-1].remove()
	}
	c.dev.nPD -= len(c.pds)
	c.pds = nil
	drop(&c.dev.contexts, c)
	c.dev.leave()
}

// drop takes x out of list, keeping the order of the rest.
func drop[T comparable](list *[]T, x T) {
	for i, y := range *list {
		if x == y {
			var zero T
			copy((*list)[i:], (*list)[i+1:])
			(*list)[len(*list)-1] = zero
			*list = (*list)[:len(*list)-1]
			return
		}
	}
}

// PD is a protection domain (IBTA vol. 1 §10.2.3).
type PD struct {
	ctx  *Context
	used int // objects in it
	gone bool
}

// AllocPD makes a protection domain.
func (c *Context) AllocPD() (*PD, error) {
	if c.closed || c.dev.nPD >= c.dev.cfg.MaxPD {
		return nil, ErrNoMemory
	}
	p := &PD{ctx: c}
	c.dev.nPD++
	c.pds = append(c.pds, p)
	return p, nil
}

// Dealloc frees the domain: ErrBusy while regions, queue pairs, shared receive
// queues or address handles are in it.
func (p *PD) Dealloc() error {
	if p.gone {
		return ErrInvalid
	}
	if p.used > 0 {
		return ErrBusy
	}
	p.gone = true
	p.ctx.dev.nPD--
	drop(&p.ctx.pds, p)
	return nil
}

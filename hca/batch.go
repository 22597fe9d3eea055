package hca

import "cnuas/internal/frame"

// Limits at which a batch is committed without being told.
const (
	batchBytes  = 256 << 10 // the best of the sizes measured
	batchPieces = 512       // pieces of one memory; below the 1024 of one system call
	batchFrames = 1024
)

// Batch collects what devices do to programs: bytes for their memories,
// completions, ring space, events. Copies into another process cost far more
// than the packets that they come with, so they are made for many packets at
// once. Devices of one engine share a batch; who runs the engine commits it.
//
// Until Commit nothing of it is visible to a program, so an acknowledge may
// overtake the data inside the engine.
type Batch struct {
	held  frame.FIFO // frames whose payloads the scatters point into
	bytes int
	full  bool
	ctxs  []*Context // with something in out
	cqs   []*CQ      // with completions to publish
	qps   []*QP      // with ring space to give back
	srqs  []*SRQ     // likewise
	over  []*CQ      // that have overrun: their queue pairs end
	last  []*QP      // in Err, that have taken their last work request of an SRQ
	fire  []*CQ      // whose events are due
	busy  bool
	pool  *frame.Pool
}

// NewBatch returns an empty batch.
func NewBatch() *Batch { return &Batch{} }

// Pending tells whether something waits for Commit.
func (b *Batch) Pending() bool {
	return len(b.ctxs)+len(b.cqs)+len(b.qps)+len(b.srqs)+len(b.over)+len(b.last) > 0
}

// Commit applies what was collected, in the order that programs rely on: data,
// ring space, completions, completion events, the events of last work requests. A program that sees a completion
// may post again at once, into a queue that may have had room for one only. An event callback may call into
// the devices; what it causes is committed too. A Commit within a Commit does
// nothing.
func (b *Batch) Commit() {
	if b.busy {
		return
	}
	b.busy = true
	for b.Pending() {
		b.data()
		for len(b.over) > 0 {
			q := b.over[len(b.over)-1]
			b.over = b.over[:len(b.over)-1]
			q.endUsers()
		}
		for i, s := range b.srqs {
			s.publish()
			b.srqs[i] = nil
		}
		b.srqs = b.srqs[:0]
		for i, q := range b.qps {
			q.publish()
			b.qps[i] = nil
		}
		b.qps = b.qps[:0]
		for i, q := range b.cqs {
			q.publish(b)
			b.cqs[i] = nil
		}
		b.cqs = b.cqs[:0]
		for i := 0; i < len(b.fire); i++ {
			q := b.fire[i]
			b.fire[i] = nil
			if !q.gone {
				q.event(q)
			}
		}
		b.fire = b.fire[:0]
		for i, q := range b.last { // behind the last completion
			if !q.gone && q.attr.State == Err {
				q.async(EventLastWQE)
			}
			b.last[i] = nil
		}
		b.last = b.last[:0]
	}
	b.busy = false
}

// data makes the copies and lets go of the frames.
func (b *Batch) data() {
	for i := 0; i < len(b.ctxs); i++ {
		c := b.ctxs[i]
		b.ctxs[i] = nil
		if c.closed {
			continue
		}
		if len(c.out.dst) > 0 && c.mem.Scatter(c.out.dst, c.out.src) != nil {
			c.scatterFailed()
		}
		c.out.reset()
	}
	b.ctxs = b.ctxs[:0]
	for f := b.held.Pop(); f != nil; f = b.held.Pop() {
		b.pool.Put(f)
	}
	b.bytes, b.full = 0, false
}

// scatter is what waits for one program's memory. Neighbours are merged on
// both sides: fewer pieces make the copy faster by a fifth.
type scatter struct {
	dst    []Segment
	src    [][]byte
	owners []owner
}

// owner says which queue pair the next n bytes of a scatter belong to.
type owner struct {
	qp *QP
	n  uint64
}

func (s *scatter) reset() {
	clear(s.src)
	clear(s.owners)
	s.dst, s.src, s.owners = s.dst[:0], s.src[:0], s.owners[:0]
}

// write puts p into the program's memory at addr when the batch is committed.
// p must stay as it is until then: see Batch.hold.
func (q *QP) write(addr uint64, p []byte) {
	c, b := q.ctx, q.ctx.dev.batch
	s := &c.out
	if len(s.dst) == 0 {
		b.ctxs = append(b.ctxs, c)
	}
	if n := len(s.dst); n > 0 && s.dst[n-1].Addr+s.dst[n-1].Len == addr {
		s.dst[n-1].Len += uint64(len(p))
	} else {
		s.dst = append(s.dst, Segment{addr, uint64(len(p))})
	}
	if n := len(s.src); n > 0 && adjacent(s.src[n-1], p) {
		s.src[n-1] = s.src[n-1][:len(s.src[n-1])+len(p)]
	} else {
		s.src = append(s.src, p)
	}
	if n := len(s.owners); n > 0 && s.owners[n-1].qp == q {
		s.owners[n-1].n += uint64(len(p))
	} else {
		s.owners = append(s.owners, owner{q, uint64(len(p))})
	}
	b.bytes += len(p)
	if b.bytes >= batchBytes || len(s.dst) >= batchPieces || len(s.src) >= batchPieces {
		b.full = true
	}
}

// adjacent tells whether b lies directly behind a in the same array.
func adjacent(a, b []byte) bool {
	return cap(a) > len(a) && &a[:len(a)+1][len(a)] == &b[0]
}

// hold keeps f, whose payload was given to write, until the commit.
func (d *Device) hold(f *frame.Frame) {
	b := d.batch
	b.pool = d.pool
	b.held.Push(f)
	if b.held.Len() >= batchFrames {
		b.full = true
	}
}

// overlaps tells whether something waits to be written to [addr, addr+n).
func (s *scatter) overlaps(addr, n uint64) bool {
	if len(s.dst) > 32 {
		return true // looking costs more than committing
	}
	for _, g := range s.dst {
		if g.Addr < addr+n && addr < g.Addr+g.Len {
			return true
		}
	}
	return false
}

// settle commits if a read of [addr, addr+n) would miss what waits.
func (c *Context) settle(addr, n uint64) {
	if len(c.out.dst) > 0 && c.out.overlaps(addr, n) {
		c.dev.batch.Commit()
	}
}

package frame

// Pool is the free list of one engine: not shared, not locked. A pool keeps
// what it made; the number of frames made is the peak of frames alive.
type Pool struct {
	free  *Frame
	slabs *Slab
	live  int
	made  int
	sLive int
}

// SlabSize is the size of a Slab in bytes: what one gather from a program's
// memory fetches at the most. 256 KiB was the best of the sizes measured.
const SlabSize = 256 << 10

// Slab is a piece of memory that frames point into, given back when the last
// of them is.
type Slab struct {
	B    []byte
	refs int
	pool *Pool
	next *Slab
}

// Get returns an empty frame.
func (p *Pool) Get() *Frame {
	p.live++
	f := p.free
	if f == nil {
		p.made++
		return new(Frame)
	}
	p.free = f.next
	f.next = nil
	return f
}

// Put takes a frame back. The caller must not use it afterwards.
func (p *Pool) Put(f *Frame) {
	p.live--
	if f.slab != nil {
		f.slab.Release()
		f.slab = nil
	}
	f.Data, f.Pay, f.base = nil, nil, nil
	f.Meta = Meta{}
	f.next = p.free
	p.free = f
}

// Clone returns a second frame with the same contents, for flooding. The
// payload is shared, the headers are copied.
func (p *Pool) Clone(f *Frame) *Frame {
	g := p.Get()
	if len(f.Data) <= HeadLen {
		copy(g.Head(len(f.Data)), f.Data)
	} else {
		copy(g.Buf(len(f.Data)), f.Data)
	}
	g.SetPayload(f.Pay, f.slab)
	g.Len, g.Meta = f.Len, f.Meta
	return g
}

// Live is the number of frames that are out; 0 when a fabric has drained.
func (p *Pool) Live() int { return p.live }

// Made is the number of frames ever allocated.
func (p *Pool) Made() int { return p.made }

// LiveSlabs is the number of slabs that are out.
func (p *Pool) LiveSlabs() int { return p.sLive }

// GetSlab returns a slab with one reference, the caller's.
func (p *Pool) GetSlab() *Slab {
	p.sLive++
	if s := p.slabs; s != nil {
		p.slabs = s.next
		s.next, s.refs = nil, 1
		return s
	}
	return &Slab{B: make([]byte, SlabSize), refs: 1, pool: p}
}

// Hold takes one more reference, for a holder that is not a frame.
func (s *Slab) Hold() { s.refs++ }

// Release gives up one reference.
func (s *Slab) Release() {
	s.refs--
	if s.refs > 0 {
		return
	}
	if s.refs < 0 {
		panic("frame: slab released twice")
	}
	s.pool.sLive--
	s.next = s.pool.slabs
	s.pool.slabs = s
}

// FIFO is a queue of frames linked through the frames themselves.
type FIFO struct {
	head, tail *Frame
	n          int
	bytes      int64
}

// Push appends f.
func (q *FIFO) Push(f *Frame) {
	f.next = nil
	if q.tail == nil {
		q.head = f
	} else {
		q.tail.next = f
	}
	q.tail = f
	q.n++
	q.bytes += int64(f.Len)
}

// PushFront puts f back in front, for a sender that took it and could not send.
func (q *FIFO) PushFront(f *Frame) {
	f.next = q.head
	q.head = f
	if q.tail == nil {
		q.tail = f
	}
	q.n++
	q.bytes += int64(f.Len)
}

// Pop takes the oldest frame; nil if there is none.
func (q *FIFO) Pop() *Frame {
	f := q.head
	if f == nil {
		return nil
	}
	q.head = f.next
	if q.head == nil {
		q.tail = nil
	}
	f.next = nil
	q.n--
	q.bytes -= int64(f.Len)
	return f
}

// Peek returns the oldest frame without taking it; nil if there is none.
func (q *FIFO) Peek() *Frame { return q.head }

// Len is the number of frames.
func (q *FIFO) Len() int { return q.n }

// Bytes is the sum of the frames' lengths.
func (q *FIFO) Bytes() int64 { return q.bytes }

package verbs

import (
	"errors"
	"fmt"

	"cnuas/hca"
	"cnuas/hca/ring"
)

// ErrFull means that a queue has no slot for another work request.
var ErrFull = errors.New("verbs: queue is full")

// Program is a program that uses one device: its memory, its context and one
// protection domain.
type Program struct {
	*Arena
	Context *hca.Context
	PD      *hca.PD
	Events  []hca.Event // asynchronous events, as they came
}

// Open starts a program with a memory of size bytes.
func Open(d *hca.Device, size int) (*Program, error) {
	p := &Program{Arena: NewArena(size)}
	p.Context = d.Open(p.Arena, func(e hca.Event) { p.Events = append(p.Events, e) })
	var err error
	if p.PD, err = p.Context.AllocPD(); err != nil {
		return nil, fmt.Errorf("program on %s: %w", d.Name(), err)
	}
	return p, nil
}

// Buffer is a registered piece of a program's memory.
type Buffer struct {
	Addr uint64
	B    []byte
	MR   *hca.MR
}

// SGE names n bytes of the buffer from off on.
func (b *Buffer) SGE(off, n int) ring.SGE {
	return ring.SGE{Addr: b.Addr + uint64(off), Len: uint32(n), LKey: b.MR.LKey()}
}

// Buffer allocates and registers n bytes.
func (p *Program) Buffer(n int, acc hca.Access) (*Buffer, error) {
	addr, b := p.Alloc(n)
	mr, err := p.Context.RegMR(p.PD, addr, uint64(n), addr, acc)
	if err != nil {
		return nil, err
	}
	return &Buffer{addr, b, mr}, nil
}

// CQ is a completion queue.
type CQ struct {
	*hca.CQ
	r    *ring.Ring
	next uint32
}

// NewCQ makes a completion queue for depth completions. event is called when
// it is armed and a completion came; it may be nil.
func (p *Program) NewCQ(depth int, event func()) (*CQ, error) {
	r, err := newRing(depth, ring.CQELen)
	if err != nil {
		return nil, err
	}
	q := &CQ{r: r}
	var f func(*hca.CQ)
	if event != nil {
		f = func(*hca.CQ) { event() }
	}
	q.CQ, err = p.Context.CreateCQ(r, f)
	return q, err
}

// Poll takes completions, at most len(wc), and returns how many.
func (q *CQ) Poll(wc []ring.CQE) int {
	n := 0
	for prod := q.r.Producer(); n < len(wc) && q.next != prod; n++ {
		wc[n].Decode(q.r.At(q.next))
		q.next = q.r.Next(q.next)
	}
	if n > 0 {
		q.r.SetConsumer(q.next)
	}
	return n
}

func newRing(n, elem int) (*ring.Ring, error) {
	slots, elem := ring.Slots(n), ring.ElemSize(elem)
	mem := make([]uint64, ring.Size(slots, elem)/8)
	return ring.New(ring.Bytes(mem), slots, elem)
}

// QP is a queue pair with its rings.
type QP struct {
	*hca.QP
	sq, rq *ring.Ring
}

// QPSpec says what kind of queue pair NewQPOf makes.
type QPSpec struct {
	Type          hca.QPType // default RC
	Send, Recv    *CQ
	SRQ           *SRQ // nil: a receive queue of its own
	Cap           hca.QPCap
	SigAll        bool
	BlockLoopback bool
}

// NewQP makes an RC queue pair.
func (p *Program) NewQP(send, recv *CQ, c hca.QPCap, sigAll bool) (*QP, error) {
	return p.NewQPOf(QPSpec{Send: send, Recv: recv, Cap: c, SigAll: sigAll})
}

// NewQPOf makes a queue pair.
func (p *Program) NewQPOf(s QPSpec) (*QP, error) {
	if s.Type == 0 {
		s.Type = hca.RC
	}
	c := s.Cap
	sq, err := newRing(int(c.MaxSendWR), ring.SendWQELen+max(int(c.MaxInline), ring.SGELen*int(c.MaxSendSGE)))
	if err != nil {
		return nil, err
	}
	in := hca.QPInit{PD: p.PD, Type: s.Type, SendCQ: s.Send.CQ, RecvCQ: s.Recv.CQ, SQ: sq, Cap: c, SigAll: s.SigAll, BlockLoopback: s.BlockLoopback}
	if s.SRQ != nil {
		in.SRQ = s.SRQ.SRQ
	} else if in.RQ, err = newRing(int(c.MaxRecvWR), ring.RecvWQELen+ring.SGELen*int(c.MaxRecvSGE)); err != nil {
		return nil, err
	}
	q := &QP{sq: sq, rq: in.RQ}
	q.QP, err = p.Context.CreateQP(in)
	return q, err
}

// Post puts a work request into the send queue without telling the device.
func (q *QP) Post(w *ring.Send) error {
	p := q.sq.Producer()
	if q.sq.Next(p) == q.sq.Consumer() {
		return ErrFull
	}
	if !ring.SendWQE(q.sq.At(p)).Encode(w) {
		return hca.ErrInvalid
	}
	q.sq.SetProducer(p + 1)
	return nil
}

// PostSend posts a work request and rings the doorbell.
func (q *QP) PostSend(w *ring.Send) error {
	if err := q.Post(w); err != nil {
		return err
	}
	q.Doorbell()
	return nil
}

// PostRecv posts a receive work request.
func (q *QP) PostRecv(id uint64, sges ...ring.SGE) error { return postRecv(q.rq, id, sges) }

func postRecv(r *ring.Ring, id uint64, sges []ring.SGE) error {
	p := r.Producer()
	if r.Next(p) == r.Consumer() {
		return ErrFull
	}
	if !ring.RecvWQE(r.At(p)).Encode(id, sges) {
		return hca.ErrInvalid
	}
	r.SetProducer(p + 1)
	return nil
}

// SendRing returns the send queue, for programs that post by themselves.
func (q *QP) SendRing() *ring.Ring { return q.sq }

// RecvRing returns the receive queue.
func (q *QP) RecvRing() *ring.Ring { return q.rq }

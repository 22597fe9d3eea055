package launch

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/uverbs/memfile"
)

// patient is a program's device whose daemon is gone. Its work requests are
// completed in its place, as an HCA does whose port is dead: the first send of
// a queue pair with "retry exceeded", all others as flushed.
//
// The program can write what it likes to the memory file; whoever damages it
// damages himself only, but must not bring the supervisor down.
type patient struct {
	fd     int
	mem    []byte
	dir    memfile.Directory
	mapped map[memfile.Queue]*rawRing
	failed map[uint32]bool // by directory entry: has had its error
}

func newPatient(fd int) (*patient, error) {
	mem, err := unix.Mmap(fd, memfile.DirectoryOffset, memfile.DirectorySize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("memory file: %w", err)
	}
	return &patient{fd: fd, mem: mem, dir: memfile.NewDirectory(mem), mapped: map[memfile.Queue]*rawRing{}, failed: map[uint32]bool{}}, nil
}

func (p *patient) close() {
	for _, r := range p.mapped {
		if r != nil {
			_ = unix.Munmap(r.mem) // it was mapped
		}
	}
	_ = unix.Munmap(p.mem) // it was mapped
}

// treat completes everything that is outstanding and fits.
func (p *patient) treat() {
	for i := range memfile.MaxQP {
		q, ok := p.dir.QP(i)
		if !ok {
			continue
		}
		if scq, sq := p.cq(q.SendCQ), p.ring(q.SQ); scq != nil && sq != nil && sq.elem >= ring.SendWQELen {
			// Bounded: the program may go on posting as fast as we complete.
			for n := 0; n < len(sq.mem)/sq.elem; n++ {
				w := sq.peek()
				if w == nil {
					break
				}
				status := hca.StatusWRFlushErr
				if !p.failed[uint32(i)] {
					status = hca.StatusRetryExcErr
				}
				wqe := ring.SendWQE(w)
				if !scq.push(&ring.CQE{ID: wqe.ID(), Status: uint32(status), Opcode: ring.SendCompletion(wqe.Opcode()), QPN: q.Num, Port: 1}) {
					break
				}
				p.failed[uint32(i)] = true
				sq.pop()
			}
		}
		if rcq, rq := p.cq(q.RecvCQ), p.ring(q.RQ); rcq != nil && rq != nil && rq.elem >= ring.RecvWQELen {
			for n := 0; n < len(rq.mem)/rq.elem; n++ {
				w := rq.peek()
				if w == nil {
					break
				}
				if !rcq.push(&ring.CQE{ID: ring.RecvWQE(w).ID(), Status: uint32(hca.StatusWRFlushErr), Opcode: ring.WCRecv, QPN: q.Num, Port: 1}) {
					break
				}
				rq.pop()
			}
		}
	}
}

func (p *patient) cq(i uint32) *rawRing {
	q, ok := p.dir.CQ(int(i))
	if !ok {
		return nil
	}
	r := p.ring(q)
	if r == nil || r.elem < ring.CQELen {
		return nil
	}
	return r
}

// ring maps a queue; nil if the entry makes no sense.
func (p *patient) ring(q memfile.Queue) *rawRing {
	if r, ok := p.mapped[q]; ok {
		return r
	}
	r := mapRing(p.fd, q)
	p.mapped[q] = r
	return r
}

// rawRing is a ring that exists already: its indexes are taken as they are.
type rawRing struct {
	mem        []byte
	prod, cons *uint32
	mask       uint32
	elem       int
}

func mapRing(fd int, q memfile.Queue) *rawRing {
	pow2 := func(x uint32) bool { return x != 0 && x&(x-1) == 0 }
	if !pow2(q.Slots) || !pow2(q.Elem) || q.Slots < 2 || q.Slots > ring.MaxSlots || q.Elem > 1<<16 || q.Elem < 64 {
		return nil
	}
	size := int64(ring.Size(int(q.Slots), int(q.Elem)))
	if q.Offset < 0 || q.Offset%int64(unix.Getpagesize()) != 0 || q.Offset > memfile.QueueSpace-size {
		return nil
	}
	mem, err := unix.Mmap(fd, q.Offset, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return &rawRing{
		mem: mem, mask: q.Slots - 1, elem: int(q.Elem),
		prod: (*uint32)(unsafe.Pointer(&mem[offProducer])), cons: (*uint32)(unsafe.Pointer(&mem[offConsumer])),
	}
}

// Where struct rxe_queue_buf has its indexes.
const (
	offProducer = 128
	offConsumer = 256
)

func (r *rawRing) at(i uint32) []byte {
	o := ring.HeaderLen + int(i&r.mask)*r.elem
	return r.mem[o : o+r.elem : o+r.elem]
}

// peek returns the oldest element, nil if there is none.
func (r *rawRing) peek() []byte {
	c := atomic.LoadUint32(r.cons) & r.mask
	if c == atomic.LoadUint32(r.prod)&r.mask {
		return nil
	}
	return r.at(c)
}

func (r *rawRing) pop() { atomic.StoreUint32(r.cons, (atomic.LoadUint32(r.cons)+1)&r.mask) }

// push appends a completion; false if the program has to take some first.
func (r *rawRing) push(c *ring.CQE) bool {
	p := atomic.LoadUint32(r.prod) & r.mask
	if (p+1)&r.mask == atomic.LoadUint32(r.cons)&r.mask {
		return false
	}
	c.Encode(r.at(p))
	atomic.StoreUint32(r.prod, (p+1)&r.mask)
	return true
}

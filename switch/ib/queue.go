package ib

import (
	"math/bits"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
)

// output is what waits to leave by one port.
type output struct {
	lane [16]queue
}

// queue is one lane of an output: the packets of each input in their order, and
// whose turn it is.
type queue struct {
	in    []frame.FIFO // by input port; made with the first packet
	busy  [4]uint64    // inputs that have one
	n     int
	bytes int64
	turn  uint8  // input that has the head, if n > 0
	mark  uint16 // packets since the last one that was marked
}

func (q *queue) push(in uint8, f *frame.Frame, ports int) {
	if q.in == nil {
		q.in = make([]frame.FIFO, ports)
	}
	q.in[in].Push(f)
	q.busy[in>>6] |= 1 << (in & 63)
	if q.n == 0 {
		q.turn = in
	}
	q.n++
	q.bytes += int64(f.Len)
}

func (q *queue) head() *frame.Frame {
	if q.n == 0 {
		return nil
	}
	return q.in[q.turn].Peek()
}

func (q *queue) pop() *frame.Frame {
	i := q.turn
	f := q.in[i].Pop()
	if q.in[i].Len() == 0 {
		q.busy[i>>6] &^= 1 << (i & 63)
	}
	q.n--
	q.bytes -= int64(f.Len)
	if q.n > 0 {
		q.turn = q.next(i)
	}
	return f
}

// next is the input behind i, around, that has a packet; there is one.
func (q *queue) next(i uint8) uint8 {
	w := int(i >> 6)
	if x := q.busy[w] &^ (1<<(i&63) | (1<<(i&63) - 1)); x != 0 {
		return uint8(w<<6 | bits.TrailingZeros64(x))
	}
	for k := 1; ; k++ {
		v := (w + k) & 3
		if x := q.busy[v]; x != 0 {
			return uint8(v<<6 | bits.TrailingZeros64(x))
		}
	}
}

// enqueue lets a packet wait at output port out, or drops it. in is the port by
// which it came.
func (s *Switch) enqueue(in, out int, f *frame.Frame) {
	o := s.ports[out]
	m := &f.Meta.IB
	if !o.Accepts(f) {
		s.drop(f, DropRefused)
		return
	}
	vl := uint8(wire.VL15)
	if m.VL != wire.VL15 {
		if vl = o.VLOf(in, m.SL); !o.Operational(vl) {
			s.ports[in].CountRelayError(ibport.RelayVL)
			s.drop(f, DropVLMapping)
			return
		}
	}
	q := &s.out[out].lane[vl]
	if vl == wire.VL15 && q.n >= max15 {
		o.CountVL15Dropped()
		s.drop(f, DropVL15Full)
		return
	}
	q.push(uint8(in), f, len(s.ports))
	s.count.Queued++
	o.Offer(vl)
}

// Head implements ibport.Owner.
func (s *Switch) Head(p *ibport.Port, vl uint8) *frame.Frame {
	return s.out[p.Num()].lane[vl].head()
}

// Take implements ibport.Owner: the packet leaves, its buffer is free.
func (s *Switch) Take(p *ibport.Port, vl uint8) *frame.Frame {
	q := &s.out[p.Num()].lane[vl]
	if q.n == 0 {
		return nil
	}
	if s.cc.on {
		s.mark(p, vl, q)
	}
	f := q.pop()
	s.count.Queued--
	s.count.Out++
	s.release(f)
	return f
}

// release frees the buffer in which a packet came, if it came by a port: with
// the last copy of it.
func (s *Switch) release(f *frame.Frame) {
	in := f.Meta.InPort
	if in == 0 {
		return
	}
	if t := f.Meta.Tag; t != 0 {
		f.Meta.Tag = 0
		if g := &s.groups[t-1]; g.copies > 1 {
			g.copies--
			return
		}
		s.putGroup(int32(t - 1))
	}
	s.ports[in].Release(f)
}

// flush drops what waits at a port whose link went down.
func (s *Switch) flush(p *ibport.Port) {
	n := 0
	for vl := range s.out[p.Num()].lane {
		q := &s.out[p.Num()].lane[vl]
		for q.n > 0 {
			f := q.pop()
			s.count.Queued--
			s.drop(f, DropLinkDown)
			n++
		}
	}
	p.CountDiscard(n)
}

// drop ends a packet.
func (s *Switch) drop(f *frame.Frame, r DropReason) {
	s.count.Drops[r]++
	s.release(f)
	s.pool.Put(f)
}

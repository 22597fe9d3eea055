package hca

import (
	"cnuas/hca/ring"
	"cnuas/internal/frame"
)

// fetchWQEs is how many WQEs one gather serves at the most.
const fetchWQEs = 128

// maxSegments bounds the pieces of one gather.
const maxSegments = 512

// fewWQEs are not worth a gather of their own in a turn that has had one.
const fewWQEs = 96

// putOff tells whether to leave a few new WQEs for the next sweep. A program
// posts one at a time as it sees completions, and a gather for each would cost
// more than everything else about a small message; those that come in while
// the turn goes on are fetched together. Without sweeps, in virtual time, there
// are no turns.
func (q *QP) putOff() bool {
	r, d := &q.req, q.ctx.dev
	if d.turn == 0 || q.fetched != d.turn {
		q.fetched = d.turn
		return false
	}
	if r.failed != 0 || r.fetch != r.parsed || q.sq.Distance(r.fetch, q.sq.Producer()) >= fewWQEs {
		return false
	}
	q.swept = r.fetch // the next sweep sees them
	return true
}

// slabRoom is the part of the device's slab for the next gather: at least half a slab, so
// that small messages share one.
func (d *Device) slabRoom() (s *frame.Slab, from int) {
	if d.slab == nil || d.slabUsed > frame.SlabSize/2 {
		if d.slab != nil {
			d.slab.Release()
		}
		d.slab, d.slabUsed = d.pool.GetSlab(), 0
	}
	return d.slab, d.slabUsed
}

// ReleaseSlab gives back the memory that the device keeps between gathers, for
// one that falls idle.
func (d *Device) ReleaseSlab() {
	if d.slab != nil {
		d.slab.Release()
		d.slab = nil
	}
}

// fetchWork looks at up to limit WQEs from fetch on and gets their bytes from
// the program's memory by one gather. It reports whether it moved on. When a
// WQE cannot be carried out it stops in front of it and sets failed.
func (q *QP) fetchWork(limit int) bool {
	r := &q.req
	d := q.ctx.dev
	if r.failed != 0 {
		return false
	}
	prod := q.sq.Producer()
	if r.fetch == prod {
		q.swept = prod
		return false
	}
	r.dropSlab()
	slab, from := d.slabRoom()
	at, gathered := from, from
	fetch0, foff0 := r.fetch, r.foff
	d.segs = d.segs[:0]
	var before *sendWork // the last one, if this gather gets all of its bytes
	n := 0
	for ; n < limit && r.fetch != prod && len(d.segs) < maxSegments; n++ {
		if q.sq.Next(r.fetch) == r.acked {
			break // no ring holds so much: the program's producer index is wild
		}
		w := &r.work[r.fetch]
		slot := ring.SendWQE(q.sq.At(r.fetch))
		if r.fetch == r.parsed && !q.parse(w, slot, n == 0) {
			break
		}
		if left := w.len - r.foff; w.sends() && left > 0 {
			if sameBytes(w, before) {
				w.at = before.at
				r.fetch = q.sq.Next(r.fetch)
				continue
			}
			take := left
			if room := uint32(frame.SlabSize - at); take > room {
				take = room / q.mtu * q.mtu // packets never straddle slabs
			}
			if take == 0 {
				break
			}
			if w.flags&ring.FlagInline != 0 {
				if !q.gather(slab.B[gathered:at]) {
					return q.isolate(fetch0, foff0, limit)
				}
				copy(slab.B[at:at+int(take)], slot.Inline()[r.foff:])
				gathered = at + int(take)
			} else if r.failed = q.segments(w, slot, r.foff, take, 0); r.failed != 0 {
				break
			}
			w.at, before = uint32(at), nil
			if r.foff == 0 && take == left {
				before = w
			}
			at += int(take)
			if r.foff += take; r.foff < w.len {
				n++
				break
			}
		}
		r.fetch, r.foff = q.sq.Next(r.fetch), 0
	}
	if !q.gather(slab.B[gathered:at]) {
		return q.isolate(fetch0, foff0, limit)
	}
	if at > from {
		slab.Hold()
		r.slab = slab
		d.slabUsed = at
	}
	return r.fetch != fetch0 || r.foff != foff0
}

// sameBytes tells whether w sends exactly what the work request before it in
// this gather sends: the bytes are then read once and serve both. A program
// must not change what it has posted, so it cannot tell.
func sameBytes(w, before *sendWork) bool {
	return before != nil && w.nsge == 1 && before.nsge == 1 && w.sge == before.sge && (w.flags|before.flags)&ring.FlagInline == 0
}

// isolate repeats a gather that failed WQE by WQE, so that the error meets the
// right one.
func (q *QP) isolate(fetch, foff uint32, limit int) bool {
	r := &q.req
	q.ctx.dev.ctr.MemoryFailures++
	r.fetch, r.foff, r.failed = fetch, foff, 0
	if limit > 1 {
		return q.fetchWork(1)
	}
	r.failed = StatusLocProtErr
	return false
}

// gather fills dst from the segments collected in d.segs.
func (q *QP) gather(dst []byte) bool {
	d := q.ctx.dev
	if len(d.segs) == 0 {
		return true
	}
	err := q.ctx.mem.Gather(dst, d.segs)
	d.segs = d.segs[:0]
	return err == nil
}

// parse looks at the WQE at parsed and moves on if it can be begun. One with
// a fence waits for the READs before it (IBTA vol. 1 §10.8.3.3), and what they
// brought may be what it sends, so it is the first of its gather.
func (q *QP) parse(w *sendWork, slot ring.SendWQE, first bool) bool {
	r := &q.req
	if r.failed = q.decode(w, slot); r.failed != 0 {
		return false
	}
	if w.flags&ring.FlagFence != 0 {
		if r.reading > 0 || !first {
			return false
		}
		q.ctx.dev.batch.Commit()
		if q.gone || q.attr.State != RTS && q.attr.State != SQD {
			return false
		}
	}
	if w.reads() {
		r.reading++
	}
	r.parsed = q.sq.Next(r.parsed)
	q.ctx.dev.wqes++
	return true
}

// decode copies what matters of a WQE into w and checks it.
func (q *QP) decode(w *sendWork, slot ring.SendWQE) Status {
	op, flags, nsge := slot.Opcode(), slot.Flags(), slot.NumSGE()
	if op > ring.OpFetchAdd || q.service.posts>>op&1 == 0 {
		return StatusLocQPOpErr
	}
	*w = sendWork{id: slot.ID(), op: uint8(op), flags: uint8(flags) &^ flagOverMTU, raddr: slot.RemoteAddr(), imm: slot.Imm()}
	if q.typ == UD {
		return q.decodeDatagram(w, slot, nsge)
	}
	if w.reads() {
		w.flags &^= ring.FlagInline
		if q.attr.MaxRdAtomic == 0 {
			return StatusLocQPOpErr
		}
	}
	if w.op > ring.OpRDMARead {
		w.rkey = slot.AtomicRKey()
		w.operand = [2]uint64{slot.CompareAdd(), 0}
		if op == ring.OpCompareSwap {
			w.operand = [2]uint64{slot.Swap(), slot.CompareAdd()}
		}
	} else {
		w.rkey = slot.RKey()
	}
	if st := q.decodeLength(w, slot, nsge); st != 0 || w.flags&ring.FlagInline != 0 {
		return st
	}
	if w.op > ring.OpRDMARead {
		if w.len < 8 {
			return StatusLocLenErr
		}
		w.len = 8
	}
	if w.reads() { // a response must find its place: say now that it will not
		d := q.ctx.dev
		segs := d.segs
		d.segs = d.probe[:0]
		st := q.segments(w, slot, 0, w.len, AccessLocalWrite)
		d.probe, d.segs = d.segs, segs
		return st
	}
	return 0
}

// decodeLength finds out how long the message is.
func (q *QP) decodeLength(w *sendWork, slot ring.SendWQE, nsge uint32) Status {
	if w.flags&ring.FlagInline != 0 {
		w.len = slot.Length()
		if w.len > q.cap.MaxInline || int(w.len) > len(slot.Inline()) {
			return StatusLocLenErr
		}
		return 0
	}
	if nsge > q.cap.MaxSendSGE || int(nsge) > slot.MaxSGE() {
		return StatusLocQPOpErr
	}
	w.nsge = uint8(nsge)
	total := uint64(0)
	for i := range int(nsge) {
		s := slot.SGE(i)
		total += uint64(s.Len)
		if i == 0 {
			w.sge = s
		}
	}
	if total > MaxMsgSize {
		return StatusLocLenErr
	}
	w.len = uint32(total)
	return 0
}

// segments appends to the device's list where bytes off to off+n of a work
// request lie in the program's memory.
func (q *QP) segments(w *sendWork, slot ring.SendWQE, off, n uint32, need Access) Status {
	if w.nsge == 1 {
		if uint64(off)+uint64(n) > uint64(w.sge.Len) {
			return StatusLocLenErr
		}
		return q.segment(w.sge.LKey, w.sge.Addr+uint64(off), uint64(n), need)
	}
	for i := 0; i < int(w.nsge) && n > 0; i++ {
		s := slot.SGE(i)
		if off >= s.Len {
			off -= s.Len
			continue
		}
		l := min(s.Len-off, n)
		if st := q.segment(s.LKey, s.Addr+uint64(off), uint64(l), need); st != 0 {
			return st
		}
		off, n = 0, n-l
	}
	if n > 0 {
		return StatusLocLenErr // the program shortened the list meanwhile
	}
	return 0
}

func (q *QP) segment(lkey uint32, addr, n uint64, need Access) Status {
	if n == 0 {
		return 0
	}
	m := q.region(q.pd, lkey)
	if m == nil {
		return StatusLocProtErr
	}
	a, ok := m.translate(addr, n, need)
	if !ok {
		return StatusLocProtErr
	}
	d := q.ctx.dev
	if k := len(d.segs); k > 0 && d.segs[k-1].Addr+d.segs[k-1].Len == a {
		d.segs[k-1].Len += n
	} else {
		d.segs = append(d.segs, Segment{a, n})
	}
	return 0
}

package hca

import (
	"encoding/binary"

	"cnuas/hca/transport"
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// job is a READ or an atomic that is being answered.
type job struct {
	psn    uint32 // of the next response packet
	msn    uint32
	atomic bool
	va     uint64 // READ: of the whole request
	rkey   uint32
	len    uint32
	off    uint32 // bytes sent
	result uint64 // atomic: the value before
}

// resource is what a duplicate request is answered from (IBTA vol. 1 §9.7.4.5
// and §9.7.5.1.5): an atomic is never carried out twice.
type resource struct {
	psn, last uint32
	atomic    bool
	result    uint64
}

// push queues a response. A coalesced ACK that waits is left out: the response
// acknowledges what came before it.
func (s *responder) push(j job) {
	if s.reply == replyAck {
		s.reply = replyNone
	}
	s.jobs[(s.first+s.n)%MaxRdAtomic] = j
	s.n++
}

func (s *responder) remember(r resource) {
	s.history[s.past%MaxRdAtomic] = r
	s.past++
}

// busyResources is CHK_RESOURCE for READ and atomics: the peer may not have
// more outstanding than was agreed (IBTA vol. 1 §9.7.4.1.4).
func (q *QP) busyResources() bool {
	return q.resp.n >= int(q.attr.MaxDestRdAtomic)
}

// onRead is CHK_OP_VALID to EXECUTE for READ: the response is queued.
func (q *QP) onRead(p *request) {
	r := &q.resp
	h := wire.RETH(p.head)
	n := h.DMALen()
	if q.attr.Access&AccessRemoteRead == 0 || q.busyResources() || n > MaxMsgSize {
		q.refuse(nakInvalidRequest, 0)
		return
	}
	if _, _, ok := q.remote(h.RKey(), h.VA(), n, AccessRemoteRead); !ok {
		q.refuse(nakRemoteAccess, 0)
		return
	}
	packets := transport.Packets(n, q.mtu)
	r.remember(resource{psn: p.psn, last: transport.Add(p.psn, packets-1)})
	q.executed(p, packets)
	r.push(job{psn: p.psn, msn: r.msn, va: h.VA(), rkey: h.RKey(), len: n})
	q.makeReady()
}

// onAtomic is CHK_OP_VALID to EXECUTE for CmpSwap and FetchAdd. Atomics are
// atomic with regard to each other on every device of the engine; what waits
// to be written is written first.
func (q *QP) onAtomic(p *request) {
	r := &q.resp
	h := wire.AtomicETH(p.head)
	if q.attr.Access&AccessRemoteAtomic == 0 || q.busyResources() || h.VA()&7 != 0 {
		q.refuse(nakInvalidRequest, 0)
		return
	}
	_, addr, ok := q.remote(h.RKey(), h.VA(), 8, AccessRemoteAtomic)
	if !ok {
		q.refuse(nakRemoteAccess, 0)
		return
	}
	q.ctx.settle(addr, 8)
	if q.gone || q.resp.halted {
		return
	}
	old, ok := q.carryOut(p.code, h, addr)
	if !ok {
		q.ctx.dev.ctr.MemoryFailures++
		q.refuse(nakRemoteOperational, 0)
		return
	}
	r.remember(resource{psn: p.psn, last: p.psn, atomic: true, result: old})
	q.executed(p, 1)
	r.push(job{psn: p.psn, msn: r.msn, atomic: true, result: old})
	q.makeReady()
}

// carryOut reads, computes and writes eight bytes in the machine's order.
func (q *QP) carryOut(op wire.Opcode, h wire.AtomicETH, addr uint64) (old uint64, ok bool) {
	d := q.ctx.dev
	b := d.word[:]
	d.segs = append(d.segs[:0], Segment{addr, 8})
	if q.ctx.mem.Gather(b, d.segs) != nil {
		return 0, false
	}
	old = binary.NativeEndian.Uint64(b)
	v := old + h.SwapAdd()
	if op == wire.RCCompareSwap {
		if old != h.Compare() {
			return old, true
		}
		v = h.SwapAdd()
	}
	binary.NativeEndian.PutUint64(b, v)
	d.pieces[0] = b
	return old, q.ctx.mem.Scatter(d.segs, d.pieces[:]) == nil
}

// nextReadResponse makes the next packet of the oldest READ or atomic.
func (q *QP) nextReadResponse() *frame.Frame {
	r := &q.resp
	if r.n == 0 {
		return nil
	}
	j := &r.jobs[r.first]
	d := q.ctx.dev
	if j.atomic {
		f, h := q.build(wire.RCAtomicAcknowledge, 0, j.psn, wire.AETHLen+wire.AtomicAckETHLen, 0)
		wire.AETH(h).Encode(wire.ACK(wire.CreditInvalid), j.msn)
		wire.AtomicAckETH(h[wire.AETHLen:]).SetOriginal(j.result)
		d.ctr.TxResponses++
		q.jobDone()
		return f
	}
	if r.so == r.se && j.off < j.len && !q.fetchResponse() {
		return q.nextAck() // the NAK
	}
	l := min(j.len-j.off, q.mtu)
	first, last := j.off == 0, j.off+l == j.len
	ext := 0
	if first || last {
		ext = wire.AETHLen
	}
	f, h := q.build(transport.ReadOpcode(first, last), 0, j.psn, ext, int(l))
	if ext > 0 {
		wire.AETH(h).Encode(wire.ACK(wire.CreditInvalid), j.msn)
	}
	if l > 0 {
		f.SetPayload(r.slab.B[r.so:r.so+int(l)], r.slab)
		r.so += int(l)
	}
	j.off += l
	j.psn = transport.Add(j.psn, 1)
	d.ctr.TxResponses++
	if last {
		q.jobDone()
	}
	if r.so == r.se && r.slab != nil {
		r.slab.Release()
		r.slab = nil
	}
	return f
}

// jobDone ends the oldest response.
func (q *QP) jobDone() {
	r := &q.resp
	r.first = (r.first + 1) % MaxRdAtomic
	r.n--
}

// fetchResponse gets the bytes of the READs that wait, by one gather. When
// that cannot be done the peer gets a NAK and the queue pair is in Err. Keys
// are looked up again: a region may be gone.
func (q *QP) fetchResponse() bool {
	r := &q.resp
	d := q.ctx.dev
	slab, from := d.slabRoom()
	at := from
	d.segs = d.segs[:0]
	for i := 0; i < r.n && len(d.segs) < maxSegments; i++ {
		j := &r.jobs[(r.first+i)%MaxRdAtomic]
		take := j.len - j.off
		if j.atomic || take == 0 {
			continue
		}
		if room := uint32(frame.SlabSize - at); take > room {
			take = room / q.mtu * q.mtu
		}
		if take == 0 {
			break
		}
		m, a, ok := q.remote(j.rkey, j.va+uint64(j.off), take, AccessRemoteRead)
		if !ok || m == nil {
			if at > from {
				break // those before come first
			}
			return q.refuseRead(nakRemoteAccess)
		}
		q.ctx.settle(a, uint64(take))
		if q.gone || r.n == 0 {
			return false
		}
		if k := len(d.segs); k > 0 && d.segs[k-1].Addr+d.segs[k-1].Len == a {
			d.segs[k-1].Len += uint64(take)
		} else {
			d.segs = append(d.segs, Segment{a, uint64(take)})
		}
		at += int(take)
		if j.off+take < j.len {
			break
		}
	}
	if !q.gather(slab.B[from:at]) {
		d.ctr.MemoryFailures++
		return q.refuseRead(nakRemoteOperational)
	}
	slab.Hold()
	r.slab, r.so, r.se = slab, from, at
	d.slabUsed = at
	return true
}

// refuseRead answers the READ at hand with an error. Its PSN lies before epsn.
func (q *QP) refuseRead(s wire.Syndrome) bool {
	r := &q.resp
	psn := r.jobs[r.first].psn
	r.stop()
	q.refuse(s, 0)
	r.replyPSN = psn
	return false
}

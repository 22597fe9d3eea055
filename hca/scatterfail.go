package hca

import "cnuas/hca/ring"

// scatterFailed finds out whose bytes could not be written: it repeats the
// copy for each queue pair by itself. Those that fail go to Err. Their
// completions that were to be published with the data become errors, and those
// of the peer, if its acknowledge is in the same batch.
func (c *Context) scatterFailed() {
	s := &c.out
	di, si := 0, 0
	var dOff, sOff uint64
	var dst []Segment
	var src [][]byte
	for _, o := range s.owners {
		dst, src = dst[:0], src[:0]
		for left := o.n; left > 0; {
			g := s.dst[di]
			n := min(left, g.Len-dOff)
			dst = append(dst, Segment{g.Addr + dOff, n})
			if dOff += n; dOff == g.Len {
				di, dOff = di+1, 0
			}
			left -= n
		}
		for left := o.n; left > 0; {
			p := s.src[si]
			n := min(left, uint64(len(p))-sOff)
			src = append(src, p[sOff:sOff+n])
			if sOff += n; sOff == uint64(len(p)) {
				si, sOff = si+1, 0
			}
			left -= n
		}
		if c.mem.Scatter(dst, src) != nil {
			o.qp.memoryFailed()
		}
	}
}

// memoryFailed ends a queue pair whose incoming data could not be written.
func (q *QP) memoryFailed() {
	d := q.ctx.dev
	d.ctr.MemoryFailures++
	if q.gone || q.attr.State == Err || q.attr.State == Reset {
		return
	}
	b := d.batch
	for _, cq := range b.cqs {
		if !cq.gone && cq.ctx.dev == d {
			cq.poison(q.num, StatusLocProtErr, false)
		}
	}
	for _, cq := range b.cqs {
		if cq.gone {
			continue // its memory may be too
		}
		p := cq.ctx.dev
		for i := cq.pub; i != cq.prod; i = cq.ring.Next(i) {
			var e ring.CQE
			e.Decode(cq.ring.At(i))
			o := p.qps.find(e.QPN)
			if o == nil || o == q || Status(e.Status) != StatusSuccess || e.Opcode >= ring.WCRecv ||
				o.attr.DestQPN != q.num || !d.isSelf(&o.attr.AV) {
				continue
			}
			cq.poison(o.num, StatusRemOpErr, true)
			o.toErr()
		}
	}
	if q.typ == RC && q.attr.State != Init {
		q.nak(nakRemoteOperational)
	}
	q.async(EventQPFatal)
	q.toErr()
}

// poison turns the completions of a queue pair that are not published yet into
// errors: the first into st, the others flushed. sends limits it to those of
// the send queue.
func (cq *CQ) poison(qpn uint32, st Status, sends bool) {
	for i := cq.pub; i != cq.prod; i = cq.ring.Next(i) {
		var e ring.CQE
		e.Decode(cq.ring.At(i))
		if e.QPN != qpn || Status(e.Status) != StatusSuccess || sends && e.Opcode >= ring.WCRecv {
			continue
		}
		e.Status, e.ByteLen, e.Flags = uint32(st), 0, 0
		e.Encode(cq.ring.At(i))
		st = StatusWRFlushErr
		cq.solicited = true
	}
}

func (d *Device) hasGID(g GID) bool {
	for i := range d.gids[:d.nGID] {
		if d.gids[i].Valid && d.gids[i].GID == g {
			return true
		}
	}
	return false
}

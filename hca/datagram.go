package hca

import (
	"cnuas/hca/ring"
	"cnuas/hca/transport"
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §9.8.3 and §10.2.5 before editing.

// flagOverMTU marks a datagram, in the flags of its sendWork, that is longer
// than the port's MTU. It is not sent, and that is no error (C10-93.1.1).
const flagOverMTU = 0x80

// controlledQKey: a work request whose Q_Key has this bit is sent with that of
// its queue pair (IBTA vol. 1 §10.2.5).
const controlledQKey = 1 << 31

// decodeDatagram is decode for UD.
func (q *QP) decodeDatagram(w *sendWork, slot ring.SendWQE, nsge uint32) Status {
	w.raddr = uint64(slot.RemoteQPN()&transport.PSNMask) | uint64(slot.RemoteQKey())<<32
	w.rkey = slot.AH()
	if st := q.decodeLength(w, slot, nsge); st != 0 {
		return st
	}
	if w.len > q.ctx.dev.datagramMTU() {
		w.len, w.flags = 0, w.flags|flagOverMTU
	}
	return 0
}

// nextDatagram makes the next packet of a UD queue pair. Each work request is
// one, complete when it is sent.
func (q *QP) nextDatagram() *frame.Frame {
	r := &q.req
	d := q.ctx.dev
	for skipped := 0; q.attr.State == RTS; {
		if r.cur == r.fetch && (q.putOff() || !q.fetchWork(fetchWQEs)) {
			if r.failed != 0 {
				q.fail(r.failed)
			}
			return nil
		}
		w := &r.work[r.cur]
		if w.flags&flagOverMTU != 0 {
			d.ctr.OverMTU++
			q.sent(w)
			if skipped++; skipped == q.sq.Slots() { // more than an honest program has posted
				q.swept = r.cur
				return nil
			}
			continue
		}
		t := q.destination(w)
		if t == nil {
			q.fail(StatusLocQPOpErr)
			return nil
		}
		if l := q.listTo(t); q.list != l { // its turn comes where it belongs
			q.unready()
			q.prio, q.loop = t.prio, t.loop
			q.makeReady()
			return nil
		}
		f := q.datagram(t, w)
		q.sent(w)
		if t.group {
			d.echo(f, t)
		}
		return f
	}
	return nil
}

// listTo is where a queue pair waits whose next datagram goes to t.
func (q *QP) listTo(t *destination) *qpList {
	if t.loop {
		return &q.ctx.dev.loop.list
	}
	return &q.ctx.dev.ready[q.ctx.dev.lane(t.prio)]
}

func (q *QP) datagram(t *destination, w *sendWork) *frame.Frame {
	r := &q.req
	op, ext := wire.UDSendOnly, wire.DETHLen
	if w.op == ring.OpSendImm {
		op, ext = wire.UDSendOnlyImm, wire.DETHLen+wire.ImmDtLen
	}
	var se byte
	if w.flags&ring.FlagSolicited != 0 {
		se = solicited
	}
	f, h := t.build(q, uint32(w.raddr), op, se, r.nxt, ext, int(w.len))
	qkey := uint32(w.raddr >> 32)
	if qkey&controlledQKey != 0 {
		qkey = q.attr.QKey
	}
	wire.DETH(h).Encode(qkey, q.num)
	copy(h[wire.DETHLen:], w.imm[:])
	if w.len > 0 {
		f.SetPayload(r.slab.B[w.at:w.at+w.len], r.slab)
	}
	r.nxt = transport.Add(r.nxt, 1)
	q.ctx.dev.ctr.TxDatagrams++
	return f
}

// sent moves on behind the datagram at cur and completes it.
func (q *QP) sent(w *sendWork) {
	r := &q.req
	r.cur = q.sq.Next(r.cur)
	r.started, r.una, r.max = r.cur, r.nxt, r.nxt
	if r.cur == r.fetch {
		r.dropSlab()
	}
	q.complete(w, StatusSuccess)
	q.drained()
}

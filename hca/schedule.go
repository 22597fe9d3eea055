package hca

import "cnuas/internal/frame"

// Ready is the set of priorities that Next may have a frame for, bit n for n.
func (d *Device) Ready() uint8 { return d.readyMask }

// Next hands out the next frame of a priority, made at this moment; nil if
// there is none after all. Queue pairs take turns, a packet each.
func (d *Device) Next(prio int) *frame.Frame {
	prio &= 7
	d.enter()
	d.pulling = true
	f := d.cnps[prio].Pop()
	l := &d.ready[prio]
	for f == nil && l.head != nil {
		q := l.head
		if f = q.nextPacket(); f == nil {
			if q.list == l { // it may have left for another list meanwhile
				q.unready()
			}
		} else if l.head == q && q.next != nil {
			l.remove(q)
			l.push(q)
		}
	}
	if l.head == nil && d.cnps[prio].Len() == 0 {
		d.readyMask &^= 1 << prio
	}
	if f != nil {
		d.ctr.TxFrames++
		d.ctr.TxBytes += uint64(f.Len)
	}
	d.leave()
	d.pulling = false
	if d.wantKick { // something else became ready: tell the NIC when it is done
		d.wantKick = false
		if d.readyMask != 0 {
			d.proc.At(d.eng.Now(), d, opKick, 0)
		}
	}
	return f
}

// nextPacket makes the next packet of a queue pair: an acknowledge that is due,
// else READ responses and requests by turns.
func (q *QP) nextPacket() *frame.Frame {
	f := q.nextAck()
	if f != nil {
		return f
	}
	if q.rp != nil && q.pace > q.ctx.dev.eng.Now() {
		return nil
	}
	if q.turn = !q.turn; q.turn {
		if f = q.nextReadResponse(); f == nil {
			f = q.nextRequest()
		}
	} else if f = q.nextRequest(); f == nil {
		f = q.nextReadResponse()
	}
	if f != nil && q.rp != nil {
		q.paced(f)
	}
	return f
}

// paced lets the reaction point put off the next packet.
func (q *QP) paced(f *frame.Frame) {
	d := q.ctx.dev
	if q.pace = q.rp.Sent(d.eng.Now(), int(f.Len)); q.pace > d.eng.Now() {
		d.proc.At(q.pace, q, opPace, 0)
	}
}

// makeReady enters the queue pair in the list of those that want to send.
func (q *QP) makeReady() {
	if q.list != nil {
		return
	}
	d := q.ctx.dev
	if q.loop {
		d.loop.push(d, q)
		return
	}
	l := &d.ready[q.prio]
	if l.head == nil {
		d.wake(q.prio)
	}
	l.push(q)
}

// wake has the NIC told that there is something to send.
func (d *Device) wake(prio uint8) {
	d.readyMask |= 1 << prio
	if d.depth == 0 { // from a commit outside of any entry point
		d.proc.At(d.eng.Now(), d, opKick, 0)
		return
	}
	d.wantKick = true
}

func (q *QP) unready() {
	if q.list != nil {
		q.list.remove(q)
	}
}

// Sweep looks at the send queues of all queue pairs for new work requests and
// reports whether it found any. It costs one load of shared memory for each
// queue pair that is in RTS, SQD or Err.
func (d *Device) Sweep() bool {
	found := false
	d.turn++
	d.enter()
	for _, q := range d.active {
		if p := q.sq.Producer(); p != q.swept || q.attr.State == Err {
			found = q.look(p) || found
		}
	}
	d.leave()
	return found
}

// Doorbell looks at the send queue for new work requests.
func (q *QP) Doorbell() {
	if q.gone || q.attr.State < RTS {
		return
	}
	if p := q.sq.Producer(); p != q.swept || q.attr.State == Err {
		d := q.ctx.dev
		d.enter()
		q.look(p)
		d.leave()
	}
}

// look takes note of the producer index p and reports whether there is news.
func (q *QP) look(p uint32) bool {
	switch q.attr.State {
	case Err:
		if p == q.req.acked && !q.hasOwnRecv() {
			return false
		}
		q.flush()
		return true
	case SQE:
		q.flushSends()
		return true
	}
	q.swept = p
	q.makeReady()
	return true
}

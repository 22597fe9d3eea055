package hca

import "cnuas/internal/frame"

// Ready is the set of priorities that Next may have a frame for, bit n for n.
func (d *Device) Ready() uint8 { return uint8(d.readyMask) }

// lanes is how many lists of what wants to send there are: RoCE has one for
// each priority, InfiniBand one for each data VL. The last is for service levels
// that no lane serves (IBTA vol. 1 §7.6.6), and takes no part in RoCE.
const (
	lanes    = 16
	laneNone = 15
)

// lane is where packets of a priority, or of a service level, wait.
func (d *Device) lane(prio uint8) uint8 {
	if d.ib == nil {
		return prio & 7
	}
	return d.ib.lane(prio)
}

// Next hands out the next frame of a priority or lane, made at this moment; nil
// if there is none after all. Queue pairs take turns, a packet each.
func (d *Device) Next(prio int) *frame.Frame {
	prio &= lanes - 1
	d.enter()
	d.pulling = true
	f := d.own[prio].Pop()
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
	if l.head == nil && d.own[prio].Len() == 0 {
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
	lane := d.lane(q.prio)
	l := &d.ready[lane]
	if l.head == nil {
		d.wake(lane)
	}
	l.push(q)
}

// wake has the NIC told that there is something to send.
func (d *Device) wake(lane uint8) {
	d.readyMask |= 1 << lane
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

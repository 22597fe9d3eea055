package hca

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// ecn tells whether the packet has the CE mark. The bytes are looked at, not
// the layers: switches mark after parsing.
func ecn(b []byte, l3 int) bool {
	tos := b[l3+1]
	if b[l3]>>4 == 6 {
		tos >>= 4
	}
	return tos&3 == wire.ECNCE
}

// onMark is the notification point: a packet of the peer met congestion.
func (q *QP) onMark() {
	d := q.ctx.dev
	d.ctr.ECNMarked++
	if q.typ == UD {
		return // it has no peer to be told
	}
	if d.ib != nil {
		return // congestion control of InfiniBand has a manager and rules of its own
	}
	prio := d.cfg.Priority[d.cfg.CNPTrafficClass>>2]
	if q.loop || d.own[prio].Len() >= maxOwn || !q.np.Marked(d.eng.Now(), d.cfg.CNPInterval) {
		return
	}
	d.ctr.CNPSent++
	d.sendOwn(prio, q.cnp(prio))
}

// maxOwn bounds what waits in a lane that is paused, or without credits.
const maxOwn = 1024

// sendOwn sends a packet that is ready made.
func (d *Device) sendOwn(lane uint8, f *frame.Frame) {
	if d.own[lane].Len() >= maxOwn {
		d.ctr.OwnDropped++
		d.pool.Put(f)
		return
	}
	if d.own[lane].Len() == 0 {
		d.wake(lane)
	}
	d.own[lane].Push(f)
}

// cnp makes a congestion notification packet: a BTH and 16 bytes of zeros, in
// a class of its own, never marked itself (IBTA annex A17.9.3).
func (q *QP) cnp(prio uint8) *frame.Frame {
	t := &q.head
	old := *t
	t.setTOS(q.ctx.dev.cfg.CNPTrafficClass &^ 3)
	f, h := q.build(wire.CNP, 0, 0, wire.CNPReservedLen, 0)
	*t = old
	clear(h)
	wire.BTH(f.Data[old.n-wire.BTHLen:]).SetBECN(true)
	f.Meta.Priority = prio
	return f
}

func (t *template) setTOS(tos uint8) {
	ip := t.b[wire.EthernetLen:]
	if t.layers.EtherType == wire.EtherTypeIPv4 {
		t.sum += 0xffff - uint32(ip[1]) + uint32(tos)
		ip[1] = tos
	} else {
		ip[0] = 6<<4 | tos>>4
		ip[1] = ip[1]&0x0f | tos<<4
	}
	t.tos, t.layers.TOS = tos, tos
}

// onCNP takes the peer's notification.
func (q *QP) onCNP() {
	d := q.ctx.dev
	d.ctr.CNPReceived++
	if q.rp != nil {
		q.rp.Notified(d.eng.Now())
	}
}

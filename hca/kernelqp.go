package hca

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Datagram is what a DatagramQP sends and receives. When sending, Addr.GRH asks
// for a GRH; of ToGroup, GRHPresent and Addr.PKeyIndex nothing is read.
type Datagram struct {
	Addr       MADAddress
	ToGroup    bool   // received: it was sent to a multicast group
	GRHPresent bool   // received: it had a GRH, from which Addr is; always with RoCE
	Data       []byte // at most the port's MTU
}

// DatagramQP is a UD queue pair of the kernel's own, for IPoIB: what it sends is
// copied at once, what it receives is handed over at once. It has no rings. Its
// multicasts do not come back to it.
type DatagramQP struct {
	q       QP
	receive func(*Datagram)
	in      Datagram // what receive is given
}

// OpenDatagram makes a queue pair that receives what comes with qkey, from that
// moment on. receive gets what is valid during the call; it may send.
func (d *Device) OpenDatagram(qkey uint32, receive func(*Datagram)) (*DatagramQP, error) {
	k := &DatagramQP{receive: receive}
	q := &k.q
	q.ctx = &Context{dev: d}
	q.typ, q.service, q.kernel = UD, &services[UD], k
	q.block = true
	q.attr.State, q.attr.QKey = RTS, qkey
	if !d.qps.insert(q, d.keys.Uint64()) {
		return nil, ErrNoMemory
	}
	return k, nil
}

// Num is the queue pair's number.
func (k *DatagramQP) Num() uint32 { return k.q.num }

// SetKeys changes the Q_Key and, as an index into the port's table, the P_Key.
func (k *DatagramQP) SetKeys(qkey uint32, pkeyIndex uint16) {
	k.q.attr.QKey, k.q.attr.PKeyIndex = qkey, pkeyIndex
}

// Attach has the queue pair receive what is sent to a group: see QP.Attach.
func (k *DatagramQP) Attach(g GID, mlid wire.LID) error { return k.q.Attach(g, mlid) }

// Detach ends what Attach began.
func (k *DatagramQP) Detach(g GID, mlid wire.LID) error { return k.q.Detach(g, mlid) }

// Send sends a copy of m to a queue pair, or to a group if its LID or GID is
// one. ErrInvalid: the address cannot be, or there is more than the port's MTU.
func (k *DatagramQP) Send(m *Datagram) error {
	d, a := k.q.ctx.dev, &m.Addr
	if k.q.gone || len(m.Data) > int(d.datagramMTU()) {
		return ErrInvalid
	}
	d.enter()
	defer d.leave()
	t, err := d.newDestination(a.vector())
	if err != nil {
		return err
	}
	to := a.QPN
	if t.group {
		to = multicastQPN
	}
	d.sendDatagram(&t, k.q.num, to, a.QKey, d.pkey(k.q.attr.PKeyIndex), m.Data)
	d.ctr.TxDatagrams++
	return nil
}

// Close ends the queue pair.
func (k *DatagramQP) Close() {
	q := &k.q
	if q.gone {
		return
	}
	for len(q.groups) > 0 {
		q.leave(q.groups[0])
	}
	q.gone = true
	q.ctx.dev.qps.remove(q)
}

// deliver hands a datagram over. l3 is where its network header is.
func (k *DatagramQP) deliver(p *request, f *frame.Frame, l3 int) {
	d := k.q.ctx.dev
	h := wire.DETH(p.head)
	if h.QKey() != k.q.attr.QKey {
		d.badQKey(h.QKey(), f)
		d.drop(DropQKey)
		return
	}
	m := &k.in
	*m = Datagram{Data: p.pay}
	m.Addr.QPN, m.Addr.QKey, m.Addr.PKeyIndex = h.SrcQP(), h.QKey(), k.q.attr.PKeyIndex
	d.sender(&m.Addr, f, l3)
	m.GRHPresent = m.Addr.GRH
	m.ToGroup = f.Meta.IB.DLID.Multicast()
	if d.ib == nil {
		g := destinationGID(f.Data, l3)
		m.ToGroup = g.IsMulticast()
	}
	d.ctr.RxDatagrams++
	k.receive(m)
	m.Data = nil
}

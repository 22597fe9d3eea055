package hca

import (
	"cnuas/hca/ring"
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Datagram is what a DatagramQP sends and receives.
type Datagram struct {
	Addr    MADAddress
	ToGroup bool   // it was sent to a multicast group
	Data    []byte // at most the port's MTU
}

// DatagramQP is a UD queue pair of the kernel's own, for IPoIB: what it sends is
// copied at once, what it receives is handed over at once. It has no rings.
type DatagramQP struct {
	q       QP
	receive func(*Datagram)
}

// OpenDatagram makes a queue pair that receives what comes with qkey, from the
// moment on. receive gets what is valid during the call; it may send.
func (d *Device) OpenDatagram(qkey uint32, receive func(*Datagram)) (*DatagramQP, error) {
	k := &DatagramQP{receive: receive}
	q := &k.q
	q.ctx = &Context{dev: d}
	q.typ, q.service, q.kernel = UD, &services[UD], k
	q.mtu = 4096
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

// Attach has the queue pair receive what is sent to a group.
func (k *DatagramQP) Attach(g GID) error { return k.q.Attach(g) }

// Detach ends what Attach began.
func (k *DatagramQP) Detach(g GID) error { return k.q.Detach(g) }

// Send sends a copy of m to a queue pair, or to a group if its LID or GID is
// one. ErrInvalid: the address cannot be, or there is more than the port's MTU.
func (k *DatagramQP) Send(m *Datagram) error {
	d, a := k.q.ctx.dev, &m.Addr
	if k.q.gone || len(m.Data) > 128<<d.ActiveMTU() {
		return ErrInvalid
	}
	d.enter()
	defer d.leave()
	av := AddressVector{SGIDIndex: a.SGIDIndex, DGID: a.GID, TrafficClass: a.TrafficClass, HopLimit: a.HopLimit, FlowLabel: a.FlowLabel,
		SL: a.SL, DLID: a.LID, PathBits: a.PathBits, Global: a.GRH, DMAC: a.MAC}
	t, err := d.newDestination(&av)
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

// deliver hands a datagram over.
func (k *DatagramQP) deliver(p *request, f *frame.Frame, grh []byte) {
	d := k.q.ctx.dev
	h := wire.DETH(p.head)
	m := Datagram{Data: p.pay}
	a := &m.Addr
	a.QPN, a.QKey, a.PKeyIndex = h.SrcQP(), h.QKey(), k.q.attr.PKeyIndex
	if d.ib != nil {
		var e ring.CQE
		d.from(&e, &k.q, f)
		a.LID, a.SL, a.PathBits = wire.LID(e.SLID), e.SL, e.PathBits
		m.ToGroup = f.Meta.IB.DLID.Multicast()
	}
	if grh != nil {
		g := wire.GRH(grh)
		a.GRH = true
		if grh[0]>>4 == 6 {
			a.GID, a.FlowLabel, a.TrafficClass, a.HopLimit = GID(g.SGID()), g.FlowLabel(), g.TClass(), grh[7]
		}
	}
	d.ctr.RxDatagrams++
	k.receive(&m)
}

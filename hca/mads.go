package hca

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibagent"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Read IBTA vol. 1 §13.5 before editing; for RoCE, annex A17.9.

// MADAddress says where a MAD goes, or where it came from.
type MADAddress struct {
	QPN  uint32 // destination when sending, source when received
	QKey uint32

	LID       wire.LID // the peer's; permissive: a directed route only. 0 with RoCE
	SL        uint8
	PathBits  uint8 // of the port's own LID
	PKeyIndex uint16

	GRH          bool // the next fields are meant; always with RoCE
	SGIDIndex    uint8
	GID          GID // the peer's
	FlowLabel    uint32
	TrafficClass uint8
	HopLimit     uint8

	MAC [6]byte // RoCE: next hop when sending, source when received
}

// MADSink takes the MADs of a port that the agents of the adapter do not answer
// themselves.
type MADSink interface {
	// ReceiveMAD takes a MAD that came to QP0 or QP1 of the port. m and from are
	// valid during the call.
	ReceiveMAD(qp uint32, from *MADAddress, m mad.Packet)
}

// SetMADSink attaches who takes the port's MADs; nil: nobody.
func (d *Device) SetMADSink(s MADSink) { d.mads = s }

// SendMAD sends a copy of a MAD of 256 bytes from QP0 or QP1 of the port; RoCE
// has no QP0. A directed-route SMP has hop pointer 0, or is a response. What
// cannot leave is lost, as it is on the way. ErrInvalid: no such queue pair,
// length or address. ErrNoGID: the source GID index is empty.
func (d *Device) SendMAD(qp uint32, to *MADAddress, m []byte) error {
	if len(m) != mad.PacketLen || qp > wire.QP1 {
		return ErrInvalid
	}
	d.enter()
	defer d.leave()
	if d.ib == nil {
		return d.sendGMP(qp, to, m)
	}
	smp := qp == wire.QP0
	if to.LID == 0 || int(to.PKeyIndex) >= len(d.PKeys()) {
		return ErrInvalid
	}
	d.ctr.MADsSent++
	f, p := ibagent.NewMAD(d.pool, smp)
	copy(p, m)
	src := wire.LID(wire.LIDPermissive)
	if to.LID != wire.LIDPermissive && d.ib.port.LID() != 0 {
		src = d.ib.source(to.PathBits)
	}
	ibagent.Address(f, src, to.LID, to.SL)
	if !smp {
		bth := wire.BTH(f.Data[f.Meta.IB.BTH:])
		bth.SetDestQP(to.QPN)
		bth.SetPKey(d.pkey(to.PKeyIndex))
		wire.DETH(bth.Payload()).Encode(to.QKey, wire.QP1)
	}
	d.ib.ca.agent.Send(d.PortNum(), f)
	return nil
}

// sendGMP sends a MAD over RoCE: a datagram of QP1.
func (d *Device) sendGMP(qp uint32, to *MADAddress, m []byte) error {
	if qp != wire.QP1 {
		return ErrInvalid
	}
	av := AddressVector{SGIDIndex: to.SGIDIndex, DGID: to.GID, TrafficClass: to.TrafficClass, HopLimit: to.HopLimit,
		FlowLabel: to.FlowLabel, DMAC: to.MAC}
	t, err := d.newDestination(&av)
	if err != nil {
		return err
	}
	d.ctr.MADsSent++
	d.sendDatagram(&t, wire.QP1, to.QPN, to.QKey, wire.DefaultPKey, m)
	return nil
}

// sendDatagram sends a datagram of the kernel's, or of a management queue pair.
func (d *Device) sendDatagram(t *destination, from, to, qkey uint32, pkey uint16, b []byte) {
	f, h := d.build(&t.head, t.prio, wire.UDSendOnly, 0, 0, wire.DETHLen, len(b))
	s := d.pool.GetSlab()
	f.SetPayload(s.B[:copy(s.B, b)], s)
	s.Release()
	bth := wire.BTH(f.Data[t.head.n-wire.BTHLen:])
	bth.SetDestQP(to)
	bth.SetPKey(pkey)
	if d.ib == nil {
		l4 := t.head.n - wire.BTHLen - wire.UDPLen
		be.PutUint16(f.Data[l4:], sourcePort(t.flow, from, to))
		f.Meta.Layers.SrcPort = sourcePort(t.flow, from, to)
	}
	wire.DETH(h).Encode(qkey, from)
	if t.group {
		d.echo(f, t)
	}
	if t.loop {
		if d.loop.echoes.Len() >= maxEchoes {
			d.ctr.OwnDropped++
			d.pool.Put(f)
			return
		}
		d.loop.echoes.Push(f)
		d.loop.start(d)
		return
	}
	d.sendOwn(d.lane(t.prio), f)
}

// onMAD takes a datagram to QP1 of a RoCE port.
func (d *Device) onMAD(f *frame.Frame, k *packet) bool {
	const n = wire.DETHLen
	if wire.Opcode(k.bth[0]) != wire.UDSendOnly || len(k.body) < n {
		return d.drop(DropMalformed)
	}
	h, pay := wire.DETH(k.body), k.body[n:]
	if len(f.Pay) > 0 {
		pay = f.Pay
	}
	if len(pay) != mad.PacketLen {
		return d.drop(DropMalformed)
	}
	if h.QKey() != wire.QP1QKey {
		return d.drop(DropQKey)
	}
	dst := destinationGID(f.Data, k.l3)
	if !d.hasGID(dst) {
		return d.drop(DropAddress)
	}
	if d.mads == nil {
		return d.drop(DropNoQP)
	}
	d.ctr.MADsReceived++
	a := MADAddress{QPN: h.SrcQP(), QKey: h.QKey(), GRH: true, MAC: [6]byte(f.Data[6:12])}
	if f.Data[k.l3]>>4 == 6 {
		ip := wire.IPv6(f.Data[k.l3:])
		a.GID, a.FlowLabel, a.TrafficClass, a.HopLimit = GID(f.Data[k.l3+8:k.l3+24]), ip.FlowLabel(), ip.TrafficClass(), f.Data[k.l3+7]
	} else {
		a.GID[10], a.GID[11] = 0xff, 0xff
		copy(a.GID[12:], f.Data[k.l3+12:k.l3+16])
		a.TrafficClass, a.HopLimit = f.Data[k.l3+1], f.Data[k.l3+8]
	}
	for i := range d.gids[:d.nGID] {
		if d.gids[i].Valid && d.gids[i].GID == dst {
			a.SGIDIndex = uint8(i)
			break
		}
	}
	d.mads.ReceiveMAD(wire.QP1, &a, mad.Packet(pay))
	return false
}

// ReceiveMAD implements ibagent.Client.
func (c *CA) ReceiveMAD(port int, f *frame.Frame) {
	d := c.Device(port)
	m := &f.Meta.IB
	off := int(m.BTH) + wire.BTHLen
	if d == nil || d.mads == nil || m.BTH == 0 || len(f.Data) < off+wire.DETHLen+mad.PacketLen {
		c.pool.Put(f)
		return
	}
	h := wire.DETH(f.Data[off:])
	a := MADAddress{QPN: h.SrcQP(), QKey: h.QKey(), LID: m.SLID, SL: m.SL}
	if m.DLID != wire.LIDPermissive && !m.DLID.Multicast() {
		a.PathBits = uint8(m.DLID & (1<<d.ib.port.LMC() - 1))
	}
	qp := uint32(wire.QP0)
	if m.VL != wire.VL15 {
		qp = wire.QP1
		key := wire.BTH(f.Data[m.BTH:]).PKey()
		for i, k := range d.PKeys() {
			if k == key {
				a.PKeyIndex = uint16(i)
				break
			}
		}
	}
	if m.Flags&frame.IBGlobal != 0 {
		g := wire.GRH(f.Data[wire.LRHLen:]).Fields()
		a.GRH, a.GID, a.FlowLabel, a.TrafficClass, a.HopLimit = true, GID(g.SGID), g.FlowLabel, g.TClass, g.HopLmt
	}
	d.ctr.MADsReceived++
	off += wire.DETHLen
	d.enter()
	d.mads.ReceiveMAD(qp, &a, mad.Packet(f.Data[off:off+mad.PacketLen]))
	d.leave()
	c.pool.Put(f)
}

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
	if qp == wire.QP0 {
		return d.sendSMP(to, m)
	}
	if int(to.PKeyIndex) >= len(d.PKeys()) {
		return ErrInvalid
	}
	t, err := d.newDestination(to.vector())
	if err != nil {
		return err
	}
	d.ctr.MADsSent++
	d.ib.ca.agent.Send(d.PortNum(), d.ownDatagram(&t, wire.QP1, to.QPN, to.QKey, d.pkey(to.PKeyIndex), m))
	return nil
}

// vector is the address without the queue pair.
func (a *MADAddress) vector() *AddressVector {
	return &AddressVector{SGIDIndex: a.SGIDIndex, DGID: a.GID, TrafficClass: a.TrafficClass, HopLimit: a.HopLimit, FlowLabel: a.FlowLabel,
		SL: a.SL, DLID: a.LID, PathBits: a.PathBits, Global: a.GRH, DMAC: a.MAC}
}

// sendSMP sends a MAD from QP0, which knows neither GRH nor P_Key.
func (d *Device) sendSMP(to *MADAddress, m []byte) error {
	if to.LID == 0 || to.LID.Multicast() {
		return ErrInvalid
	}
	d.ctr.MADsSent++
	f, p := ibagent.NewMAD(d.pool, true)
	copy(p, m)
	src := wire.LID(wire.LIDPermissive)
	if to.LID != wire.LIDPermissive && d.ib.port.LID() != 0 {
		src = d.ib.source(to.PathBits)
	}
	ibagent.Address(f, src, to.LID, to.SL)
	d.ib.ca.agent.Send(d.PortNum(), f)
	return nil
}

// sendGMP sends a MAD over RoCE: a datagram of QP1.
func (d *Device) sendGMP(qp uint32, to *MADAddress, m []byte) error {
	if qp != wire.QP1 {
		return ErrInvalid
	}
	t, err := d.newDestination(to.vector())
	if err != nil {
		return err
	}
	d.ctr.MADsSent++
	d.sendDatagram(&t, wire.QP1, to.QPN, to.QKey, wire.DefaultPKey, m)
	return nil
}

// ownDatagram makes a datagram of a queue pair without rings, in one piece.
func (d *Device) ownDatagram(t *destination, from, to, qkey uint32, pkey uint16, b []byte) *frame.Frame {
	f, h := d.build(&t.head, t.prio, wire.UDSendOnly, 0, 0, wire.DETHLen, len(b))
	wire.DETH(h).Encode(qkey, from)
	head := f.Data
	n := copy(f.Buf(len(head)+len(b)), head)
	copy(f.Data[n:], b)
	f.Meta.Parsed = true // the headers are the same
	bth := wire.BTH(f.Data[t.head.n-wire.BTHLen:])
	bth.SetDestQP(to)
	bth.SetPKey(pkey)
	if d.ib == nil {
		l4 := t.head.n - wire.BTHLen - wire.UDPLen
		be.PutUint16(f.Data[l4:], sourcePort(t.flow, from, to))
		f.Meta.Layers.SrcPort = sourcePort(t.flow, from, to)
	}
	return f
}

// sendDatagram sends such a datagram. What cannot wait is lost.
func (d *Device) sendDatagram(t *destination, from, to, qkey uint32, pkey uint16, b []byte) {
	f := d.ownDatagram(t, from, to, qkey, pkey, b)
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

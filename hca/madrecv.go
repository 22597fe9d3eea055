package hca

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

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
	a := MADAddress{QPN: h.SrcQP(), QKey: h.QKey()}
	d.sender(&a, f, k.l3)
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
	a := MADAddress{QPN: h.SrcQP(), QKey: h.QKey()}
	l3 := 0
	if m.Flags&frame.IBGlobal != 0 {
		l3 = wire.LRHLen
	}
	d.sender(&a, f, l3)
	qp := uint32(wire.QP0)
	if m.VL != wire.VL15 {
		qp = wire.QP1
		a.PKeyIndex = d.pkeyIndex(wire.BTH(f.Data[m.BTH:]).PKey())
	}
	d.ctr.MADsReceived++
	off += wire.DETHLen
	d.enter()
	d.mads.ReceiveMAD(qp, &a, mad.Packet(f.Data[off:off+mad.PacketLen]))
	d.leave()
	c.pool.Put(f)
}

// sender fills in where a datagram came from. l3 is where its network header
// is; 0: there is none.
func (d *Device) sender(a *MADAddress, f *frame.Frame, l3 int) {
	var dst GID
	b := f.Data
	if d.ib != nil {
		m := &f.Meta.IB
		a.LID, a.SL = m.SLID, m.SL
		a.PathBits = d.pathBits(m.DLID)
		if l3 == 0 {
			return
		}
	} else {
		a.MAC = [6]byte(b[6:12])
	}
	a.GRH = true
	if b[l3]>>4 == 6 {
		g := wire.GRH(b[l3:])
		a.GID, a.FlowLabel, a.TrafficClass, a.HopLimit = GID(g.SGID()), g.FlowLabel(), g.TClass(), g.HopLmt()
	} else {
		a.GID = GID{10: 0xff, 11: 0xff}
		copy(a.GID[12:], b[l3+12:l3+16])
		a.TrafficClass, a.HopLimit = b[l3+1], b[l3+8]
	}
	dst = destinationGID(b, l3)
	for i := range d.gids[:d.nGID] {
		if d.gids[i].Valid && d.gids[i].GID == dst {
			a.SGIDIndex = uint8(i)
			return
		}
	}
}

// pkeyIndex is where a packet's P_Key is in the table: the entry that is the
// same, else one that lets it pass, else the first.
func (d *Device) pkeyIndex(k uint16) uint16 {
	at := uint16(0)
	t := d.PKeys()
	for i := len(t) - 1; i >= 0; i-- {
		if t[i] == k {
			return uint16(i)
		}
		if ibport.MatchPKey(t[i], k) {
			at = uint16(i)
		}
	}
	return at
}

package ibagent

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// madOffset is where the MAD is in a packet without GRH.
const madOffset = wire.LRHLen + wire.BTHLen + wire.DETHLen

// packetMAD is the MAD in a UD packet, nil if there is none that is whole and
// in one piece with the headers.
func packetMAD(f *frame.Frame) mad.Packet {
	m := &f.Meta.IB
	if m.BTH == 0 || wire.BTH(f.Data[m.BTH:]).Opcode() != wire.UDSendOnly {
		return nil
	}
	off := int(m.BTH) + wire.BTHLen + wire.DETHLen
	if len(f.Data) < off {
		return nil
	}
	if len(f.Data) < off+mad.PacketLen && len(f.Pay) >= mad.PacketLen {
		join(f)
	}
	if len(f.Data) < off+mad.PacketLen {
		return nil
	}
	return mad.Packet(f.Data[off : off+mad.PacketLen])
}

// join puts a payload that lies elsewhere behind the headers, where it can be
// written to.
func join(f *frame.Frame) {
	var head [frame.HeadLen]byte
	n := copy(head[:], f.Data)
	if n < len(f.Data) {
		return
	}
	pay := f.Pay
	b := f.Buf(n + len(pay))
	copy(b, head[:n])
	copy(b[n:], pay)
	f.Pay = nil
	f.Meta.Parsed = true // the headers are the same
}

// NewMAD returns a packet with room for a MAD, all of it zero: on VL15 to QP0 if
// sm, else to QP1 with its Q_Key. Addresses are for the caller to set, by
// Address.
func NewMAD(pool *frame.Pool, sm bool) (*frame.Frame, mad.Packet) {
	f := pool.Get()
	b := f.Buf(madOffset + mad.PacketLen)
	clear(b)
	h := wire.LRHFields{LNH: wire.LNHBTH, PktLen: (len(b) + wire.ICRCLen) / 4}
	t := wire.BTHFields{Opcode: wire.UDSendOnly, MigReq: true, PKey: wire.DefaultPKey}
	qkey, qp := uint32(0), uint32(wire.QP0)
	if sm {
		h.VL = wire.VL15
	} else {
		qkey, qp = wire.QP1QKey, wire.QP1
	}
	t.DestQP = qp
	h.Encode(b)
	t.Encode(b[wire.LRHLen:])
	wire.DETH(b[wire.LRHLen+wire.BTHLen:]).Encode(qkey, qp)
	f.Meta.ICRCDeferred = true
	f.WireLenIB()
	f.ParseIB()
	return f, mad.Packet(b[madOffset:])
}

// Address sets where a packet comes from and goes to.
func Address(f *frame.Frame, slid, dlid wire.LID, sl uint8) {
	h := wire.LRH(f.Data)
	h.SetSLID(slid)
	h.SetDLID(dlid)
	h.SetSL(sl)
	m := &f.Meta.IB
	m.SLID, m.DLID, m.SL = slid, dlid, sl
}

// turn makes the packet of a request that of its response: back to where it
// came from.
func turn(f *frame.Frame, p *ibport.Port) {
	m := &f.Meta.IB
	from := m.DLID
	if !p.HasLID(from) {
		from = lidOf(p)
	}
	Address(f, from, m.SLID, m.SL)
	if m.Flags&frame.IBGlobal != 0 {
		g := wire.GRH(f.Data[wire.LRHLen:]).Fields()
		g.SGID, g.DGID, g.HopLmt = wire.MakeGID(p.Prefix(), p.GUID()), g.SGID, 64
		g.Encode(wire.GRH(f.Data[wire.LRHLen:]))
	}
	t := wire.BTH(f.Data[m.BTH:])
	d := wire.DETH(f.Data[int(m.BTH)+wire.BTHLen:])
	dest := t.DestQP()
	t.SetFECN(false)
	t.SetBECN(false)
	t.SetDestQP(d.SrcQP())
	qkey := d.QKey()
	d.Encode(qkey, dest)
}

// lidOf is a port's LID, or the permissive one if it has none.
func lidOf(p *ibport.Port) wire.LID {
	if l := p.LID(); l != 0 {
		return l
	}
	return wire.LIDPermissive
}

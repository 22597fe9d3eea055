package ibtest

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Packet describes a packet of the RC service: SEND middle, so that nothing is
// between BTH and payload.
type Packet struct {
	SLID, DLID wire.LID
	SL         uint8
	PKey       uint16 // 0: the default
	Payload    int    // bytes
	PSN        uint32
}

var zeros [4096]byte

// Make returns the packet; its payload is not its own.
func (k *Packet) Make(pool *frame.Pool) *frame.Frame {
	f := pool.Get()
	b := f.Head(wire.LRHLen + wire.BTHLen)
	pad := -k.Payload & 3
	words := (len(b) + k.Payload + pad + wire.ICRCLen) / 4
	h := wire.LRHFields{SL: k.SL, LNH: wire.LNHBTH, DLID: k.DLID, SLID: k.SLID, PktLen: words}
	h.Encode(b)
	t := wire.BTHFields{Opcode: wire.RCSendMiddle, PKey: k.PKey, Pad: uint8(pad), DestQP: 0x123, PSN: k.PSN}
	if t.PKey == 0 {
		t.PKey = wire.DefaultPKey
	}
	t.Encode(b[wire.LRHLen:])
	f.SetPayload(zeros[:k.Payload], nil)
	f.Meta.ICRCDeferred, f.Meta.Pad = true, uint8(pad)
	f.WireLenIB()
	if !f.ParseIB() {
		panic("ibtest: malformed packet")
	}
	k.PSN = (k.PSN + 1) & wire.PSNMask
	return f
}

// Len is the length of the packet from LRH to VCRC.
func (k *Packet) Len() int {
	return wire.LRHLen + wire.BTHLen + (k.Payload+3)&^3 + wire.ICRCLen + wire.VCRCLen
}

// MADHeaderLen is what is in front of a MAD in a packet without GRH.
const MADHeaderLen = wire.LRHLen + wire.BTHLen + wire.DETHLen

// NewMAD returns a packet with a MAD: on VL15 to QP0 if its class is subnet
// management, else to QP1.
func NewMAD(pool *frame.Pool, slid, dlid wire.LID, sl uint8, m mad.Packet) *frame.Frame {
	f := pool.Get()
	b := f.Buf(MADHeaderLen + mad.PacketLen)
	h := wire.LRHFields{SL: sl, LNH: wire.LNHBTH, DLID: dlid, SLID: slid, PktLen: (len(b) + wire.ICRCLen) / 4}
	t := wire.BTHFields{Opcode: wire.UDSendOnly, PKey: wire.DefaultPKey, DestQP: wire.QP1}
	src := uint32(wire.QP1)
	if m.Class().Subn() {
		h.VL, t.DestQP, src = wire.VL15, wire.QP0, wire.QP0
	}
	h.Encode(b)
	t.Encode(b[wire.LRHLen:])
	wire.DETH(b[wire.LRHLen+wire.BTHLen:]).Encode(m.Class().QKey(), src)
	copy(b[MADHeaderLen:], m)
	f.Meta.ICRCDeferred = true
	f.WireLenIB()
	if !f.ParseIB() {
		panic("ibtest: malformed MAD")
	}
	return f
}

// MAD returns the MAD in a packet to QP0 or QP1, nil if there is none.
func MAD(f *frame.Frame) mad.Packet {
	m := &f.Meta.IB
	if m.BTH == 0 {
		return nil
	}
	t := wire.BTH(f.Data[m.BTH:])
	if t.Opcode() != wire.UDSendOnly || t.DestQP() > wire.QP1 {
		return nil
	}
	b := mad.Packet(f.Data[int(m.BTH)+wire.BTHLen+wire.DETHLen:])
	if !b.Valid() {
		return nil
	}
	return b[:mad.PacketLen]
}

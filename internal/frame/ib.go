package frame

import "cnuas/internal/wire"

// IBFlags say what kind of InfiniBand packet a frame is.
type IBFlags uint8

// Flags of IB.
const (
	IBLink   IBFlags = 1 << iota // a flow control packet
	IBSMP                        // UD to QP0
	IBGlobal                     // there is a GRH
	IBRaw                        // not an IBA transport
	IBMarked                     // the present device set FECN
)

// IB is what forwarding and queueing need of a native InfiniBand packet; the
// counterpart of Layers, and as small as it can be, since every frame has room
// for both.
type IB struct {
	DLID, SLID wire.LID
	Blocks     uint16 // credits that the packet costs: units of 64 bytes (IBTA vol. 1 §7.9.4)
	VL, SL     uint8
	InVL       uint8 // VL by which the present device received it
	BTH        uint8 // offset of the BTH; 0: none
	Flags      IBFlags
}

// ParseIB fills Meta.IB if that has not been done since the headers changed. It
// reports false for what is not an InfiniBand packet of the length that its LRH
// says.
func (f *Frame) ParseIB() bool {
	if f.Meta.Parsed {
		return true
	}
	var l wire.IBLayers
	if !l.Parse(f.Data) || l.WireLen() != int(f.Len) {
		return false
	}
	m := &f.Meta.IB
	*m = IB{DLID: l.DLID, SLID: l.SLID, Blocks: uint16(wire.FlowBlocks(int(f.Len))), VL: l.VL, SL: l.SL, BTH: l.BTH}
	if l.SMP {
		m.Flags |= IBSMP
	}
	if l.Global {
		m.Flags |= IBGlobal
	}
	if l.Raw {
		m.Flags |= IBRaw
	}
	f.Meta.Parsed = true
	return true
}

// WireLenIB sets Len from the bytes that the packet will have when
// materialised, VCRC included; it has its ICRC, or that is deferred.
func (f *Frame) WireLenIB() {
	n := len(f.Data) + len(f.Pay) + wire.VCRCLen
	if f.Meta.ICRCDeferred {
		n += int(f.Meta.Pad) + wire.ICRCLen
	}
	f.Len = int32(n)
}

// SetVL changes the virtual lane of a parsed packet, in its LRH as well.
func (f *Frame) SetVL(vl uint8) {
	f.Meta.IB.VL = vl
	wire.LRH(f.Data).SetVL(vl)
}

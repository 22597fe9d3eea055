package wire

import "encoding/binary"

// FlowLen is the length of a flow control packet in bytes.
const FlowLen = 6

// FlowOp is the Op of a flow control packet (IBTA vol. 1 §7.9.4.1).
type FlowOp uint8

// Operations. FlowInit is sent while the port is in the state Init.
const (
	FlowNormal FlowOp = 0
	FlowInit   FlowOp = 1
)

// Flow is a view of a flow control packet (IBTA vol. 1 §7.9.4). There are none
// for VL15.
//
//	 0             1             2             3
//	+------+--------------------+------+--------------------+
//	|  Op  |       FCTBS        |  VL  |        FCCL        |
//	+------+--------------------+------+--------------------+
//	|           LPCRC           |
//	+---------------------------+
type Flow []byte

// Valid reports whether f holds a whole packet.
func (f Flow) Valid() bool { return len(f) >= FlowLen }

// Op tells initialisation from normal operation.
func (f Flow) Op() FlowOp { return FlowOp(f[0] >> 4) }

// FCTBS is the number of blocks that were sent on the lane, modulo FlowModulo.
func (f Flow) FCTBS() uint16 { return binary.BigEndian.Uint16(f) & 0xfff }

// VL is the lane.
func (f Flow) VL() uint8 { return f[2] >> 4 }

// FCCL is how far the other side may send, modulo FlowModulo.
func (f Flow) FCCL() uint16 { return binary.BigEndian.Uint16(f[2:]) & 0xfff }

// LPCRC is the CRC over the four bytes in front of it.
func (f Flow) LPCRC() uint16 { return binary.LittleEndian.Uint16(f[4:]) }

// Intact tells whether the CRC is right.
func (f Flow) Intact() bool { return f.LPCRC() == VCRC(f[:4]) }

// FlowFields are the contents of a flow control packet.
type FlowFields struct {
	Op    FlowOp
	VL    uint8
	FCTBS uint16 // 12 bits
	FCCL  uint16 // 12 bits
}

// Encode writes the packet, CRC included; b has at least FlowLen bytes.
func (f *FlowFields) Encode(b Flow) {
	binary.BigEndian.PutUint16(b, uint16(f.Op)<<12|f.FCTBS&0xfff)
	binary.BigEndian.PutUint16(b[2:], uint16(f.VL)<<12|f.FCCL&0xfff)
	binary.LittleEndian.PutUint16(b[4:], VCRC(b[:4]))
}

// Fields returns the contents of the packet.
func (f Flow) Fields() FlowFields {
	return FlowFields{Op: f.Op(), VL: f.VL(), FCTBS: f.FCTBS(), FCCL: f.FCCL()}
}

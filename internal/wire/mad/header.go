package mad

import (
	"encoding/binary"

	"cnuas/internal/wire"
)

// Lengths in bytes.
const (
	PacketLen = 256 // of every MAD
	HeaderLen = 24  // of the common header
)

// Packet is a view of a whole MAD, of which only the common header is known
// (IBTA vol. 1 §13.4.2).
//
//	 0             1             2             3
//	+-------------+-------------+-------------+-------------+
//	| BaseVersion |  MgmtClass  | ClassVersion|R|   Method  |
//	+-------------+-------------+-------------+-------------+
//	|          Status           |      class specific       |
//	+---------------------------+---------------------------+
//	|                 TransactionID (64 bits)               |
//	+---------------------------+---------------------------+
//	|        AttributeID        |         reserved          |
//	+---------------------------+---------------------------+
//	|                   AttributeModifier                   |
//	+-------------------------------------------------------+
type Packet []byte

// Valid reports whether p holds a whole MAD. After that no accessor panics.
func (p Packet) Valid() bool { return len(p) >= PacketLen }

// BaseVersion is 1.
func (p Packet) BaseVersion() uint8 { return p[0] }

// Class is the management class.
func (p Packet) Class() Class { return Class(p[1]) }

// ClassVersion is the version of the class.
func (p Packet) ClassVersion() uint8 { return p[2] }

// Method says what is asked.
func (p Packet) Method() Method { return Method(p[3]) }

// SetMethod sets the method.
func (p Packet) SetMethod(m Method) { p[3] = byte(m) }

// Status is the status, without the direction bit of a directed-route SMP.
func (p Packet) Status() Status {
	s := Status(binary.BigEndian.Uint16(p[4:]))
	if p.Class() == ClassSubnDirected {
		s &= 0x7fff
	}
	return s
}

// SetStatus sets the status and leaves the direction bit of a directed-route
// SMP as it is.
func (p Packet) SetStatus(s Status) {
	if p.Class() == ClassSubnDirected {
		s = s&0x7fff | Status(p[4]&0x80)<<8
	}
	binary.BigEndian.PutUint16(p[4:], uint16(s))
}

// TID is the transaction ID, which a response repeats.
func (p Packet) TID() uint64 { return binary.BigEndian.Uint64(p[8:]) }

// SetTID sets the transaction ID.
func (p Packet) SetTID(v uint64) { binary.BigEndian.PutUint64(p[8:], v) }

// Attr is the attribute.
func (p Packet) Attr() AttrID { return AttrID(binary.BigEndian.Uint16(p[16:])) }

// SetAttr sets the attribute.
func (p Packet) SetAttr(a AttrID) { binary.BigEndian.PutUint16(p[16:], uint16(a)) }

// Modifier is the attribute modifier: which port, which block.
func (p Packet) Modifier() uint32 { return binary.BigEndian.Uint32(p[20:]) }

// SetModifier sets the attribute modifier.
func (p Packet) SetModifier(v uint32) { binary.BigEndian.PutUint32(p[20:], v) }

// Data is what the class has for attributes: behind all headers of the class.
func (p Packet) Data() []byte {
	switch c := p.Class(); {
	case c.Subn():
		return p[64:128]
	case c == ClassSubnAdm:
		return p[56:PacketLen]
	case c == ClassPerf, c == ClassCongestion && p.Attr() != AttrCongestionLog, c == ClassBoard, c == ClassDevice, c == ClassBootMgt:
		return p[64:PacketLen]
	case c == ClassCongestion:
		return p[32:PacketLen]
	case c.HasOUI():
		return p[40:PacketLen]
	case c.HasRMPP():
		return p[36:PacketLen]
	}
	return p[HeaderLen:PacketLen]
}

// Header are the contents of the common header, for building a MAD.
type Header struct {
	Class    Class
	Version  uint8 // 0: that of Class.Version
	Method   Method
	Status   Status // in a directed-route SMP with the direction bit
	TID      uint64
	Attr     AttrID
	Modifier uint32
}

// Encode clears the whole MAD and writes the header; p has PacketLen bytes.
func (h *Header) Encode(p Packet) {
	clear(p[:PacketLen])
	p[0], p[1], p[2], p[3] = BaseVersion, byte(h.Class), h.Version, byte(h.Method)
	if h.Version == 0 {
		p[2] = h.Class.Version()
	}
	binary.BigEndian.PutUint16(p[4:], uint16(h.Status))
	p.SetTID(h.TID)
	p.SetAttr(h.Attr)
	p.SetModifier(h.Modifier)
}

// Header returns the contents of the common header.
func (p Packet) Header() Header {
	return Header{Class: p.Class(), Version: p.ClassVersion(), Method: p.Method(), Status: Status(binary.BigEndian.Uint16(p[4:])),
		TID: p.TID(), Attr: p.Attr(), Modifier: p.Modifier()}
}

// QKey is the Q_Key of the queue pair that MADs of the class go to: 0 for SMPs
// (IBTA vol. 1 §13.5.3.4).
func (c Class) QKey() uint32 {
	if c.Subn() {
		return 0
	}
	return wire.QP1QKey
}

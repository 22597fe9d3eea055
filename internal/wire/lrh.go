package wire

import "encoding/binary"

// Lengths of InfiniBand headers and trailers in bytes.
const (
	LRHLen    = 8
	GRHLen    = 40
	RWHLen    = 4
	RDETHLen  = 4
	XRCETHLen = 4
	VCRCLen   = 2
)

// LNH says what follows a LRH (IBTA vol. 1 §7.7.5).
type LNH uint8

// Link next headers.
const (
	LNHRaw  LNH = 0 // RWH: EtherType
	LNHIPv6 LNH = 1 // raw IPv6
	LNHBTH  LNH = 2 // IBA local
	LNHGRH  LNH = 3 // IBA global
)

// LRH is a view of a local route header, the first of every InfiniBand packet
// (IBTA vol. 1 §7.7).
//
//	 0             1             2             3
//	+------+------+------+--+---+---------------------------+
//	|  VL  | LVer |  SL  |r2|LNH|   Destination Local ID    |
//	+------+------+------+--+---+---------------------------+
//	| resv5 |  Packet Length    |      Source Local ID      |
//	+-------+-------------------+---------------------------+
type LRH []byte

// Valid reports whether h holds a whole header. After that no accessor panics.
func (h LRH) Valid() bool { return len(h) >= LRHLen }

// VL is the virtual lane; it changes from hop to hop.
func (h LRH) VL() uint8 { return h[0] >> 4 }

// SetVL sets the virtual lane.
func (h LRH) SetVL(v uint8) { h[0] = h[0]&0x0f | v<<4 }

// LVer is the link version; 0 is the only one there is.
func (h LRH) LVer() uint8 { return h[0] & 0x0f }

// SL is the service level.
func (h LRH) SL() uint8 { return h[1] >> 4 }

// SetSL sets the service level.
func (h LRH) SetSL(v uint8) { h[1] = h[1]&0x0f | v<<4 }

// LNH says what follows.
func (h LRH) LNH() LNH { return LNH(h[1] & 3) }

// DLID is the destination.
func (h LRH) DLID() LID { return LID(binary.BigEndian.Uint16(h[2:])) }

// SetDLID sets the destination.
func (h LRH) SetDLID(l LID) { binary.BigEndian.PutUint16(h[2:], uint16(l)) }

// PktLen is the length in words of 4 bytes, from the first byte of the LRH to
// the last in front of the VCRC (IBTA vol. 1 §7.7.8).
func (h LRH) PktLen() int { return int(binary.BigEndian.Uint16(h[4:]) & 0x7ff) }

// SetPktLen sets the length in words.
func (h LRH) SetPktLen(n int) {
	binary.BigEndian.PutUint16(h[4:], binary.BigEndian.Uint16(h[4:])&0xf800|uint16(n)&0x7ff)
}

// WireLen is the length in bytes from the LRH to the VCRC.
func (h LRH) WireLen() int { return 4*h.PktLen() + VCRCLen }

// SLID is the source.
func (h LRH) SLID() LID { return LID(binary.BigEndian.Uint16(h[6:])) }

// SetSLID sets the source.
func (h LRH) SetSLID(l LID) { binary.BigEndian.PutUint16(h[6:], uint16(l)) }

// LRHFields are the contents of a LRH, for building a whole one.
type LRHFields struct {
	VL, LVer, SL uint8 // 4 bits each
	LNH          LNH
	DLID         LID
	PktLen       int // words of 4 bytes, 11 bits
	SLID         LID
}

// Encode writes the header into h, of at least LRHLen bytes. Reserved bits
// become 0.
func (f *LRHFields) Encode(h LRH) {
	h[0], h[1] = f.VL<<4|f.LVer&15, f.SL<<4|byte(f.LNH&3)
	h.SetDLID(f.DLID)
	binary.BigEndian.PutUint16(h[4:], uint16(f.PktLen)&0x7ff)
	h.SetSLID(f.SLID)
}

// Fields returns the contents of the header.
func (h LRH) Fields() LRHFields {
	return LRHFields{VL: h.VL(), LVer: h.LVer(), SL: h.SL(), LNH: h.LNH(), DLID: h.DLID(), PktLen: h.PktLen(), SLID: h.SLID()}
}

// RWH is a view of a raw header: what a raw packet with LNHRaw holds (IBTA
// vol. 1 §5.3).
type RWH []byte

// Valid reports whether h holds a whole header.
func (h RWH) Valid() bool { return len(h) >= RWHLen }

// EtherType of the payload.
func (h RWH) EtherType() uint16 { return binary.BigEndian.Uint16(h[2:]) }

// Encode writes the whole header.
func (h RWH) Encode(etherType uint16) { binary.BigEndian.PutUint32(h, uint32(etherType)) }

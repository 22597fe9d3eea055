package wire

import "encoding/binary"

// IPv6 is a view of an IPv6 header (RFC 8200 §3).
//
//	+-------+---------------+---------------------------------------+
//	|Version| traffic class |              flow label               |
//	+-------+---------------+-------+---------------+---------------+
//	|        payload length         |  next header  |   hop limit   |
//	+-------------------------------+---------------+---------------+
//	|                    source address (128 bits)                  |
//	|                  destination address (128 bits)               |
//	+---------------------------------------------------------------+
type IPv6 []byte

// Valid reports whether h begins with a whole IPv6 header.
func (h IPv6) Valid() bool { return len(h) >= IPv6Len && h[0]>>4 == 6 }

// TrafficClass is DSCP and ECN.
func (h IPv6) TrafficClass() uint8 { return h[0]<<4 | h[1]>>4 }

// SetTrafficClass sets DSCP and ECN.
func (h IPv6) SetTrafficClass(v uint8) {
	h[0] = h[0]&0xf0 | v>>4
	h[1] = h[1]&0x0f | v<<4
}

// FlowLabel is the 20-bit flow label.
func (h IPv6) FlowLabel() uint32 { return be24(h[1:]) & 0xfffff }

// SetFlowLabel sets the 20-bit flow label.
func (h IPv6) SetFlowLabel(v uint32) { putBE24(h[1:], uint32(h[1]&0xf0)<<16|v&0xfffff) }

// PayloadLen is the length of what follows the header in bytes.
func (h IPv6) PayloadLen() int { return int(binary.BigEndian.Uint16(h[4:])) }

// SetPayloadLen sets the length of what follows.
func (h IPv6) SetPayloadLen(n int) { binary.BigEndian.PutUint16(h[4:], uint16(n)) }

// NextHeader is the protocol of what follows.
func (h IPv6) NextHeader() uint8 { return h[6] }

// HopLimit is the number of hops left.
func (h IPv6) HopLimit() uint8 { return h[7] }

// SetHopLimit sets the number of hops left.
func (h IPv6) SetHopLimit(v uint8) { h[7] = v }

// Src is the source address.
func (h IPv6) Src() [16]byte { return [16]byte(h[8:24]) }

// SetSrc sets the source address.
func (h IPv6) SetSrc(a [16]byte) { copy(h[8:24], a[:]) }

// Dst is the destination address.
func (h IPv6) Dst() [16]byte { return [16]byte(h[24:40]) }

// SetDst sets the destination address.
func (h IPv6) SetDst(a [16]byte) { copy(h[24:40], a[:]) }

// IPv6Fields are the contents of an IPv6 header.
type IPv6Fields struct {
	TrafficClass uint8
	FlowLabel    uint32 // 20 bits
	PayloadLen   int    // bytes
	NextHeader   uint8
	HopLimit     uint8
	Src, Dst     [16]byte
}

// Encode writes the whole header; h has at least IPv6Len bytes.
func (f *IPv6Fields) Encode(h IPv6) {
	binary.BigEndian.PutUint32(h, 6<<28|uint32(f.TrafficClass)<<20|f.FlowLabel&0xfffff)
	h.SetPayloadLen(f.PayloadLen)
	h[6], h[7] = f.NextHeader, f.HopLimit
	h.SetSrc(f.Src)
	h.SetDst(f.Dst)
}

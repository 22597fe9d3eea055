package wire

import "encoding/binary"

// NextHeaderIBA is the NxtHdr of a GRH in front of a BTH (IBTA vol. 1 §8.3).
const NextHeaderIBA = 0x1b

// GRH is a view of a global route header, in form an IPv6 header (IBTA vol. 1
// §8.3).
//
//	+-------+---------------+---------------------------------------+
//	| IPVer |     TClass    |               FlowLabel               |
//	+-------+---------------+-------+---------------+---------------+
//	|            PayLen             |    NxtHdr     |    HopLmt     |
//	+-------------------------------+---------------+---------------+
//	|                        SGID (128 bits)                        |
//	|                        DGID (128 bits)                        |
//	+---------------------------------------------------------------+
type GRH []byte

// Valid reports whether h begins with a whole GRH.
func (h GRH) Valid() bool { return len(h) >= GRHLen && h[0]>>4 == 6 }

// TClass is the traffic class.
func (h GRH) TClass() uint8 { return IPv6(h).TrafficClass() }

// FlowLabel is the 20-bit flow label.
func (h GRH) FlowLabel() uint32 { return IPv6(h).FlowLabel() }

// PayLen is the number of bytes behind the GRH, in front of the VCRC.
func (h GRH) PayLen() int { return IPv6(h).PayloadLen() }

// NxtHdr is NextHeaderIBA.
func (h GRH) NxtHdr() uint8 { return h[6] }

// HopLmt is the number of routers that may be passed.
func (h GRH) HopLmt() uint8 { return h[7] }

// SetHopLmt sets the number of routers that may be passed.
func (h GRH) SetHopLmt(v uint8) { h[7] = v }

// SGID is the source.
func (h GRH) SGID() GID { return GID(h[8:24]) }

// DGID is the destination.
func (h GRH) DGID() GID { return GID(h[24:40]) }

// GRHFields are the contents of a GRH.
type GRHFields struct {
	TClass     uint8
	FlowLabel  uint32 // 20 bits
	PayLen     int    // bytes from behind the GRH to the ICRC, that included
	NxtHdr     uint8
	HopLmt     uint8
	SGID, DGID GID
}

// Encode writes the whole header; h has at least GRHLen bytes.
func (f *GRHFields) Encode(h GRH) {
	binary.BigEndian.PutUint32(h, 6<<28|uint32(f.TClass)<<20|f.FlowLabel&0xfffff)
	binary.BigEndian.PutUint16(h[4:], uint16(f.PayLen))
	h[6], h[7] = f.NxtHdr, f.HopLmt
	copy(h[8:24], f.SGID[:])
	copy(h[24:40], f.DGID[:])
}

// Fields returns the contents of the header.
func (h GRH) Fields() GRHFields {
	return GRHFields{TClass: h.TClass(), FlowLabel: h.FlowLabel(), PayLen: h.PayLen(), NxtHdr: h.NxtHdr(), HopLmt: h.HopLmt(), SGID: h.SGID(), DGID: h.DGID()}
}

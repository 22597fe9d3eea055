package wire

import "encoding/binary"

// CNLen is the length of a congestion notification packet of InfiniBand in
// bytes, from its LRH to its VCRC.
const CNLen = LRHLen + BTHLen + ICRCLen + VCRCLen

// EncodeCN writes the congestion notification packet that answers a packet
// with FECN, whole and with its CRCs: b has at least CNLen bytes (IBTA vol. 1
// annex A10.2.1). It goes back where the packet came from, with its service
// level and partition; qp is the queue pair that sent it, which a UD packet
// names in its DETH and a connection knows. vl is the lane of the first hop.
func EncodeCN(b []byte, of *LRHFields, pkey uint16, qp uint32, vl uint8) {
	b = b[:CNLen]
	h := LRHFields{VL: vl, SL: of.SL, LNH: LNHBTH, DLID: of.SLID, PktLen: (CNLen - VCRCLen) / 4, SLID: of.DLID}
	h.Encode(b)
	t := BTHFields{Opcode: CN, PKey: pkey, BECN: true, DestQP: qp}
	t.Encode(b[LRHLen:])
	binary.LittleEndian.PutUint32(b[LRHLen+BTHLen:], 0)
	SealIB(b)
}

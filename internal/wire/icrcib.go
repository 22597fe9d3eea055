package wire

import "hash/crc32"

// ICRCNative computes the invariant CRC of a native InfiniBand packet (IBTA
// vol. 1 §7.8.1). b is the packet from its LRH to the last byte of the pad.
// Fields that change on the way are taken as ones: of a local packet the VL; of
// a global one the whole LRH and TClass, FlowLabel and HopLmt of the GRH; of
// both the resv8a byte of the BTH, with FECN and BECN.
//
// The result goes on the wire least significant byte first.
func ICRCNative(b []byte) uint32 {
	var m [LRHLen + GRHLen + BTHLen]byte
	if len(b) < LRHLen {
		return crc32.ChecksumIEEE(b)
	}
	bth := LRHLen
	global := LRH(b).LNH() == LNHGRH
	if global {
		bth += GRHLen
	}
	end := min(bth+BTHLen, len(b))
	h := m[:copy(m[:], b[:end])]
	if global {
		for i := range LRHLen {
			h[i] = 0xff
		}
		if len(h) >= LRHLen+8 {
			h[LRHLen] |= 0x0f
			h[LRHLen+1], h[LRHLen+2], h[LRHLen+3], h[LRHLen+7] = 0xff, 0xff, 0xff, 0xff
		}
	} else {
		h[0] |= 0xf0
	}
	if len(h) > bth+4 {
		h[bth+4] = 0xff
	}
	return crc32.Update(updateCRC(0, h), crc32.IEEETable, b[end:])
}

package capture

import (
	"encoding/binary"

	"cnuas/internal/wire"
)

// LinkType is what kind of frames a port has.
type LinkType uint8

// Link types.
const (
	Ethernet   LinkType = 0
	InfiniBand LinkType = 1 // LRH to VCRC, or a flow control packet
	Serial     LinkType = 2 // Modbus RTU: tags of an exported PDU, then what was on the wire
)

// String names the link type.
func (l LinkType) String() string {
	switch l {
	case InfiniBand:
		return "InfiniBand"
	case Serial:
		return "Modbus RTU"
	}
	return "Ethernet"
}

// openIB appends room for the VCRC to a packet that has none yet: one that is
// two bytes shorter than its LRH says. Flow control packets are whole.
func openIB(b []byte) []byte {
	if h := wire.LRH(b); h.Valid() && h.WireLen() == len(b)+wire.VCRCLen {
		b = append(b, zeros[:wire.VCRCLen]...)
	}
	return b
}

// sealIB computes what is missing of the CRCs of b and is not cut off: the ICRC
// if it was deferred, the VCRC if openIB made room for it behind the n bytes
// that the frame had.
func sealIB(b []byte, n, keep int, deferred bool) {
	switch {
	case len(b) == n || keep <= n-wire.ICRCLen:
	case deferred:
		wire.SealIB(b)
	case keep > n:
		binary.LittleEndian.PutUint16(b[n:], wire.VCRC(b[:n]))
	}
}

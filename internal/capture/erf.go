package capture

import (
	"encoding/binary"

	"cnuas/internal/wire"
)

// linkTypeERF is LINKTYPE_ERF of the tcpdump project: records of Endace's
// extensible record format, which wireshark reads InfiniBand from.
const linkTypeERF = 197

// Parts of an ERF record header.
const (
	erfLen         = 16
	erfTypeIB      = 21 // LRH to VCRC
	erfTypeIBLink  = 25 // flow control packet
	erfFlagVarying = 4  // records have the length of their packet
	erfFlowLen     = 64 // wireshark 4.0 calls a shorter flow control packet malformed
)

// putERF writes the record header of an InfiniBand packet. It returns how many
// zeros are to follow the packet.
//
//	 0             1             2             3
//	+-------------------------------------------------------+
//	|  time: 64 bits little endian, seconds in units 2^-32  |
//	+-------------+-------------+---------------------------+
//	|    type     |    flags    |      length of record     |
//	+-------------+-------------+---------------------------+
//	|       packets lost        |     length on the wire    |
//	+---------------------------+---------------------------+
func putERF(h *[erfLen]byte, r *Record) (pad int) {
	typ, orig := byte(erfTypeIB), r.OrigLen
	if r.OrigLen == wire.FlowLen {
		typ = erfTypeIBLink
		orig = erfFlowLen
		pad = erfFlowLen - len(r.Data)
	}
	frac := (uint64(r.Wall.Nanosecond())<<32 + 500_000_000) / 1_000_000_000
	binary.LittleEndian.PutUint64(h[:], uint64(r.Wall.Unix())<<32+frac)
	h[8], h[9] = typ, erfFlagVarying
	binary.BigEndian.PutUint16(h[10:], uint16(erfLen+len(r.Data)+pad))
	binary.BigEndian.PutUint16(h[12:], 0)
	binary.BigEndian.PutUint16(h[14:], uint16(orig))
	return pad
}

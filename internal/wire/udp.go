package wire

import "encoding/binary"

// UDP is a view of a UDP header (RFC 768).
//
//	+-------------------------------+-------------------------------+
//	|          source port          |       destination port        |
//	+-------------------------------+-------------------------------+
//	|             length            |           checksum            |
//	+-------------------------------+-------------------------------+
type UDP []byte

// Valid reports whether h holds a whole header.
func (h UDP) Valid() bool { return len(h) >= UDPLen }

// SrcPort is the source port.
func (h UDP) SrcPort() uint16 { return binary.BigEndian.Uint16(h) }

// SetSrcPort sets the source port.
func (h UDP) SetSrcPort(v uint16) { binary.BigEndian.PutUint16(h, v) }

// DstPort is the destination port.
func (h UDP) DstPort() uint16 { return binary.BigEndian.Uint16(h[2:]) }

// SetDstPort sets the destination port.
func (h UDP) SetDstPort(v uint16) { binary.BigEndian.PutUint16(h[2:], v) }

// Len is the length of header and payload in bytes.
func (h UDP) Len() int { return int(binary.BigEndian.Uint16(h[4:])) }

// SetLen sets the length of header and payload.
func (h UDP) SetLen(n int) { binary.BigEndian.PutUint16(h[4:], uint16(n)) }

// Checksum is the checksum as it stands; 0 means that there is none, which
// RoCEv2 uses (IBTA annex A17.3.1).
func (h UDP) Checksum() uint16 { return binary.BigEndian.Uint16(h[6:]) }

// SetChecksum sets the checksum.
func (h UDP) SetChecksum(v uint16) { binary.BigEndian.PutUint16(h[6:], v) }

// Encode writes the whole header without a checksum; h has at least UDPLen
// bytes. n is the length of header and payload.
func (h UDP) Encode(src, dst uint16, n int) {
	h.SetSrcPort(src)
	h.SetDstPort(dst)
	h.SetLen(n)
	h.SetChecksum(0)
}

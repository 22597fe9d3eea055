package wire

import "encoding/binary"

// ICMPLen is the length of the header of an ICMP or ICMPv6 message in bytes:
// type, code, checksum and four bytes that depend on the type.
const ICMPLen = 8

// Types and codes of ICMP (RFC 792).
const (
	ICMPEchoReply      = 0
	ICMPUnreachable    = 3
	ICMPEcho           = 8
	ICMPTimeExceeded   = 11
	ICMPCodeNet        = 0 // of ICMPUnreachable: network
	ICMPCodeHost       = 1 // of ICMPUnreachable: host
	ICMPCodeFragNeeded = 4 // of ICMPUnreachable: too big and DF set
)

// Types of ICMPv6 (RFC 4443, RFC 4861).
const (
	ICMPv6Unreachable  = 1
	ICMPv6PacketTooBig = 2
	ICMPv6TimeExceeded = 3
	ICMPv6EchoRequest  = 128
	ICMPv6EchoReply    = 129
	ICMPv6NeighborSol  = 135
	ICMPv6NeighborAdv  = 136
	ICMPv6CodeNoRoute  = 0 // of ICMPv6Unreachable
	ICMPv6CodeAddress  = 3 // of ICMPv6Unreachable: address unreachable
)

// ICMP is a view of an ICMP or ICMPv6 message (RFC 792, RFC 4443).
//
//	+---------------+---------------+-------------------------------+
//	|     type      |     code      |           checksum            |
//	+---------------+---------------+-------------------------------+
//	|   identifier (echo) or rest   |   sequence number (echo)      |
//	+-------------------------------+-------------------------------+
type ICMP []byte

// Valid reports whether h holds a whole header.
func (h ICMP) Valid() bool { return len(h) >= ICMPLen }

// Type of the message.
func (h ICMP) Type() uint8 { return h[0] }

// SetType sets the type.
func (h ICMP) SetType(v uint8) { h[0] = v }

// Code of the message.
func (h ICMP) Code() uint8 { return h[1] }

// SetCode sets the code.
func (h ICMP) SetCode(v uint8) { h[1] = v }

// Checksum is the checksum as it stands.
func (h ICMP) Checksum() uint16 { return binary.BigEndian.Uint16(h[2:]) }

// SetChecksum sets the checksum.
func (h ICMP) SetChecksum(v uint16) { binary.BigEndian.PutUint16(h[2:], v) }

// ID is the identifier of an echo message.
func (h ICMP) ID() uint16 { return binary.BigEndian.Uint16(h[4:]) }

// SetID sets the identifier.
func (h ICMP) SetID(v uint16) { binary.BigEndian.PutUint16(h[4:], v) }

// Seq is the sequence number of an echo message.
func (h ICMP) Seq() uint16 { return binary.BigEndian.Uint16(h[6:]) }

// SetSeq sets the sequence number.
func (h ICMP) SetSeq(v uint16) { binary.BigEndian.PutUint16(h[6:], v) }

// SetRest sets the four bytes behind the checksum.
func (h ICMP) SetRest(v uint32) { binary.BigEndian.PutUint32(h[4:], v) }

// Seal computes the checksum of an ICMP message for IPv4, all of h.
func (h ICMP) Seal() {
	h.SetChecksum(0)
	h.SetChecksum(Fold(Sum(0, h)))
}

// ChecksumOK tells whether the checksum of an ICMP message for IPv4 is right.
func (h ICMP) ChecksumOK() bool { return Fold(Sum(0, h)) == 0 }

// Seal6 computes the checksum of an ICMPv6 message, all of h.
func (h ICMP) Seal6(src, dst [16]byte) {
	h.SetChecksum(0)
	h.SetChecksum(Fold(Sum(PseudoIPv6(src, dst, ProtoICMPv6, len(h)), h)))
}

// ChecksumOK6 tells whether the checksum of an ICMPv6 message is right.
func (h ICMP) ChecksumOK6(src, dst [16]byte) bool {
	return Fold(Sum(PseudoIPv6(src, dst, ProtoICMPv6, len(h)), h)) == 0
}

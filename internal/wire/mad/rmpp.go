package mad

import "encoding/binary"

// RMPP is a view of the header of the reliable multi-packet protocol, which is
// at byte 24 of a MAD that has one; the view begins with the MAD (IBTA vol. 1
// §13.6.2).
//
//	   +-------------+-------------+---------+-----+-----------+
//	24 | RMPPVersion |  RMPPType   | RRespT  |Flags| RMPPStatus|
//	   +-------------+-------------+---------+-----+-----------+
//	28 |     Data1: SegmentNumber, or reserved                 |
//	   +-------------------------------------------------------+
//	32 |     Data2: PayloadLength, or NewWindowLast            |
//	   +-------------------------------------------------------+
type RMPP []byte

// RMPPVersion is the version in use.
const RMPPVersion = 1

// RMPPType says what kind of packet it is (IBTA vol. 1 §13.6.2.1).
type RMPPType uint8

// Types of packet; 0 in a MAD that does not use the protocol.
const (
	RMPPData  RMPPType = 1
	RMPPAck   RMPPType = 2
	RMPPStop  RMPPType = 3
	RMPPAbort RMPPType = 4
)

// String names the type.
func (t RMPPType) String() string { return name(uint8(t), "none", "DATA", "ACK", "STOP", "ABORT") }

// RMPPFlags of a packet (IBTA vol. 1 §13.6.2.1).
type RMPPFlags uint8

// Flags. A MAD without RMPPActive is not part of a multi-packet transaction.
const (
	RMPPActive RMPPFlags = 1
	RMPPFirst  RMPPFlags = 2
	RMPPLast   RMPPFlags = 4
)

// RMPPNoRespTime in RRespTime says that no time is given.
const RMPPNoRespTime Timeout = 31

// RMPPStatus is why a transaction ends (IBTA vol. 1 §13.6.2.1).
type RMPPStatus uint8

// Status of packets of type STOP and ABORT.
const (
	RMPPOK             RMPPStatus = 0
	RMPPNoResources    RMPPStatus = 1   // STOP
	RMPPTimeExceeded   RMPPStatus = 118 // total transaction time
	RMPPBadLastPayload RMPPStatus = 119 // inconsistent Last and PayloadLength
	RMPPBadFirst       RMPPStatus = 120 // inconsistent First and SegmentNumber
	RMPPBadType        RMPPStatus = 121
	RMPPWindowTooSmall RMPPStatus = 122 // NewWindowLast below the segment
	RMPPSegmentTooBig  RMPPStatus = 123
	RMPPIllegalStatus  RMPPStatus = 124
	RMPPBadVersion     RMPPStatus = 125
	RMPPTooManyRetries RMPPStatus = 126
	RMPPUnspecified    RMPPStatus = 127
)

// Version is the protocol's version.
func (r RMPP) Version() uint8 { return r[24] }

// Type is the kind of packet.
func (r RMPP) Type() RMPPType { return RMPPType(r[25]) }

// RespTime is the time within which an answer comes.
func (r RMPP) RespTime() Timeout { return Timeout(r[26] >> 3) }

// Flags of the packet.
func (r RMPP) Flags() RMPPFlags { return RMPPFlags(r[26] & 7) }

// Active tells whether the MAD is part of a multi-packet transaction.
func (r RMPP) Active() bool { return r.Flags()&RMPPActive != 0 && r.Type() != 0 }

// Status says why the transaction ends.
func (r RMPP) Status() RMPPStatus { return RMPPStatus(r[27]) }

// Segment is the number of the segment, from 1: of a DATA packet the one it
// has, of an ACK the last one that arrived.
func (r RMPP) Segment() uint32 { return binary.BigEndian.Uint32(r[28:]) }

// PayloadLen is Data2 of a DATA packet: the bytes of all segments in the first
// (or 0 if not known), those of the segment in the last.
func (r RMPP) PayloadLen() uint32 { return binary.BigEndian.Uint32(r[32:]) }

// NewWindowLast is Data2 of an ACK: the last segment that may be sent.
func (r RMPP) NewWindowLast() uint32 { return binary.BigEndian.Uint32(r[32:]) }

// RMPPFields are the contents of an RMPP header.
type RMPPFields struct {
	Type     RMPPType
	RespTime Timeout
	Flags    RMPPFlags
	Status   RMPPStatus
	Data1    uint32 // segment
	Data2    uint32 // payload length, or end of the window
}

// Encode writes the header into r, which begins with the MAD.
func (f *RMPPFields) Encode(r RMPP) {
	r[24], r[25], r[26], r[27] = RMPPVersion, byte(f.Type), byte(f.RespTime)<<3|byte(f.Flags&7), byte(f.Status)
	binary.BigEndian.PutUint32(r[28:], f.Data1)
	binary.BigEndian.PutUint32(r[32:], f.Data2)
}

// Fields returns the contents of the header.
func (r RMPP) Fields() RMPPFields {
	return RMPPFields{Type: r.Type(), RespTime: r.RespTime(), Flags: r.Flags(), Status: r.Status(), Data1: r.Segment(), Data2: r.PayloadLen()}
}

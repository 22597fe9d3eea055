// Package tunnel carries an InfiniBand link in datagrams, for ports whose other
// end is in another process or on another machine: each datagram is a header and
// one native packet from LRH to VCRC, one flow control packet, or the state of the
// link, which is what training sequences would carry. docs/TUNNEL.md is the
// specification.
//
// A Hub is all links behind one socket, an End is one of them: the far end of
// an ibport.Port. Both are state machines without a clock and without sockets;
// package tunnel/udp has those, package tunnel/datagram a network in memory.
//
// Nothing is repaired: what the network loses, repeats or reorders the receiver
// sees in the sequence numbers, and the port counts it as symbol errors, with
// what follows from them (IBTA vol. 1 §7.12.2). Credits come back with the next
// flow control packet, messages by their transport's retransmission.
package tunnel

import (
	"encoding/binary"
	"errors"
	"fmt"

	"cnuas/internal/wire"
)

// Port is the UDP port that a tunnel uses unless it is told another.
const Port = 4793

// Version is that of the protocol.
const Version = 1

// magic is the first two bytes of every datagram: "IB".
const magic = 0x4942

// HeaderLen is the length of the header in bytes.
const HeaderLen = 20

// MaxLen is the longest datagram: the header and a packet of an MTU of 4096.
const MaxLen = HeaderLen + 4096 + 124 + 2

// Type says what a datagram holds.
type Type uint8

// Types of datagrams.
const (
	TypePacket Type = 1 // a packet from LRH to VCRC
	TypeFlow   Type = 2 // a flow control packet
	TypeState  Type = 3 // a State
)

// Header is what every datagram begins with.
//
//	 0               1               2               3
//	+---------------+---------------+---------------+---------------+
//	|     'I'       |     'B'       |    Version    |     Type      |
//	+---------------+---------------+---------------+---------------+
//	|      VL       |   reserved    |              To               |
//	+---------------+---------------+---------------+---------------+
//	|             From              |             Check             |
//	+---------------+---------------+---------------+---------------+
//	|                            Session                            |
//	+---------------+---------------+---------------+---------------+
//	|                           Sequence                            |
//	+---------------+---------------+---------------+---------------+
type Header struct {
	Type     Type
	VL       uint8  // of the packet; 0 with a State
	To, From uint16 // numbers of the receiving and the sending end behind their sockets
	Session  uint32 // of the sender's life: another one after a restart; not 0
	Seq      uint32 // of the sending end, counts all of its datagrams
}

// Errors of Header.Decode.
var (
	ErrShort   = errors.New("shorter than a tunnel's header")
	ErrMagic   = errors.New("not a tunnel's datagram")
	ErrVersion = fmt.Errorf("of another version than %d", Version)
	ErrType    = errors.New("of an unknown type")
	ErrSession = errors.New("without a session")
	ErrCheck   = errors.New("spoilt: its check is wrong")
)

// checked is how much of a datagram the Check covers: the header, and a State,
// which has no CRC of its own as packets have.
func checked(t Type, b []byte) []byte {
	if t == TypeState {
		return b
	}
	return b[:HeaderLen]
}

// check is the Check of a datagram: the CRC that is VCRC and LPCRC too, over the
// bytes with zeros in its place.
func check(t Type, b []byte) uint16 {
	c := checked(t, b)
	x, y := c[10], c[11]
	c[10], c[11] = 0, 0
	crc := wire.VCRC(c)
	c[10], c[11] = x, y
	return crc
}

// Encode writes the header into b, a datagram that is complete otherwise: of at
// least HeaderLen bytes, with the State, if it is one, behind them.
func (h *Header) Encode(b []byte) {
	binary.BigEndian.PutUint16(b, magic)
	b[2], b[3], b[4], b[5] = Version, byte(h.Type), h.VL, 0
	binary.BigEndian.PutUint16(b[6:], h.To)
	binary.BigEndian.PutUint16(b[8:], h.From)
	binary.BigEndian.PutUint32(b[12:], h.Session)
	binary.BigEndian.PutUint32(b[16:], h.Seq)
	binary.LittleEndian.PutUint16(b[10:], check(h.Type, b))
}

// Decode reads the header of a whole datagram, which is the same afterwards.
// Reserved bytes are ignored.
func (h *Header) Decode(b []byte) error {
	switch {
	case len(b) < HeaderLen:
		return ErrShort
	case binary.BigEndian.Uint16(b) != magic:
		return ErrMagic
	case b[2] != Version:
		return ErrVersion
	case b[3] < byte(TypePacket) || b[3] > byte(TypeState):
		return ErrType
	case binary.LittleEndian.Uint16(b[10:]) != check(Type(b[3]), b):
		return ErrCheck
	}
	*h = Header{
		Type: Type(b[3]), VL: b[4],
		To: binary.BigEndian.Uint16(b[6:]), From: binary.BigEndian.Uint16(b[8:]),
		Session: binary.BigEndian.Uint32(b[12:]), Seq: binary.BigEndian.Uint32(b[16:]),
	}
	if h.Session == 0 {
		return ErrSession
	}
	return nil
}

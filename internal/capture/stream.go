package capture

import (
	"encoding/binary"
	"time"

	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// The stream is big endian. It begins with
//
//	magic "CNUASCAP" | version u8 | 3 x 0 | snaplen u32 | base i64 ns | filter length u16 | filter
//
// and goes on with messages, of which the last is the end:
//
//	kind u8 | direction u8 | port u16 | body length u32 | body
//
// In the message that names a port the link type stands for the direction.
//
// The body of a packet is
//
//	time i64 ps | length on the wire u32 | comment length u16 | 0 u16 | comment | bytes
const (
	magic   = "CNUASCAP"
	version = 2 // 1 knew no link types

	headerLen  = 26
	msgHead    = 8
	packetFix  = 16
	packetHead = msgHead + packetFix
	maxComment = 1 << 10
	maxFilter  = 1 << 14
	maxBody    = 1 << 20 // above any frame: a longer one is not a stream of ours
)

const (
	kindPort   = 1
	kindPacket = 2
	kindStats  = 3
	kindEnd    = 4
)

// Header is what a stream says of itself first.
type Header struct {
	Base    time.Time // wall time of simulated time 0
	SnapLen int       // bytes kept of a frame; 0: all
	Filter  string    // the expression, "" for none
}

// Record is one captured frame.
type Record struct {
	Port    int            // number of the port in the stream
	Dir     link.Direction // as seen from the port
	Time    sim.Time       // simulated time: beginning of a sent frame, end of a received one
	Wall    time.Time      // Base + Time, to the nanosecond
	OrigLen int            // bytes on the wire, without FCS; of InfiniBand with VCRC
	Data    []byte         // the first bytes of it, or all; valid during the call only
	Comment string
	Link    LinkType // of the port
}

// Stats are the counts of one port at the end of a capture.
type Stats struct {
	Port     int    // number of the port in the stream
	Received uint64 // frames that matched the filter
	Lost     uint64 // of those, the ones that are missing from the stream
}

func appendHeader(b []byte, h Header) []byte {
	be := binary.BigEndian
	filter := h.Filter
	if len(filter) > maxFilter {
		filter = filter[:maxFilter]
	}
	b = append(b, magic...)
	b = append(b, version, 0, 0, 0)
	b = be.AppendUint32(b, uint32(h.SnapLen))
	b = be.AppendUint64(b, uint64(h.Base.UnixNano()))
	b = be.AppendUint16(b, uint16(len(filter)))
	return append(b, filter...)
}

func appendMsg(b []byte, kind uint8, d link.Direction, port uint16, body int) []byte {
	b = append(b, kind, uint8(d))
	b = binary.BigEndian.AppendUint16(b, port)
	return binary.BigEndian.AppendUint32(b, uint32(body))
}

func appendPort(b []byte, port uint16, name string, l LinkType) []byte {
	return append(appendMsg(b, kindPort, link.Direction(l), port, len(name)), name...)
}

func appendStats(b []byte, s Stats) []byte {
	b = appendMsg(b, kindStats, 0, uint16(s.Port), 16)
	b = binary.BigEndian.AppendUint64(b, s.Received)
	return binary.BigEndian.AppendUint64(b, s.Lost)
}

func appendEnd(b []byte) []byte { return appendMsg(b, kindEnd, 0, 0, 0) }

func putPacketHead(h *[packetHead]byte, port uint16, d link.Direction, now sim.Time, orig, keep, comment int) {
	be := binary.BigEndian
	h[0], h[1] = kindPacket, uint8(d)
	be.PutUint16(h[2:], port)
	be.PutUint32(h[4:], uint32(packetFix+comment+keep))
	be.PutUint64(h[8:], uint64(now))
	be.PutUint32(h[16:], uint32(orig))
	be.PutUint16(h[20:], uint16(comment))
	be.PutUint16(h[22:], 0)
}

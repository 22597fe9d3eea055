// Package frame holds the unit that links carry: a frame, its pool and what is
// known about it while it travels.
//
// A frame is contiguous headers (Data), then a payload that is usually
// somebody else's memory (Pay, a part of a Slab), then a trailer that is not
// materialised until the frame leaves the process or is captured. Ownership
// moves with the pointer: whoever holds a frame passes it on or puts it back.
package frame

import (
	"encoding/binary"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// Headroom is kept free in front of the headers, for a VLAN tag to be pushed.
const Headroom = 16

// HeadLen is the space for headers in a frame without a buffer of its own.
// Ethernet with a tag, IPv6, UDP, BTH and AtomicETH need 106.
const HeadLen = 128

// Overhead is what a frame occupies on an Ethernet wire besides its Len:
// preamble, start delimiter and the minimum gap (IEEE 802.3 clause 4.4.2), bytes.
const Overhead = 20

// MinLen is the least length of an Ethernet frame, FCS included.
const MinLen = 64

// Meta is what is known about a frame besides its bytes.
type Meta struct {
	Layers wire.Layers // valid if Parsed
	Parsed bool

	// ICRCDeferred: pad and ICRC behind the payload are not in Data or Pay;
	// they are computed where the frame is materialised. Pad is 0 to 3.
	ICRCDeferred bool
	Pad          uint8

	Priority uint8    // class at the present hop, 0 to 7
	InPort   int16    // port by which the present device received it
	Queued   sim.Time // when the present device queued it
	Host     bool     // belongs to a node's kernel, not to its HCA
	Corrupt  bool     // damaged on the last wire; only ports that asked for such frames see it
	IB       IB       // of an InfiniBand packet; valid if Parsed
	Tag      uint64   // for the present owner's use
	Tail     sim.Time // when the last byte is there, if the frame was delivered before that
}

// Frame is one frame. Fields that only this package and the owner of the
// moment may touch are exported for the hot path's sake.
type Frame struct {
	next *Frame
	Due  sim.Time // arrival at the far end of the link it is on

	Data []byte // headers, or for a frame from a kernel the whole frame without FCS
	Pay  []byte // payload behind Data
	Len  int32  // length on the wire from destination address to FCS, at least MinLen
	Meta Meta

	slab *Slab
	base []byte // what Data is a part of
	off  int    // where in base Data begins
	own  []byte // buffer for frames from outside, kept when the frame is recycled
	head [Headroom + HeadLen]byte
}

// Head makes Data the first n bytes of the frame's own header space and
// returns it. n is at most HeadLen. The bytes are whatever they were.
func (f *Frame) Head(n int) []byte {
	return f.begin(f.head[:], n)
}

// Buf makes Data n bytes of a buffer that belongs to the frame, with Headroom
// in front, for a frame that comes from outside in one piece.
func (f *Frame) Buf(n int) []byte {
	if cap(f.own) < Headroom+n {
		size := 2048
		for size < Headroom+n {
			size *= 2
		}
		f.own = make([]byte, size)
	}
	return f.begin(f.own, n)
}

func (f *Frame) begin(base []byte, n int) []byte {
	f.base, f.off = base, Headroom
	f.Data = base[Headroom : Headroom+n]
	f.Meta.Parsed = false
	return f.Data
}

// SetPayload attaches payload bytes that lie in s, and holds s until the frame
// is put back. s may be nil for memory that outlives the frame.
func (f *Frame) SetPayload(b []byte, s *Slab) {
	f.Pay = b
	if s != nil {
		s.refs++
	}
	f.slab = s
}

// Parse fills Meta.Layers if that has not been done since the headers changed.
// It reports false for a frame without a complete Ethernet header.
func (f *Frame) Parse() bool {
	if !f.Meta.Parsed {
		f.Meta.Parsed = f.Meta.Layers.Parse(f.Data)
	}
	return f.Meta.Parsed
}

// WireLen sets Len from the bytes that the frame will have when materialised.
func (f *Frame) WireLen() {
	n := len(f.Data) + len(f.Pay) + wire.FCSLen
	if f.Meta.ICRCDeferred {
		n += int(f.Meta.Pad) + wire.ICRCLen
	}
	f.Len = int32(max(n, MinLen))
}

// AppendTo appends the whole frame without FCS to b: headers, payload, pad and
// the ICRC, computed now if it was deferred. It is not padded to the minimum.
func (f *Frame) AppendTo(b []byte) []byte {
	start := len(b)
	b = f.AppendOpen(b)
	f.SealICRC(b[start:])
	return b
}

// AppendOpen is AppendTo with zeros in the place of a deferred ICRC, for who
// looks at the headers before deciding that the frame is wanted.
func (f *Frame) AppendOpen(b []byte) []byte {
	b = append(b, f.Data...)
	b = append(b, f.Pay...)
	if f.Meta.ICRCDeferred {
		var zero [3 + wire.ICRCLen]byte
		b = append(b, zero[:f.Meta.Pad+wire.ICRCLen]...)
	}
	return b
}

// SealICRC computes a deferred ICRC into its place at the end of b, which is
// what AppendOpen appended.
func (f *Frame) SealICRC(b []byte) {
	if !f.Meta.ICRCDeferred {
		return
	}
	f.Parse()
	n := len(b) - wire.ICRCLen
	crc := wire.ICRC(b[:n], int(f.Meta.Layers.L3))
	binary.LittleEndian.PutUint32(b[n:], crc) // least significant byte first
}

// Shift moves the beginning of Data by n bytes: positive n cuts, negative n
// uses head-room, of which there are Headroom bytes. Layers have to be parsed
// anew.
func (f *Frame) Shift(n int) {
	end := f.off + len(f.Data)
	f.off += n
	f.Data = f.base[f.off:end]
	f.Meta.Parsed = false
}

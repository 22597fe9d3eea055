package wire

import "encoding/binary"

// RDETH is a view of a reliable datagram header: the end-to-end context (IBTA
// vol. 1 §9.3.1). The opcode table has no opcodes that carry it: nobody
// implements that service.
type RDETH []byte

// Valid reports whether h holds a whole header.
func (h RDETH) Valid() bool { return len(h) >= RDETHLen }

// EEContext is the 24-bit number of the end-to-end context.
func (h RDETH) EEContext() uint32 { return be24(h[1:]) }

// Encode writes the whole header; h has at least RDETHLen bytes.
func (h RDETH) Encode(ee uint32) { binary.BigEndian.PutUint32(h, ee&PSNMask) }

// XRCETH is a view of the header of extended reliable connections: the shared
// receive queue (IBTA vol. 1 annex A14). The opcode table has no opcodes that
// carry it.
type XRCETH []byte

// Valid reports whether h holds a whole header.
func (h XRCETH) Valid() bool { return len(h) >= XRCETHLen }

// XRCSRQ is the 24-bit number of the shared receive queue.
func (h XRCETH) XRCSRQ() uint32 { return be24(h[1:]) }

// Encode writes the whole header; h has at least XRCETHLen bytes.
func (h XRCETH) Encode(srq uint32) { binary.BigEndian.PutUint32(h, srq&PSNMask) }

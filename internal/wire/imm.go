package wire

import "encoding/binary"

// Lengths of the small extension headers in bytes.
const (
	ImmDtLen       = 4
	IETHLen        = 4
	DETHLen        = 8
	CNPReservedLen = 16 // behind the BTH of a CNP, all zero (IBTA annex A17.9.3)
)

// ImmDt is a view of immediate data: four bytes that travel in the order in
// which the program gave them (IBTA vol. 1 §9.3.6).
type ImmDt []byte

// Valid reports whether h holds a whole header.
func (h ImmDt) Valid() bool { return len(h) >= ImmDtLen }

// Data is the immediate value, read big endian.
func (h ImmDt) Data() uint32 { return binary.BigEndian.Uint32(h) }

// SetData sets the immediate value.
func (h ImmDt) SetData(v uint32) { binary.BigEndian.PutUint32(h, v) }

// IETH is a view of an invalidate header: the R_Key that a SEND with
// invalidate makes invalid (IBTA vol. 1 §9.3.7).
type IETH []byte

// Valid reports whether h holds a whole header.
func (h IETH) Valid() bool { return len(h) >= IETHLen }

// RKey is the key to invalidate.
func (h IETH) RKey() uint32 { return binary.BigEndian.Uint32(h) }

// SetRKey sets the key to invalidate.
func (h IETH) SetRKey(k uint32) { binary.BigEndian.PutUint32(h, k) }

// DETH is a view of a datagram header (IBTA vol. 1 §9.3.2).
//
//	+-------------------------------------------------------+
//	|                        Q_Key                          |
//	+-------------+-----------------------------------------+
//	|    resv8    |               Source QP                 |
//	+-------------+-----------------------------------------+
type DETH []byte

// Valid reports whether h holds a whole header.
func (h DETH) Valid() bool { return len(h) >= DETHLen }

// QKey is the queue key.
func (h DETH) QKey() uint32 { return binary.BigEndian.Uint32(h) }

// SetQKey sets the queue key.
func (h DETH) SetQKey(k uint32) { binary.BigEndian.PutUint32(h, k) }

// SrcQP is the 24-bit number of the queue pair that sent the datagram.
func (h DETH) SrcQP() uint32 { return be24(h[5:]) }

// Encode writes the whole header; h has at least DETHLen bytes.
func (h DETH) Encode(qkey, srcQP uint32) {
	h.SetQKey(qkey)
	binary.BigEndian.PutUint32(h[4:], srcQP&PSNMask)
}

package wire

import "encoding/binary"

// RETHLen is the length of a RETH in bytes.
const RETHLen = 16

// RETH is a view of an RDMA extended transport header (IBTA vol. 1 §9.3.3).
//
//	 0             1             2             3
//	+-------------+-------------+-------------+-------------+
//	|                  Virtual Address (63-32)              |
//	|                  Virtual Address (31-0)               |
//	+-------------+-------------+-------------+-------------+
//	|                        R_Key                          |
//	+-------------+-------------+-------------+-------------+
//	|                     DMA Length                        |
//	+-------------+-------------+-------------+-------------+
type RETH []byte

// Valid reports whether h holds a whole header.
func (h RETH) Valid() bool { return len(h) >= RETHLen }

// VA is the virtual address of the remote buffer.
func (h RETH) VA() uint64 { return binary.BigEndian.Uint64(h) }

// SetVA sets the virtual address.
func (h RETH) SetVA(v uint64) { binary.BigEndian.PutUint64(h, v) }

// RKey is the remote key.
func (h RETH) RKey() uint32 { return binary.BigEndian.Uint32(h[8:]) }

// SetRKey sets the remote key.
func (h RETH) SetRKey(k uint32) { binary.BigEndian.PutUint32(h[8:], k) }

// DMALen is the length of the whole operation in bytes, at most 2^31.
func (h RETH) DMALen() uint32 { return binary.BigEndian.Uint32(h[12:]) }

// SetDMALen sets the length of the operation.
func (h RETH) SetDMALen(n uint32) { binary.BigEndian.PutUint32(h[12:], n) }

// Encode writes the whole header; h has at least RETHLen bytes.
func (h RETH) Encode(va uint64, rkey, dmaLen uint32) {
	h.SetVA(va)
	h.SetRKey(rkey)
	h.SetDMALen(dmaLen)
}

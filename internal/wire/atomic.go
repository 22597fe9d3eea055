package wire

import "encoding/binary"

// Lengths of the atomic headers in bytes.
const (
	AtomicETHLen    = 28
	AtomicAckETHLen = 8
)

// AtomicETH is a view of an atomic extended transport header (IBTA vol. 1
// §9.3.4).
//
//	+-------------------------------------------------------+
//	|                  Virtual Address (64 bits)            |
//	+-------------------------------------------------------+
//	|                        R_Key                          |
//	+-------------------------------------------------------+
//	|              Swap (or Add) Data (64 bits)             |
//	+-------------------------------------------------------+
//	|                 Compare Data (64 bits)                |
//	+-------------------------------------------------------+
type AtomicETH []byte

// Valid reports whether h holds a whole header.
func (h AtomicETH) Valid() bool { return len(h) >= AtomicETHLen }

// VA is the virtual address; it has to be a multiple of 8.
func (h AtomicETH) VA() uint64 { return binary.BigEndian.Uint64(h) }

// SetVA sets the virtual address.
func (h AtomicETH) SetVA(v uint64) { binary.BigEndian.PutUint64(h, v) }

// RKey is the remote key.
func (h AtomicETH) RKey() uint32 { return binary.BigEndian.Uint32(h[8:]) }

// SetRKey sets the remote key.
func (h AtomicETH) SetRKey(k uint32) { binary.BigEndian.PutUint32(h[8:], k) }

// SwapAdd is the operand: what to store (CmpSwap) or to add (FetchAdd).
func (h AtomicETH) SwapAdd() uint64 { return binary.BigEndian.Uint64(h[12:]) }

// SetSwapAdd sets the operand.
func (h AtomicETH) SetSwapAdd(v uint64) { binary.BigEndian.PutUint64(h[12:], v) }

// Compare is what CmpSwap compares with; FetchAdd does not use it.
func (h AtomicETH) Compare() uint64 { return binary.BigEndian.Uint64(h[20:]) }

// SetCompare sets what CmpSwap compares with.
func (h AtomicETH) SetCompare(v uint64) { binary.BigEndian.PutUint64(h[20:], v) }

// Encode writes the whole header; h has at least AtomicETHLen bytes.
func (h AtomicETH) Encode(va uint64, rkey uint32, swapAdd, compare uint64) {
	h.SetVA(va)
	h.SetRKey(rkey)
	h.SetSwapAdd(swapAdd)
	h.SetCompare(compare)
}

// AtomicAckETH is a view of an atomic acknowledge header: eight bytes, the
// value before the operation (IBTA vol. 1 §9.5.3).
type AtomicAckETH []byte

// Valid reports whether h holds a whole header.
func (h AtomicAckETH) Valid() bool { return len(h) >= AtomicAckETHLen }

// Original is the value before the operation.
func (h AtomicAckETH) Original() uint64 { return binary.BigEndian.Uint64(h) }

// SetOriginal sets the value before the operation.
func (h AtomicAckETH) SetOriginal(v uint64) { binary.BigEndian.PutUint64(h, v) }

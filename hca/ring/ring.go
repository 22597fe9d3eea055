// Package ring holds the work and completion queues that a program shares with
// its HCA, in the layout of the rxe provider (linux
// include/uapi/rdma/rdma_user_rxe.h). The memory may be mapped by another
// process at the same time, so every value read from it is hostile: indexes are
// masked with our own mask, element sizes are our own, each field is read once.
//
// Producer and consumer are the only words that synchronise; they are accessed
// atomically. All fields have the byte order of the machine.
package ring

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// HeaderLen is the length of struct rxe_queue_buf before its data, bytes.
const HeaderLen = 384

const (
	offLog2Elem = 0
	offMask     = 4
	offProducer = 128
	offConsumer = 256
)

// MaxSlots bounds a ring.
const MaxSlots = 1 << 20

// Slots returns the number of slots of a ring that can hold n elements at once:
// one slot always stays empty, and the number is a power of two.
func Slots(n int) int { return pow2(max(n, 1) + 1) }

// ElemSize returns the size of a slot for elements of n bytes: the next power
// of two, at least 64, as the rxe driver makes it.
func ElemSize(n int) int { return pow2(max(n, 64)) }

// Size returns the bytes that a ring of the given geometry occupies, header
// included. slots and elem are powers of two.
func Size(slots, elem int) int { return HeaderLen + slots*elem }

func pow2(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// Ring is one queue: producer and consumer indexes and a power of two of slots.
type Ring struct {
	mem  []byte
	prod *uint32
	cons *uint32
	mask uint32
	log2 uint8
}

// New lays a ring over mem, which is at least Size bytes and aligned to 8, and
// writes its header: indexes zero. Both slots and elem must be powers of two.
func New(mem []byte, slots, elem int) (*Ring, error) {
	switch {
	case slots < 2 || slots > MaxSlots || slots&(slots-1) != 0:
		return nil, fmt.Errorf("ring: %d slots: must be a power of two from 2 to %d", slots, MaxSlots)
	case elem < 64 || elem > 1<<16 || elem&(elem-1) != 0:
		return nil, fmt.Errorf("ring: element of %d bytes: must be a power of two from 64 to 65536", elem)
	case len(mem) < Size(slots, elem):
		return nil, fmt.Errorf("ring: %d bytes of memory: %d are needed", len(mem), Size(slots, elem))
	case uintptr(unsafe.Pointer(&mem[0]))&7 != 0:
		return nil, fmt.Errorf("ring: memory is not aligned to 8 bytes")
	}
	r := &Ring{
		mem:  mem[:Size(slots, elem):Size(slots, elem)],
		prod: (*uint32)(unsafe.Pointer(&mem[offProducer])),
		cons: (*uint32)(unsafe.Pointer(&mem[offConsumer])),
		mask: uint32(slots - 1),
		log2: uint8(bits.Len(uint(elem)) - 1),
	}
	clear(r.mem[:HeaderLen])
	put32(r.mem[offLog2Elem:], uint32(r.log2))
	put32(r.mem[offMask:], r.mask)
	return r, nil
}

// Bytes returns the memory of the ring, header included.
func (r *Ring) Bytes() []byte { return r.mem }

// Slots is the number of slots, one more than can be used at a time.
func (r *Ring) Slots() int { return int(r.mask) + 1 }

// Elem is the size of a slot in bytes.
func (r *Ring) Elem() int { return 1 << r.log2 }

// Mask is Slots-1.
func (r *Ring) Mask() uint32 { return r.mask }

// Producer returns the producer index, masked.
func (r *Ring) Producer() uint32 { return atomic.LoadUint32(r.prod) & r.mask }

// Consumer returns the consumer index, masked.
func (r *Ring) Consumer() uint32 { return atomic.LoadUint32(r.cons) & r.mask }

// SetProducer publishes the elements before index i.
func (r *Ring) SetProducer(i uint32) { atomic.StoreUint32(r.prod, i&r.mask) }

// SetConsumer gives the slots before index i back to the producer.
func (r *Ring) SetConsumer(i uint32) { atomic.StoreUint32(r.cons, i&r.mask) }

// Next returns the index after i.
func (r *Ring) Next(i uint32) uint32 { return (i + 1) & r.mask }

// Distance returns how many elements lie from index i up to, not including, j.
func (r *Ring) Distance(i, j uint32) uint32 { return (j - i) & r.mask }

// At returns the slot of index i, which may have any value.
func (r *Ring) At(i uint32) []byte {
	o := HeaderLen + int(i&r.mask)<<r.log2
	e := o + 1<<r.log2
	return r.mem[o:e:e]
}

// Clear sets both indexes to zero, as a reset of a queue pair does.
func (r *Ring) Clear() {
	r.SetProducer(0)
	r.SetConsumer(0)
}

// Bytes views words as bytes: memory for New that is aligned whatever the
// allocator does.
func Bytes(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
}

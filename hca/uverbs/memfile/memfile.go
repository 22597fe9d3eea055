// Package memfile is the layout of the memory file that stands for an open
// verbs device: the program holds it as its uverbs descriptor, the daemon maps
// the queues that lie in it, and the program's supervisor keeps a descriptor so
// that it can end the program's work if the daemon dies.
//
//	0                queues, each at a page boundary, addresses never used twice
//	DirectoryOffset  what queues there are, for the supervisor
//	LogOffset        where the program's doorbell writes land; nobody reads them
//
// The program can write anywhere in the file. Whoever reads from it takes
// nothing for granted.
package memfile

import (
	"sync/atomic"
	"unsafe"
)

// Offsets and sizes in bytes. The file is sparse.
const (
	QueueSpace      = int64(1) << 39 // queues lie below
	DirectoryOffset = int64(1) << 39
	DirectorySize   = (MaxCQ + MaxQP) * entrySize
	LogOffset       = int64(1) << 40
	LogSize         = int64(1) << 32
	Size            = LogOffset + LogSize
)

// Objects that the directory has room for.
const (
	MaxCQ = 8192
	MaxQP = 16384
)

const entrySize = 64

// Queue says where a ring lies in the file.
type Queue struct {
	Offset int64
	Slots  uint32 // power of two
	Elem   uint32 // bytes of a slot, power of two
}

// QP is a queue pair's entry. CQs are named by their index in the directory.
type QP struct {
	Num            uint32
	SQ, RQ         Queue // RQ has no slots if there is none
	SendCQ, RecvCQ uint32
}

// Directory views the directory's bytes, mapped and shared.
type Directory struct{ mem []byte }

// NewDirectory returns the view of mem, which has DirectorySize bytes and is
// aligned to 8.
func NewDirectory(mem []byte) Directory { return Directory{mem[:DirectorySize]} }

// An entry is valid while its first word is not zero. That word is written
// last and cleared first, so a daemon that dies in between leaves no half entry.
const valid = 1

func (d Directory) words(i int) *[entrySize / 4]uint32 {
	return (*[entrySize / 4]uint32)(unsafe.Pointer(&d.mem[i*entrySize]))
}

func putQueue(w []uint32, q Queue) {
	w[0], w[1], w[2], w[3] = uint32(q.Offset), uint32(q.Offset>>32), q.Slots, q.Elem
}

func getQueue(w []uint32) Queue {
	return Queue{Offset: int64(w[0]) | int64(w[1])<<32, Slots: w[2], Elem: w[3]}
}

// SetCQ writes completion queue entry i, less than MaxCQ.
func (d Directory) SetCQ(i int, q Queue) {
	w := d.words(i)
	putQueue(w[4:], q)
	atomic.StoreUint32(&w[0], valid)
}

// ClearCQ removes completion queue entry i.
func (d Directory) ClearCQ(i int) { atomic.StoreUint32(&d.words(i)[0], 0) }

// CQ returns completion queue entry i; false if there is none.
func (d Directory) CQ(i int) (Queue, bool) {
	if i < 0 || i >= MaxCQ {
		return Queue{}, false
	}
	w := d.words(i)
	if atomic.LoadUint32(&w[0]) != valid {
		return Queue{}, false
	}
	return getQueue(w[4:]), true
}

// SetQP writes queue pair entry i, less than MaxQP.
func (d Directory) SetQP(i int, q QP) {
	w := d.words(MaxCQ + i)
	w[1], w[2], w[3] = q.Num, q.SendCQ, q.RecvCQ
	putQueue(w[4:], q.SQ)
	putQueue(w[8:], q.RQ)
	atomic.StoreUint32(&w[0], valid)
}

// ClearQP removes queue pair entry i.
func (d Directory) ClearQP(i int) { atomic.StoreUint32(&d.words(MaxCQ + i)[0], 0) }

// QP returns queue pair entry i; false if there is none.
func (d Directory) QP(i int) (QP, bool) {
	if i < 0 || i >= MaxQP {
		return QP{}, false
	}
	w := d.words(MaxCQ + i)
	if atomic.LoadUint32(&w[0]) != valid {
		return QP{}, false
	}
	return QP{Num: w[1], SendCQ: w[2], RecvCQ: w[3], SQ: getQueue(w[4:]), RQ: getQueue(w[8:])}, true
}

package verbs

import (
	"fmt"

	"cnuas/hca"
)

// Arena is the memory of a program: a range of addresses backed by a slice.
// It implements hca.Memory.
type Arena struct {
	base uint64
	b    []byte
	used uint64

	// Fault, if not nil, is asked before each copy of a segment; an error from
	// it is what a page that is not mapped gives.
	Fault func(s hca.Segment, write bool) error
}

// ArenaBase is the first address of an arena: not zero, so that a forgotten
// address is an error.
const ArenaBase = 0x10000

// NewArena returns an arena of size bytes.
func NewArena(size int) *Arena { return &Arena{base: ArenaBase, b: make([]byte, size)} }

// Alloc returns n bytes, aligned to 64, and their address. It panics when the
// arena is full: its size is the caller's choice.
func (a *Arena) Alloc(n int) (uint64, []byte) {
	at := (a.used + 63) &^ 63
	if at+uint64(n) > uint64(len(a.b)) {
		panic(fmt.Sprintf("verbs: arena of %d bytes has no %d left", len(a.b), n))
	}
	a.used = at + uint64(n)
	return a.base + at, a.b[at : at+uint64(n) : at+uint64(n)]
}

// At returns n bytes at an address.
func (a *Arena) At(addr uint64, n int) ([]byte, error) {
	off := addr - a.base
	if addr < a.base || off > uint64(len(a.b)) || uint64(n) > uint64(len(a.b))-off {
		return nil, fmt.Errorf("verbs: %d bytes at %#x are outside the arena", n, addr)
	}
	return a.b[off : off+uint64(n)], nil
}

func (a *Arena) segment(s hca.Segment, write bool) ([]byte, error) {
	if a.Fault != nil {
		if err := a.Fault(s, write); err != nil {
			return nil, err
		}
	}
	return a.At(s.Addr, int(s.Len))
}

// Gather implements hca.Memory.
func (a *Arena) Gather(dst []byte, src []hca.Segment) error {
	for _, s := range src {
		b, err := a.segment(s, false)
		if err != nil {
			return err
		}
		dst = dst[copy(dst, b):]
	}
	return nil
}

// Scatter implements hca.Memory.
func (a *Arena) Scatter(dst []hca.Segment, src [][]byte) error {
	var p []byte
	for _, s := range dst {
		b, err := a.segment(s, true)
		if err != nil {
			return err
		}
		for len(b) > 0 {
			if len(p) == 0 {
				p, src = src[0], src[1:]
			}
			n := copy(b, p)
			b, p = b[n:], p[n:]
		}
	}
	return nil
}

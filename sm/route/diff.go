package route

import "slices"

// Blocks calls f for every block of BlockSize LIDs in which two tables of a
// switch differ, in ascending order: what SubnSet(LinearForwardingTable) must
// send to make was into is. The shorter table counts as filled up with NoRoute.
// Was may be nil, that of a switch that has not been programmed; f may keep b
// only while is stays as it is.
func Blocks(was, is []uint8, f func(block int, b *[BlockSize]uint8)) {
	for i := 0; i < max(len(was), len(is)); i += BlockSize {
		a, b := block(was, i), block(is, i)
		if *a != *b {
			f(i/BlockSize, b)
		}
	}
}

var empty = func() (b [BlockSize]uint8) {
	for i := range b {
		b[i] = NoRoute
	}
	return b
}()

// block is a block of a table, without a copy where the table has all of it.
func block(t []uint8, at int) *[BlockSize]uint8 {
	if at+BlockSize <= len(t) {
		return (*[BlockSize]uint8)(t[at:])
	}
	b := empty
	if at < len(t) {
		copy(b[:], t[at:])
	}
	return &b
}

// Equal tells whether two results forward alike: the same tables and levels.
func (t *Tables) Equal(x *Tables) bool {
	if t.VLs != x.VLs || len(t.LFT) != len(x.LFT) {
		return false
	}
	for u := range t.LFT {
		if !slices.Equal(t.LFT[u], x.LFT[u]) {
			return false
		}
		for lid := range t.LFT[u] {
			if t.SL(u, uint16(lid)) != x.SL(u, uint16(lid)) {
				return false
			}
		}
	}
	return true
}

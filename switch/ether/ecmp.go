package ether

import (
	"encoding/binary"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// flowHash is the hash of the 5-tuple that chooses among next hops (RFC 2992):
// addresses, protocol and ports, of which the UDP source port is what spreads
// the queue pairs of RoCEv2 (IBTA annex A17.3.1). The seed differs between
// switches: if it did not, a second tier would see only flows that the first
// had already sorted, and leave some of its links empty.
//
// Fragments are hashed without ports, since only the first has them, so that
// the fragments of a datagram stay together.
func flowHash(f *frame.Frame, seed uint64) uint64 {
	l := &f.Meta.Layers
	p := f.Data[l.L3:]
	h := seed
	word := uint64(l.Proto) << 32
	if l.EtherType == wire.EtherTypeIPv6 {
		for i := 8; i < 40; i += 8 {
			h = mix(h ^ binary.BigEndian.Uint64(p[i:]))
		}
	} else {
		h = mix(h ^ binary.BigEndian.Uint64(p[12:]))
		if wire.IPv4(p).MoreFragments() {
			return mix(h ^ word)
		}
	}
	if l.L4 != 0 {
		word |= uint64(l.SrcPort)<<16 | uint64(l.DstPort)
	}
	return mix(h ^ word)
}

// mix is the finalizer of MurmurHash3: each bit of the input changes each bit
// of the output with a probability near one half.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// choose returns the next hop of a flow. When the set of live next hops
// changes, flows move (there is no resilient hashing).
func (s *Switch) choose(g *group, f *frame.Frame) *adjacency {
	n := uint64(len(g.live))
	if n == 1 {
		return g.live[0]
	}
	return g.live[flowHash(f, s.router.seed)>>32*n>>32]
}

package ether

import (
	"cmp"
	"net/netip"
	"slices"
)

// fib is the forwarding table: longest prefix first. It is behind a cache by
// destination address, so its own speed matters for first frames only.
type fib struct {
	groups []*group // by prefix, for what goes over all of them
	index  map[netip.Prefix]*group
	bits   []int // prefix lengths in use, longest first
}

// group is a route: to a subnet of an interface, or by next hops of equal cost.
type group struct {
	prefix netip.Prefix
	subnet *iface       // interface of a connected subnet; nil: use via
	via    []*adjacency // as configured
	live   []*adjacency // those behind interfaces that are up
}

// group returns the route to exactly that prefix, which is masked.
func (t *fib) group(p netip.Prefix) *group {
	if t.index == nil {
		t.index = make(map[netip.Prefix]*group)
	}
	g := t.index[p]
	if g == nil {
		g = &group{prefix: p}
		t.index[p] = g
		t.groups = append(t.groups, g)
		if !slices.Contains(t.bits, p.Bits()) {
			t.bits = append(t.bits, p.Bits())
		}
	}
	return g
}

func (t *fib) connect(p netip.Prefix, x *iface) { t.group(p).subnet = x }

func (t *fib) sort() {
	slices.SortFunc(t.groups, func(a, b *group) int {
		return cmp.Or(-cmp.Compare(a.prefix.Bits(), b.prefix.Bits()), a.prefix.Addr().Compare(b.prefix.Addr()))
	})
	slices.Sort(t.bits)
	slices.Reverse(t.bits)
}

// lookup returns the longest route that can be used now; nil if there is none.
func (t *fib) lookup(a netip.Addr) *group {
	for _, n := range t.bits {
		p, err := a.Prefix(n)
		if err != nil {
			continue // longer than an address of this version
		}
		if g := t.index[p]; g != nil && (g.subnet != nil && g.subnet.up || len(g.live) > 0) {
			return g
		}
	}
	return nil
}

// cacheBits: 1024 destinations, which is more hosts than one engine carries.
const cacheBits = 10

// kind says what is done with frames to a destination.
type kind uint8

const (
	toNobody kind = iota
	toSelf
	toNeighbour
	toGroup
)

type cacheSlot struct {
	hi, lo uint64
	gen    uint32
	target
}

// target is where frames to one address go.
type target struct {
	kind  kind
	adj   *adjacency
	group *group
}

// v4Key marks keys of IPv4 destinations. As IPv6 addresses they would be
// multicast, which is not looked up.
const v4Key = 0xffff_ffff_ffff_ffff

// find returns where frames to the address hi:lo go.
func (s *Switch) find(hi, lo uint64) target {
	r := &s.router
	c := &r.cache[(hi*31^lo)*0x9e3779b97f4a7c15>>(64-cacheBits)]
	if c.gen == r.gen && c.hi == hi && c.lo == lo {
		return c.target
	}
	r.connected(s)
	t := s.resolve(addrOf(hi, lo))
	if t.kind != toNobody {
		*c = cacheSlot{hi: hi, lo: lo, gen: r.gen, target: t}
	}
	return t
}

func (s *Switch) resolve(a netip.Addr) target {
	r := &s.router
	if r.local[a] {
		return target{kind: toSelf}
	}
	g := r.fib.lookup(a)
	switch {
	case g == nil:
		return target{}
	case g.subnet != nil && g.subnet.up:
		if adj := s.adjacency(g.subnet, a); adj != nil {
			return target{kind: toNeighbour, adj: adj}
		}
		return target{}
	}
	return target{kind: toGroup, group: g}
}

func addrOf(hi, lo uint64) netip.Addr {
	if hi == v4Key {
		return netip.AddrFrom4([4]byte{byte(lo >> 24), byte(lo >> 16), byte(lo >> 8), byte(lo)})
	}
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(hi>>(56-8*i)), byte(lo>>(56-8*i))
	}
	return netip.AddrFrom16(b)
}

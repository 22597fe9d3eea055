package ib

import (
	"math/bits"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
)

// group counts the copies of one multicast packet that have not left. They
// share the buffer in which it came. Meta.Tag of each is the group's index + 1.
type group struct {
	copies int32
	next   int32 // free list
}

func (s *Switch) getGroup(copies int) uint64 {
	i := s.free
	if i < 0 {
		i = int32(len(s.groups))
		s.groups = append(s.groups, group{})
	} else {
		s.free = s.groups[i].next
	}
	s.groups[i].copies = int32(copies)
	return uint64(i) + 1
}

func (s *Switch) putGroup(i int32) {
	s.groups[i] = group{next: s.free}
	s.free = i
}

// multicast sends a copy by each port of the group but the one by which the
// packet came (IBTA vol. 1 §18.2.4.3.3). Each waits for credits of its own
// output.
func (s *Switch) multicast(p *ibport.Port, in int, f *frame.Frame) {
	mask := s.groupPorts(f.Meta.IB.DLID)
	mask[in>>6] &^= 1 << (in & 63)
	mask[0] &^= 1 // port 0 has no consumer of multicast
	n := 0
	for _, w := range mask {
		n += bits.OnesCount64(w)
	}
	switch n {
	case 0:
		p.CountRelayError(ibport.RelayDLID)
		s.drop(f, DropNoDestination)
		return
	case 1:
	default:
		f.Meta.Tag = s.getGroup(n)
		s.count.Copies += uint64(n - 1)
	}
	for i, w := range mask {
		for ; w != 0; w &= w - 1 {
			out := i<<6 | bits.TrailingZeros64(w)
			if n--; n == 0 {
				s.enqueue(in, out, f)
				return
			}
			s.enqueue(in, out, s.pool.Clone(f))
		}
	}
}

// groupPorts is the set of ports of a multicast LID: its entry, or the default
// port of one that has none (IBTA vol. 1 §18.2.4.3.3).
func (s *Switch) groupPorts(l wire.LID) (mask [4]uint64) {
	i := int(l - wire.LIDMulticastMin)
	if i < len(s.mft) && (s.info.MulticastFDBTop == 0 || uint16(l) <= s.info.MulticastFDBTop) {
		mask = s.mft[i]
	}
	if mask == ([4]uint64{}) {
		if d := int(s.info.DefaultMulticastPrimaryPort); d > 0 && d < len(s.ports) {
			mask[d>>6] |= 1 << (d & 63)
		}
	}
	return mask
}

package ether

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read RFC 3168 §5 (ECN in IP) and RFC 1624 (incremental checksum) before
// editing.
//
// A frame is marked when it is queued, by the length of its egress queue at
// that instant, itself not counted: the congestion point of DCQCN (Zhu et al.,
// "Congestion control for large-scale RDMA deployments", SIGCOMM 2015, §3.1).
// There is no average, as in that paper, and frames that are not ECN-capable
// are not dropped instead.

// marker is the marking curve of one priority.
type marker struct {
	enable     bool
	kmin, kmax int64
	slope      float64 // probability per byte above kmin
}

func (m *marker) init(c ECN) {
	*m = marker{enable: c.Enable, kmin: c.KMin, kmax: c.KMax}
	if c.KMax > c.KMin {
		m.slope = c.PMax / float64(c.KMax-c.KMin)
	}
}

// probability that a frame is marked that finds n bytes in its queue.
func (m *marker) probability(n int64) float64 {
	switch {
	case n <= m.kmin:
		return 0
	case n > m.kmax:
		return 1
	}
	return m.slope * float64(n-m.kmin)
}

// mark sets CE on f if it is ECN-capable and the queue is long enough. It is
// called with an IP frame that finds more than KMin bytes.
func (s *Switch) mark(out *port, m *marker, prio int, f *frame.Frame, waits int64) {
	l := &f.Meta.Layers
	if e := l.ECN(); e == wire.ECNNotECT || e == wire.ECNCE {
		return
	}
	if waits <= m.kmax && !s.ecnRand.Chance(m.probability(waits)) {
		return
	}
	setCE(f.Data[l.L3:], l)
	out.count.ECNMarked[prio]++
}

// setCE marks an IP header of a frame with those layers.
func setCE(p []byte, l *wire.Layers) {
	l.TOS |= wire.ECNCE
	if l.EtherType == wire.EtherTypeIPv6 {
		wire.IPv6(p).SetTrafficClass(l.TOS)
		return
	}
	wire.IPv4(p).UpdateTOS(l.TOS)
}

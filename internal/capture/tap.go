package capture

import (
	"sync/atomic"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// Tap observes one port for a Session. It implements link.Observer.
type Tap struct {
	s        *Session
	index    uint16
	name     string
	link     LinkType
	received atomic.Uint64 // matched the filter
	lost     atomic.Uint64 // of those, the ring had no room for
}

var _ link.Observer = (*Tap)(nil)

// Observe copies f into the session's ring. Only the engine's thread calls it.
func (t *Tap) Observe(_ *link.Port, d link.Direction, now sim.Time, f *frame.Frame) {
	t.record(d, now, f, "")
}

// Note records f with a comment, for a device that wants to say what it did
// with a frame, such as why it was dropped. Only the engine's thread calls it.
func (t *Tap) Note(d link.Direction, now sim.Time, f *frame.Frame, comment string) {
	t.record(d, now, f, comment)
}

func (t *Tap) record(d link.Direction, now sim.Time, f *frame.Frame, comment string) {
	s := t.s
	b := f.AppendOpen(s.scratch[:0])
	frameLen := len(b)
	if t.link == InfiniBand {
		b = openIB(b)
	} else {
		for len(b) < minFrame {
			b = append(b, zeros[:minFrame-len(b)]...)
		}
	}
	s.scratch = b[:0]
	if s.cfg.Filter != nil && (t.link != Ethernet || !s.cfg.Filter.Match(b)) {
		return
	}
	t.received.Add(1)
	keep := len(b)
	if n := s.cfg.SnapLen; n > 0 && n < keep {
		keep = n
	}
	if len(comment) > maxComment {
		comment = comment[:maxComment]
	}
	if !s.ring.room(packetHead + len(comment) + keep) {
		t.lost.Add(1)
		return
	}
	switch {
	case t.link == InfiniBand:
		sealIB(b, frameLen, keep, f.Meta.ICRCDeferred)
	case keep > frameLen-4: // else the ICRC is cut off anyway
		f.SealICRC(b[:frameLen])
	}
	var h [packetHead]byte
	putPacketHead(&h, t.index, d, now, len(b), keep, len(comment))
	s.ring.put(h[:])
	s.ring.putString(comment)
	s.ring.put(b[:keep])
	s.publish()
}

// publish lets the writer see what was put into the ring, and wakes it if it
// sleeps.
func (s *Session) publish() {
	s.ring.publish()
	if s.sleeping.Load() && s.sleeping.CompareAndSwap(true, false) {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

var zeros [max(minFrame, erfFlowLen)]byte

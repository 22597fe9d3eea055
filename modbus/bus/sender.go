package bus

import (
	"sort"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// run is a row of characters without a gap, all at one line setting.
type run struct {
	line  rtu.Line
	start sim.Time // of the first character
	n     int      // characters
	done  int      // of them, those that are over
}

// at is when character i of the run begins, computed from the run's start so
// that the rounding of one character does not add up.
func (r *run) at(i int) sim.Time { return bitAt(r.start, r.line.Baud, i*r.line.Bits()) }

// rebase moves the start of a long run on, so that at does not overflow.
const rebase = 4096

// sender is what has a driver on the wire: a station, a master, or noise.
type sender struct {
	g       *Segment
	index   uint64 // order of creation
	name    string
	station *Station // one of the three is set
	master  *Master
	noise   *noise

	runs    []run // of which those from head on are not over
	head    int
	bytes   []byte // of the runs, from off on
	off     int
	lastEnd sim.Time // end of the last character that is over
	active  bool
	hit     bool // the last character collided
	scribe  scribe
	c       sentCounters
}

// tolerance is how long gaps may be that are the sender's host's.
func (s *sender) tolerance() sim.Time {
	if s.master != nil {
		return s.master.cfg.Tolerance
	}
	return 0
}

// empty tells whether nothing is queued or on the wire.
func (s *sender) empty() bool { return s.head == len(s.runs) }

// queued is the number of characters that are not over.
func (s *sender) queued() int { return len(s.bytes) - s.off }

// put queues bytes behind what is queued, not before now.
func (s *sender) put(now sim.Time, l rtu.Line, b []byte) {
	if len(b) == 0 {
		return
	}
	s.compact()
	if !s.empty() {
		r := &s.runs[len(s.runs)-1]
		end := r.at(r.n)
		if end >= now && r.line == l && r.n+len(b) <= rebase {
			r.n += len(b)
			s.bytes = append(s.bytes, b...)
			return
		}
		now = max(now, end)
	}
	now = max(now, s.lastEnd) // the line setting may have changed in mid-character
	s.runs = append(s.runs, run{line: l, start: now, n: len(b)})
	s.bytes = append(s.bytes, b...)
	s.g.activate(s)
}

// compact gives room that is over back, so that the queues stay as long as the
// most that ever was queued.
func (s *sender) compact() {
	if s.empty() {
		s.runs, s.head = s.runs[:0], 0
		s.bytes, s.off = s.bytes[:0], 0
		return
	}
	if s.head > len(s.runs)/2 {
		s.runs = s.runs[:copy(s.runs, s.runs[s.head:])]
		s.head = 0
	}
	if s.off > len(s.bytes)/2 {
		s.bytes = s.bytes[:copy(s.bytes, s.bytes[s.off:])]
		s.off = 0
	}
}

// next returns the first character that is not over.
func (s *sender) next() (r *run, start, end sim.Time, ok bool) {
	if s.empty() {
		return nil, 0, 0, false
	}
	r = &s.runs[s.head]
	return r, r.at(r.done), r.at(r.done + 1), true
}

// pop takes that character.
func (s *sender) pop() (b byte) {
	b = s.bytes[s.off]
	s.off++
	r := &s.runs[s.head]
	s.lastEnd = r.at(r.done + 1)
	if r.done++; r.done == r.n {
		s.head++
	}
	return b
}

// end is when the last queued character ends, or the last one ended.
func (s *sender) end() sim.Time {
	if s.empty() {
		return s.lastEnd
	}
	r := &s.runs[len(s.runs)-1]
	return r.at(r.n)
}

// step is how far the wire can be resolved at once: the end of what is queued,
// but not more than a number of characters.
func (s *sender) step() sim.Time {
	r := &s.runs[s.head]
	return r.at(min(r.n, r.done+maxStep))
}

// maxStep bounds the characters between two events of a talker.
const maxStep = 256

// cut drops what does not begin before a time, now or later: the character that
// is on the wire ends.
func (s *sender) cut(t sim.Time) (dropped int) {
	keep := 0
	for i := s.head; i < len(s.runs); i++ {
		r := &s.runs[i]
		k := sort.Search(r.n-r.done, func(j int) bool { return r.at(r.done+j) >= t })
		keep += k
		if k == r.n-r.done {
			continue
		}
		r.n = r.done + k
		if k > 0 {
			i++
		}
		s.runs = s.runs[:i]
		dropped = s.queued() - keep
		s.bytes = s.bytes[:s.off+keep]
		break
	}
	return dropped
}

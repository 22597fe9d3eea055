package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// wireChar is one character as it was on the wire.
type wireChar struct {
	from       *sender
	line       rtu.Line
	start, end sim.Time
	b          byte   // what was sent; of a collision: what comes of it
	bits       uint16 // its levels, the start bit lowest
	clean      bool   // the levels are those of b
	hit        bool   // another station talked during some of it
	lost       bool   // receivers had no room for it
}

// advance resolves the wire up to now: all characters that are over go to all
// listeners, in the order in which they ended. What a later call of the user
// does can change nothing of it. It calls observers, and no receiver.
func (g *Segment) advance(now sim.Time) {
	g.retire()
	for {
		var best *sender
		var first sim.Time
		for _, s := range g.active {
			if _, _, end, ok := s.next(); ok && end <= now && (best == nil || end < first) {
				best, first = s, end
			}
		}
		if best == nil {
			break
		}
		g.over(best)
	}
	// Between the characters the wire is at mark.
	quiet := now
	for _, s := range g.active {
		if _, start, _, ok := s.next(); ok {
			quiet = min(quiet, start)
		}
	}
	for _, r := range g.groups {
		r.ear.settle(quiet)
		r.feed(min(quiet, r.ear.u.since()))
	}
	for _, m := range g.masters {
		m.ear.settle(quiet)
	}
	for _, s := range g.senders {
		until := now // whoever else talks
		if _, start, _, ok := s.next(); ok {
			until = min(now, start)
		}
		s.scribe.settle(until)
	}
}

// over takes the first character of a sender, which is over, to everybody.
func (g *Segment) over(s *sender) {
	r, start, end, _ := s.next()
	w := wireChar{from: s, line: r.line, start: start, end: end, clean: true}
	for _, o := range g.active {
		if o != s && o.talks(start, end) {
			w.hit = true
		}
	}
	w.b = s.pop()
	if w.line.Data == 7 {
		w.b &= 0x7f
	}
	switch {
	case s.noise != nil:
		w.hit = true
	case w.hit:
		g.collide(s)
	default:
		w.bits = encode(w.line, w.b)
		g.spoil(&w)
	}
	if w.hit {
		w.b, w.clean = byte(g.rand.Uint32()), false
	}
	s.hit = w.hit
	g.c.Bytes++
	s.c.Bytes++
	if s.noise == nil {
		g.last = w.line
	}
	for _, r := range g.groups {
		r.ear.hear(&w)
	}
	for _, m := range g.masters {
		m.ear.hear(&w)
	}
	s.scribe.char(&w)
}

// talks tells whether some character of s lies between two times. Of those that
// are over only the last is looked at: callers go through the wire in order.
func (s *sender) talks(from, to sim.Time) bool {
	if s.lastEnd > from {
		return true
	}
	_, start, _, ok := s.next()
	return ok && start < to
}

// collide counts a collision once, however many characters it costs.
func (g *Segment) collide(s *sender) {
	if s.hit {
		return
	}
	s.c.Collisions++
	for _, o := range g.active {
		if o != s && o.hit {
			return // the other side was counted
		}
	}
	g.c.Collisions++
}

package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// group is the stations that listen at one line setting: they hear the same, so
// one UART and one framer serve them all, and only the station that is asked
// does more than count.
type group struct {
	g        *Segment
	ear      ear
	framer   *rtu.Framer
	stations []*Station // in order of creation
	batch    []rtu.Char // heard and not yet in the framer, all of one talker
	talker   *sender
	began    [2 * maxStep]sim.Time // when the last characters began
	chars    int                   // heard so far: the last is began[(chars-1)%len]
	waiting  int                   // stations whose reply waits for its time
	handle   func(*rtu.Frame)
	crc      uint64 // frames with a wrong CRC or with character errors
}

func (g *Segment) groupOf(l rtu.Line) *group {
	for _, r := range g.groups {
		if r.ear.u.line == l {
			return r
		}
	}
	r := &group{g: g, framer: rtu.NewFramer(l, 0), batch: make([]rtu.Char, 0, maxStep)}
	r.ear = ear{g: g, u: uart{line: l, fed: g.p.Now()}, to: r}
	r.handle = r.frame
	g.groups = append(g.groups, r)
	return r
}

// heard implements the end of an ear.
func (r *group) heard(c rtu.Char, start sim.Time, from *sender) {
	if from != r.talker || len(r.batch) == cap(r.batch) {
		r.feed(0)
		r.talker = from
		r.framer.SetTolerance(from.tolerance())
	}
	r.batch = append(r.batch, c)
	r.began[r.chars%len(r.began)] = start
	r.chars++
	if r.waiting > 0 {
		for _, t := range r.stations {
			t.unsure(start, from)
		}
	}
}

// feed gives the batch to the framer at a time, or at the last character's.
func (r *group) feed(now sim.Time) {
	n := len(r.batch)
	if n > 0 {
		now = max(now, r.batch[n-1].At)
		r.framer.Feed(now, r.batch, r.handle)
		r.batch = r.batch[:0]
	} else if t, ok := r.framer.Deadline(); ok && t <= now {
		r.framer.Feed(now, nil, r.handle)
	}
}

// frame takes what the framer cut.
func (r *group) frame(f *rtu.Frame) {
	if f.Kind == rtu.Noise {
		r.crc++
	}
	sure := !r.followed(f.End)
	for _, t := range r.stations {
		switch {
		case !t.plugged:
		case f.Kind == rtu.Request:
			t.request(f, sure)
		case r.talker == t.sender: // its receiver is off while it sends
		default:
			t.slave.Note(f)
		}
	}
}

// followed tells whether a character that was heard already began within t3.5
// after a frame.
func (r *group) followed(end sim.Time) bool {
	silent := end + r.ear.u.line.T35()
	for i := r.chars - 1; i >= 0 && i >= r.chars-len(r.began); i-- {
		at := r.began[i%len(r.began)]
		if at < end {
			return false
		}
		if at < silent {
			return true
		}
	}
	return false
}

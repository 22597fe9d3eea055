package bus

import (
	"fmt"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Config of a Segment. The zero value is a plain segment.
type Config struct {
	Name string // "bus0"
	// Turnaround is from the end of a request to the first bit of its reply. A
	// reply never begins before t3.5 of its station's line, whatever this says.
	Turnaround sim.Time
	// Echo: masters hear themselves, as on a transceiver whose receiver is
	// always on. Else a master is deaf while it sends.
	Echo bool
	// Tolerance of masters that name none of their own: gaps inside a frame up
	// to this are no silence. Not more than t1.5 is what the standard allows
	// (V1.02, 2.5.1.1), and what zero stands for.
	Tolerance sim.Time
}

// Segment is one pair of wires with everything on it.
type Segment struct {
	cfg      Config
	p        *sim.Proc
	rand     *sim.Rand
	senders  []*sender // in order of creation
	active   []*sender // those with characters that matter, in the same order
	stations []*Station
	masters  []*Master
	groups   []*group // stations by line setting
	faults   []*fault
	watch    []*watcher
	timer    sim.Timer
	last     rtu.Line // setting of the last talker: noise has no other
	noises   []*noise
	seq      uint64 // of faults and senders
	c        Counters
}

// defaultLine is the standard's (V1.02, 2.5.1).
var defaultLine = rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}

// New returns a segment without stations. Events are scheduled by p, which
// belongs to the segment alone, and random draws come from it.
func New(p *sim.Proc, c Config) *Segment {
	g := &Segment{cfg: c, p: p, rand: p.NewRand(1), last: defaultLine}
	g.timer.Init(p, g, 0, 0)
	return g
}

// Name of the segment.
func (g *Segment) Name() string { return g.cfg.Name }

// Now is the time of the segment's engine.
func (g *Segment) Now() sim.Time { return g.p.Now() }

func (g *Segment) newSender(name string) *sender {
	s := &sender{g: g, index: g.seq, name: name}
	g.seq++
	g.senders = append(g.senders, s)
	return s
}

// activate lists a sender among the active ones, in order of creation.
func (g *Segment) activate(s *sender) {
	if s.active {
		return
	}
	s.active = true
	g.active = append(g.active, s)
	for i := len(g.active) - 1; i > 0 && g.active[i-1].index > s.index; i-- {
		g.active[i-1], g.active[i] = g.active[i], g.active[i-1]
	}
}

// retire forgets the senders that are silent and overlap nothing any more.
func (g *Segment) retire() {
	first := sim.Forever // beginning of the first character that is not over
	for _, s := range g.active {
		if _, start, _, ok := s.next(); ok {
			first = min(first, start)
		}
	}
	n := 0
	for _, s := range g.active {
		if s.empty() && s.lastEnd <= first {
			s.active = false
			continue
		}
		g.active[n] = s
		n++
	}
	if n == len(g.active) {
		return
	}
	clear(g.active[n:])
	g.active = g.active[:n]
	g.forget()
}

// forget removes the senders that will never talk again.
func (g *Segment) forget() {
	n := 0
	for _, s := range g.senders {
		if s.active || s.scribe.busy() || (s.master == nil || !s.master.closed) && (s.noise == nil || !s.noise.over) {
			g.senders[n] = s
			n++
		}
	}
	clear(g.senders[n:])
	g.senders = g.senders[:n]
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (g *Segment) HandleEvent(now sim.Time, op uint32, arg uint64) {
	g.advance(now)
	if op == opReply {
		g.stations[arg].begin(now)
	}
	g.rearm(now)
}

// Events of a segment.
const (
	opWire  = iota // the wire is to be resolved
	opReply        // a station answers; arg: which
)

// rearm sets the timer to when the wire must be looked at again.
func (g *Segment) rearm(now sim.Time) {
	at := sim.Forever
	open := sim.Forever
	for _, s := range g.active {
		if !s.empty() {
			at = min(at, s.step())
			_, start, _, _ := s.next()
			open = min(open, start)
		}
	}
	for _, r := range g.groups {
		if t, ok := r.ear.u.due(); ok && t <= open {
			at = min(at, t)
		}
	}
	for _, m := range g.masters {
		if t, ok := m.ear.u.due(); ok && t <= open {
			at = min(at, t)
		}
		at = min(at, m.wants())
		m.rearm(now)
	}
	for _, r := range g.groups {
		if t, ok := r.framer.Deadline(); ok && t <= open && r.ear.u.state == idle {
			at = min(at, t)
		}
	}
	for _, s := range g.senders {
		if t, ok := s.scribe.deadline(); ok && s.empty() {
			at = min(at, t)
		}
	}
	if at == sim.Forever {
		g.timer.Stop()
		return
	}
	g.timer.Reset(max(at, now))
}

// CheckLine tells whether a UART has such a setting: 50 to 4000000 baud, 7 or 8
// data bits, 1 or 2 stop bits. Those who take settings from outside ask it.
func CheckLine(l rtu.Line) error {
	if !valid(l) {
		return fmt.Errorf("bus: line setting %v: want 50 to 4000000 baud, 7 or 8 data bits, parity none, odd or even, 1 or 2 stop bits", l)
	}
	return nil
}

func (g *Segment) must(who string, l rtu.Line) {
	if err := CheckLine(l); err != nil {
		panic(fmt.Sprintf("segment %s, station %s at %v: %v", g.cfg.Name, who, g.p.Now(), err))
	}
}

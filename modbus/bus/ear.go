package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// ear is one listener: a UART at some line setting, and where its characters go.
// Stations with the same setting share one, so that many cost what one does.
type ear struct {
	g    *Segment
	u    uart
	self *sender // whose own characters it does not hear; nil: hears all
	to   interface {
		heard(c rtu.Char, start sim.Time, from *sender)
	}
	from    rtu.Line // setting of the last talker, and whether it is ours
	same    bool
	checked bool
	busy    sim.Time // end of the garbage that was heard last
	lost    sim.Time // end of a character that was lost; 0: reported
	talker  *sender  // of the character that u is in
	c       HeardCounters
}

// HeardCounters are what a listener made of the wire since it is there, at its
// own line setting.
type HeardCounters struct {
	Chars   uint64
	Framing uint64 // characters without a stop bit
	Parity  uint64 // characters with the wrong parity
	Overrun uint64 // characters lost before one
	Breaks  uint64 // characters of zeros without a stop bit
}

func (e *ear) setLine(l rtu.Line, now sim.Time) {
	e.u.line, e.checked = l, false
	e.u.reset(now)
}

// hears tells whether the listener's receiver is on during a character.
func (e *ear) hears(w *wireChar) bool {
	if e.self == nil || e.g.cfg.Echo {
		return true
	}
	return e.self != w.from && !e.self.talks(w.start, w.end)
}

func (e *ear) hear(w *wireChar) {
	switch {
	case !e.hears(w):
		e.u.reset(w.end)
	case w.lost:
		e.settle(w.start)
		e.u.reset(w.end)
		e.lost = w.end
	case w.hit:
		if w.start < e.busy {
			return // the same garbage, from the other side
		}
		e.u.reset(w.end)
		e.busy = w.end
		e.put(rtu.Char{At: w.end, Byte: w.b, Err: rtu.FramingError}, w.start, w.from)
	default:
		if e.u.state != idle {
			e.settle(w.start)
		}
		if w.clean && e.u.state == idle && e.matches(w.line) {
			e.u.fed = w.end
			e.put(rtu.Char{At: w.end, Byte: w.b}, w.start, w.from)
			return
		}
		e.sample(w)
	}
}

// matches is compatible, remembered for the last talker.
func (e *ear) matches(l rtu.Line) bool {
	if !e.checked || e.from != l {
		e.from, e.same, e.checked = l, compatible(l, e.u.line), true
	}
	return e.same
}

// sample takes the levels of a character bit by bit.
func (e *ear) sample(w *wireChar) {
	if e.u.fed < w.start {
		e.settle(w.start)
		e.u.fed = w.start
	}
	n := w.line.Bits()
	for k := range n {
		c, done := e.u.feed(w.bits>>k&1 == 1, bitAt(w.start, w.line.Baud, k+1))
		if e.u.state == inChar && e.talker == nil {
			e.talker = w.from
		}
		if done {
			e.put(c, e.u.start, w.from)
			e.talker = nil
		}
	}
}

// settle lets the wire be at mark until a time: it may complete a character.
func (e *ear) settle(to sim.Time) {
	if e.u.state == idle {
		return
	}
	if c, done := e.u.feed(true, to); done {
		e.put(c, e.u.start, e.talker)
	}
	if e.u.state == idle {
		e.talker = nil
	}
}

func (e *ear) put(c rtu.Char, start sim.Time, from *sender) {
	if e.lost != 0 {
		// A UART tells of the loss with the next character; what comes after a
		// pause is another story.
		if start-e.lost < e.u.line.T15() {
			c.Err |= rtu.Overrun
			e.c.Overrun++
		}
		e.lost = 0
	}
	e.c.Chars++
	if c.Err != 0 {
		e.c.count(c.Err)
	}
	e.to.heard(c, start, from)
}

func (c *HeardCounters) count(e rtu.LineError) {
	if e&rtu.FramingError != 0 {
		c.Framing++
	}
	if e&rtu.ParityError != 0 {
		c.Parity++
	}
	if e&rtu.Break != 0 {
		c.Breaks++
	}
}

func (c HeardCounters) minus(o HeardCounters) HeardCounters {
	return HeardCounters{c.Chars - o.Chars, c.Framing - o.Framing, c.Parity - o.Parity, c.Overrun - o.Overrun, c.Breaks - o.Breaks}
}

func (c HeardCounters) plus(o HeardCounters) HeardCounters {
	return HeardCounters{c.Chars + o.Chars, c.Framing + o.Framing, c.Parity + o.Parity, c.Overrun + o.Overrun, c.Breaks + o.Breaks}
}

package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Frame is an ADU as it was on the wire, or characters that are none, decoded
// at the setting at which it was sent.
type Frame struct {
	Kind    rtu.FrameKind
	Bad     rtu.Bad  // Good: an ADU with the right CRC and no character errors
	Start   sim.Time // first edge of the first start bit
	End     sim.Time // end of the last stop bit
	Line    rtu.Line // of the talker
	Station string   // the talker: a slave, a master, "noise"
	Master  bool     // the talker is a master
	Bytes   []byte   // as receivers got them; of an ADU with address and CRC
	Errs    []rtu.LineError
	// Collided: somebody else talked during some of it.
	Collided bool
	Lost     int // characters that were sent and that no receiver had room for
}

// Observer sees every frame when its last character has ended (frames that only
// silence ends: after the silence). f is valid during the call, in which the
// segment must not be used.
type Observer interface {
	Frame(f *Frame)
}

type watcher struct{ o Observer }

// Observe adds an observer; remove takes it away again.
func (g *Segment) Observe(o Observer) (remove func()) {
	g.advance(g.p.Now())
	g.rearm(g.p.Now())
	w := &watcher{o}
	g.watch = append(g.watch, w)
	return func() {
		for i, x := range g.watch {
			if x == w {
				g.watch = append(g.watch[:i:i], g.watch[i+1:]...)
				return
			}
		}
	}
}

// held is how many characters a scribe keeps: as many as a framer.
const held = 2 * rtu.MaxADU

// scribe cuts what one talker sends into frames, for observers and counters. It
// knows who talks, which listeners do not: a slave's frames are those that it
// made, a master's are cut by length and CRC, noise ends with a pause.
type scribe struct {
	s      *sender
	framer *rtu.Framer // of a master
	handle func(*rtu.Frame)
	line   rtu.Line
	at     [held]sim.Time // begin of each character
	to     [held]sim.Time // end of each
	b      [held]byte
	err    [held]rtu.LineError
	hit    [held]bool
	n      int
	fed    int // of them, those that the framer has
	lost   int
	batch  [64]rtu.Char
	part   [3]int // characters of a reply that are still to come
	frame  Frame
}

func (c *scribe) init(s *sender) {
	c.s, c.line = s, defaultLine
	if s.master == nil {
		return
	}
	c.framer = rtu.NewFramer(defaultLine, s.tolerance())
	for a := range 255 {
		c.framer.SetOwn(uint8(a+1), true) // a master sends requests
	}
	c.handle = c.cut
}

// busy tells whether characters wait to be in a frame.
func (c *scribe) busy() bool { return c.n > 0 }

// expect says how a reply that is put next is made up.
func (c *scribe) expect(part [3]int) { c.part = part }

// char takes a character that was on the wire.
func (c *scribe) char(w *wireChar) {
	if c.n > 0 && (w.line != c.line || c.n == held) {
		c.close()
	}
	if c.framer != nil && w.line != c.line {
		c.framer.SetLine(w.line)
	}
	c.line = w.line
	if c.part != [3]int{} {
		defer c.partDone()
	}
	if w.lost {
		c.lost++
		c.s.g.c.Lost++
		return
	}
	i := c.n
	c.at[i], c.to[i], c.hit[i], c.b[i], c.err[i] = w.start, w.end, w.hit, w.b, 0
	switch {
	case w.hit:
		c.err[i] = rtu.FramingError
	case !w.clean:
		c.b[i], c.err[i] = decode(w.line, w.bits)
		if w.bits&1 != 0 {
			c.err[i] = rtu.FramingError // no start bit
		}
	}
	c.n++
	if e := c.err[i]; e != 0 {
		if e&rtu.FramingError != 0 {
			c.s.g.c.FramingErrors++
			c.s.c.FramingErrors++
		} else {
			c.s.g.c.ParityErrors++
			c.s.c.ParityErrors++
		}
	}
	if c.framer != nil && c.n-c.fed == len(c.batch) {
		c.feed(0)
	}
}

// partDone counts a character of a reply, and ends a part with its last.
func (c *scribe) partDone() {
	for i := range c.part {
		if c.part[i] == 0 {
			continue
		}
		if c.part[i]--; c.part[i] == 0 {
			kind := rtu.Noise
			if i == 1 {
				kind = rtu.Reply
			}
			c.give(c.n, kind, c.judge(c.n))
		}
		return
	}
}

// feed gives the framer what it does not have.
func (c *scribe) feed(now sim.Time) {
	k := 0
	for i := c.fed; i < c.n; i++ {
		c.batch[k] = rtu.Char{At: c.to[i], Byte: c.b[i], Err: c.err[i]}
		k++
	}
	c.fed = c.n
	if k > 0 {
		now = max(now, c.batch[k-1].At)
	}
	c.framer.Feed(now, c.batch[:k], c.handle)
}

// cut takes what the framer cut from a master's characters.
func (c *scribe) cut(f *rtu.Frame) { c.give(len(f.ADU), f.Kind, f.Bad) }

// settle ends what a pause ends. The talker has been silent up to now.
func (c *scribe) settle(now sim.Time) {
	switch {
	case c.framer != nil:
		if t, ok := c.framer.Deadline(); c.fed < c.n || ok && t <= now {
			c.feed(now)
		}
	case c.n == 0:
	case c.s.noise != nil:
		if t, _ := c.deadline(); t <= now {
			c.give(c.n, rtu.Noise, rtu.BadChar)
		}
	case c.s.empty():
		c.close() // a station was unplugged while it talked
	}
}

// deadline is when settle has something to do if nothing comes.
func (c *scribe) deadline() (sim.Time, bool) {
	if c.framer != nil {
		return c.framer.Deadline()
	}
	if c.n == 0 {
		return 0, false
	}
	return c.to[c.n-1] + c.line.T35(), true
}

// close ends what there is, whole or not.
func (c *scribe) close() {
	c.part = [3]int{}
	if c.framer != nil {
		c.feed(0)
		for c.n > 0 { // a pause ends it, and what that leaves
			n := c.n
			c.feed(c.to[n-1] + c.line.T35() + c.s.tolerance())
			if c.n == n {
				c.give(n, rtu.Noise, c.judge(n))
				c.framer.Reset()
			}
		}
		return
	}
	if c.n > 0 {
		c.give(c.n, rtu.Noise, c.judge(c.n))
	}
}

// judge says what is wrong with the first n characters as an ADU.
func (c *scribe) judge(n int) rtu.Bad {
	for _, e := range c.err[:n] {
		if e != 0 {
			return rtu.BadChar
		}
	}
	switch {
	case c.lost > 0:
		return rtu.BadOver
	case n < rtu.MinADU:
		return rtu.BadShort
	case !rtu.CheckCRC(c.b[:n]):
		return rtu.BadCRC
	}
	return rtu.Good
}

// give makes a frame of the first n characters.
func (c *scribe) give(n int, kind rtu.FrameKind, bad rtu.Bad) {
	n = min(n, c.n)
	if n == 0 {
		c.lost = 0
		return
	}
	f := &c.frame
	*f = Frame{Kind: kind, Bad: bad, Start: c.at[0], End: c.to[n-1], Line: c.line, Station: c.s.name, Master: c.s.master != nil,
		Bytes: c.b[:n], Errs: c.err[:n], Lost: c.lost}
	for _, h := range c.hit[:n] {
		f.Collided = f.Collided || h && c.s.noise == nil
	}
	c.s.g.note(c.s, f)
	for _, w := range c.s.g.watch {
		w.o.Frame(f)
	}
	copy(c.at[:], c.at[n:c.n])
	copy(c.to[:], c.to[n:c.n])
	copy(c.b[:], c.b[n:c.n])
	copy(c.err[:], c.err[n:c.n])
	copy(c.hit[:], c.hit[n:c.n])
	c.n, c.fed, c.lost = c.n-n, max(0, c.fed-n), 0
}

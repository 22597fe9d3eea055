package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Counters of a segment since it was made. Characters and frames are counted as
// they were on the wire, at the setting of who sent them; what a listener at
// another setting heard is in its own counters.
type Counters struct {
	Bytes          uint64 // characters on the wire, noise included
	Frames         uint64 // requests and replies with the right CRC and no errors
	Requests       uint64 // of them, to a slave
	Broadcasts     uint64
	Replies        uint64 // normal responses
	Exceptions     uint64 // exception responses
	BadFrames      uint64 // characters that were no good frame
	CRCErrors      uint64 // of them, those without a character error
	FramingErrors  uint64 // characters without a stop bit: bit errors, collisions, noise
	ParityErrors   uint64 // characters with the wrong parity
	Lost           uint64 // characters that receivers had no room for
	Collisions     uint64 // times when two talked at once
	Unanswered     uint64 // requests without a reply before the master's next, or within AnswerTime
	BadReplies     uint64 // replies that did not reach their master as they were made
	Unexpected     uint64 // replies that no request waited for any more
	Stations       []StationCounters
	Masters        []MasterCounters
	NoiseBursts    uint64 // rows of characters that nobody sent
	RepliesSpoiled uint64 // replies that a fault made silent, late, or wrong
}

// StationCounters are those of one slave.
type StationCounters struct {
	Name          string
	Bytes         uint64 // sent
	Requests      uint64 // heard and executed: to the station, or to all
	Replies       uint64 // normal responses sent
	Exceptions    uint64 // exception responses sent
	BadReplies    uint64 // of both, those that did not reach their master as they were made
	CRCErrors     uint64 // of them, with a wrong CRC and no character error
	Unanswered    uint64 // requests to its address that stayed without a reply
	Missed        uint64 // requests that came while it was busy with the one before
	Cancelled     uint64 // replies not begun, because somebody talked before t3.5
	Collisions    uint64
	FramingErrors uint64 // in what it sent
	ParityErrors  uint64 // in what it sent
	BadHeard      uint64 // rows of characters that were no frame at its setting
	Heard         HeardCounters
}

// MasterCounters are those of one master. What a client that checks CRCs
// reports as errors is BadRequests + Unanswered + BadReplies.
type MasterCounters struct {
	Name          string
	Bytes         uint64 // sent
	Requests      uint64 // to a slave
	Broadcasts    uint64
	BadRequests   uint64 // sent, and damaged on the wire, or no frame from the start
	Replies       uint64 // normal responses that reached it
	Exceptions    uint64 // exception responses that reached it
	BadReplies    uint64 // replies that reached it damaged, or while it was deaf or tuned to another setting
	Unanswered    uint64 // requests without a reply before the next one, or within AnswerTime
	Collisions    uint64
	FramingErrors uint64 // in what it sent
	ParityErrors  uint64 // in what it sent
	Refused       uint64 // bytes for which its queue had no room
	Purged        uint64 // bytes that Purge took from the queue
	Delivered     uint64 // characters that it got
	Heard         HeardCounters
}

// sentCounters are what all senders have.
type sentCounters struct {
	Bytes, Collisions, FramingErrors, ParityErrors                                      uint64
	Requests, Replies, Exceptions, BadReplies, CRCErrors, Unanswered, Missed, Cancelled uint64
}

// AnswerTime after a request counts as unanswered even if no other follows.
const AnswerTime = sim.Second

// note counts a frame and follows the conversation.
func (g *Segment) note(s *sender, f *Frame) {
	c := &g.c
	switch {
	case s.noise != nil:
		c.NoiseBursts++
		return
	case f.Kind == rtu.Noise || f.Bad != rtu.Good:
		c.BadFrames++
		if f.Bad == rtu.BadCRC {
			c.CRCErrors++
			s.c.CRCErrors++
		}
	default:
		c.Frames++
	}
	switch {
	case s.master != nil:
		s.master.sent(f)
	case f.Kind == rtu.Reply:
		g.replied(s.station, f)
	}
}

// sent follows what a master sends.
func (m *Master) sent(f *Frame) {
	c := &m.mc
	burst := f.Start-m.last > f.Line.T35() // else the rest of what was counted
	m.last = f.End
	switch {
	case f.Kind != rtu.Request || f.Bad != rtu.Good:
		if burst {
			m.unanswered()
			c.BadRequests++
		}
		return
	case f.Bytes[0] == rtu.Broadcast:
		m.unanswered()
		c.Broadcasts++
		m.g.c.Broadcasts++
		return
	}
	m.unanswered()
	c.Requests++
	m.g.c.Requests++
	m.open = request{is: true, addr: f.Bytes[0], end: f.End}
}

// unanswered ends the wait for a reply.
func (m *Master) unanswered() {
	if !m.open.is {
		return
	}
	m.open.is = false
	m.mc.Unanswered++
	m.g.c.Unanswered++
	for _, t := range m.g.stations {
		if t.slave.Address() == m.open.addr {
			t.c.Unanswered++
		}
	}
}

// replied follows what a slave sends.
func (g *Segment) replied(t *Station, f *Frame) {
	exception := t.exception
	count := func(replies, exceptions *uint64) {
		if exception {
			*exceptions++
		} else {
			*replies++
		}
	}
	count(&t.c.Replies, &t.c.Exceptions)
	if f.Bad == rtu.Good {
		count(&g.c.Replies, &g.c.Exceptions)
	}
	var m *Master
	for _, o := range g.masters {
		if o.open.is && o.open.addr == t.slave.Address() && o.open.end <= f.Start && (m == nil || o.open.end > m.open.end) {
			m = o
		}
	}
	if m == nil {
		g.c.Unexpected++
		return
	}
	m.open.is = false
	if f.Bad == rtu.Good && m.ear.tuned(f) {
		count(&m.mc.Replies, &m.mc.Exceptions)
		return
	}
	m.mc.BadReplies++
	t.c.BadReplies++
	g.c.BadReplies++
}

// tuned tells whether a listener that was not sending heard a frame well.
func (e *ear) tuned(f *Frame) bool { return e.matches(f.Line) }

// Counters returns all counters as of now.
func (g *Segment) Counters() Counters {
	now := g.p.Now()
	g.advance(now)
	for _, m := range g.masters {
		if m.open.is && now-m.open.end >= AnswerTime {
			m.unanswered()
		}
	}
	g.rearm(now)
	c := g.c
	for _, t := range g.stations {
		c.Stations = append(c.Stations, t.Counters())
	}
	for _, m := range g.masters {
		c.Masters = append(c.Masters, m.Counters())
	}
	return c
}

// Counters of the station, as of the last time that the wire was looked at.
func (t *Station) Counters() StationCounters {
	c := &t.c
	return StationCounters{
		Name: t.name, Bytes: c.Bytes, Requests: c.Requests, Replies: c.Replies, Exceptions: c.Exceptions,
		BadReplies: c.BadReplies, CRCErrors: c.CRCErrors, Unanswered: c.Unanswered, Missed: c.Missed, Cancelled: c.Cancelled,
		Collisions: c.Collisions, FramingErrors: c.FramingErrors, ParityErrors: c.ParityErrors,
		BadHeard: t.crc + t.group.crc - t.baseCRC,
		Heard:    t.heard.plus(t.group.ear.c.minus(t.base)),
	}
}

// Counters of the master, as of the last time that the wire was looked at.
func (m *Master) Counters() MasterCounters {
	c := m.mc
	c.Name, c.Heard = m.name, m.ear.c
	c.Bytes, c.Collisions, c.FramingErrors, c.ParityErrors = m.c.Bytes, m.c.Collisions, m.c.FramingErrors, m.c.ParityErrors
	return c
}

package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Receiver takes what a master hears.
type Receiver interface {
	// ReceiveChars gets a burst of characters of which the last ended at now or
	// before. c is valid during the call. The segment's methods may be called.
	ReceiveChars(now sim.Time, c []rtu.Char)
}

// MasterConfig of a master.
type MasterConfig struct {
	Name string
	// Tolerance: gaps in what the master sends up to t3.5 and this are the
	// host's and no end of a frame that is incomplete; 20 to 50 ms for guests. A
	// frame that is whole by length and CRC ends at once all the same. 0: the
	// segment's; below 0: none.
	Tolerance sim.Time
	// Slice is the longest that a heard character waits for delivery while
	// others follow; 0: what is heard is delivered when its talker has ended.
	Slice sim.Time
	// Queue is how many characters may wait to be sent; 0: DefaultQueue.
	Queue int
}

// DefaultQueue is 2.3 s of 19200 8E1.
const DefaultQueue = 4096

// Master is a port of a host on the segment: whatever it sends goes out at
// once, whether or not others talk.
type Master struct {
	*sender
	cfg    MasterConfig
	r      Receiver
	ear    ear
	closed bool
	buf    []rtu.Char
	spare  []rtu.Char
	due    sim.Time // when buf is to be delivered; Forever: nothing to deliver
	timer  sim.Timer
	open   request
	mc     MasterCounters
	last   sim.Time // end of its last frame
}

// request is one that waits for its reply.
type request struct {
	is   bool
	addr uint8
	end  sim.Time
}

// AddMaster puts a master on the segment. Until Listen it hears at 19200 8E1.
func (g *Segment) AddMaster(c MasterConfig, r Receiver) *Master {
	if c.Tolerance == 0 {
		c.Tolerance = g.cfg.Tolerance
	}
	c.Tolerance = max(c.Tolerance, 0)
	if c.Queue <= 0 {
		c.Queue = DefaultQueue
	}
	now := g.p.Now()
	g.advance(now)
	m := &Master{sender: g.newSender(c.Name), cfg: c, r: r, due: sim.Forever, last: -sim.Second, buf: make([]rtu.Char, 0, maxStep), spare: make([]rtu.Char, 0, maxStep)}
	m.master = m
	m.scribe.init(m.sender)
	m.ear = ear{g: g, u: uart{line: defaultLine, fed: now}, self: m.sender, to: m}
	m.timer.Init(g.p, m, 0, 0)
	g.masters = append(g.masters, m)
	return m
}

// Name of the master.
func (m *Master) Name() string { return m.name }

// Send queues bytes at a line setting behind those that are queued, and returns
// for how many there was room; the rest is counted as refused, as are all of a
// setting that CheckLine does not accept. What is queued goes out without a gap.
func (m *Master) Send(line rtu.Line, b []byte) int {
	g, now := m.g, m.g.p.Now()
	g.advance(now)
	n := min(len(b), max(0, m.cfg.Queue-m.queued()))
	if m.closed || !valid(line) {
		n = 0
	}
	m.mc.Refused += uint64(len(b) - n)
	m.put(now, line, b[:n])
	g.rearm(now)
	return n
}

// Room is how many bytes Send takes now. It is the back pressure for a host
// that writes faster than the wire: do not read more of it than this.
func (m *Master) Room() int {
	now := m.g.p.Now()
	m.g.advance(now)
	m.g.rearm(now)
	return max(0, m.cfg.Queue-m.queued())
}

// Drained is when the last queued character will have ended, or the last one did.
func (m *Master) Drained() sim.Time { return m.end() }

// Listen sets the line at which the master hears from now on: characters sent
// at another one arrive as noise. A setting that no UART has is an error.
func (m *Master) Listen(line rtu.Line) error {
	if err := CheckLine(line); err != nil {
		return err
	}
	if line == m.ear.u.line {
		return nil
	}
	now := m.g.p.Now()
	m.g.advance(now)
	m.ear.setLine(line, now)
	m.g.rearm(now)
	return nil
}

// Purge forgets what is queued to be sent and what was heard and is not yet
// delivered. The character that is going out ends.
func (m *Master) Purge() {
	m.PurgeSend()
	m.PurgeReceived()
}

// PurgeSend forgets what is queued to be sent.
func (m *Master) PurgeSend() {
	now := m.g.p.Now()
	m.g.advance(now)
	m.mc.Purged += uint64(m.cut(now))
	m.g.rearm(now)
}

// PurgeLater forgets what is queued and would begin to go out after some time
// only. It returns how many characters.
func (m *Master) PurgeLater(after sim.Time) (n int) {
	now := m.g.p.Now()
	m.g.advance(now)
	n = m.cut(now + after)
	m.mc.Purged += uint64(n)
	m.g.rearm(now)
	return n
}

// PurgeReceived forgets what was heard and is not yet delivered.
func (m *Master) PurgeReceived() {
	now := m.g.p.Now()
	m.g.advance(now)
	m.buf, m.due = m.buf[:0], sim.Forever
	m.g.rearm(now)
}

// Close takes the master off the segment. Its receiver is not called again.
func (m *Master) Close() {
	if m.closed {
		return
	}
	m.Purge()
	g := m.g
	m.closed = true
	m.timer.Stop()
	for i, o := range g.masters {
		if o == m {
			g.masters = append(g.masters[:i], g.masters[i+1:]...)
			break
		}
	}
	g.forget()
}

// heard implements the end of an ear.
func (m *Master) heard(c rtu.Char, start sim.Time, from *sender) {
	m.buf = append(m.buf, c)
	switch n := len(m.buf); {
	case m.cfg.Slice > 0:
		if n == 1 {
			m.due = c.At + m.cfg.Slice
		}
		if from == nil || from.empty() {
			m.due = min(m.due, c.At)
		}
	default:
		m.due = c.At // and while somebody talks there may be more
		for _, s := range m.g.active {
			if s != m.sender || m.g.cfg.Echo {
				m.due = max(m.due, s.end())
			}
		}
	}
	if len(m.buf) >= maxStep {
		m.due = c.At
	}
	m.due = max(m.due, c.At)
}

// wants is when the wire must be resolved at the latest for this master: when
// the slice of what comes next is over, or its buffer full. What is in the
// buffer has its own timer.
func (m *Master) wants() sim.Time {
	at, first := sim.Forever, sim.Forever
	for _, s := range m.g.active {
		r, _, end, ok := s.next()
		if !ok || s == m.sender && !m.g.cfg.Echo {
			continue
		}
		first = min(first, end)
		if k := r.done + max(1, maxStep-len(m.buf)); k <= r.n {
			at = min(at, r.at(k))
		}
	}
	if m.cfg.Slice > 0 && len(m.buf) == 0 && first != sim.Forever {
		at = min(at, first+m.cfg.Slice)
	}
	return at
}

func (m *Master) rearm(now sim.Time) {
	if m.due == sim.Forever {
		m.timer.Stop()
		return
	}
	m.timer.Reset(max(m.due, now))
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (m *Master) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	m.g.advance(now)
	if m.due <= now && len(m.buf) > 0 {
		b := m.buf
		m.buf, m.spare = m.spare[:0], b
		m.due = sim.Forever
		m.mc.Delivered += uint64(len(b))
		m.r.ReceiveChars(now, b)
	}
	m.g.rearm(now)
}

package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Station is a slave on a segment.
type Station struct {
	*sender
	group   *group
	slave   *rtu.Slave
	plugged bool
	base    HeardCounters // of the group's ear when the station came to it
	baseCRC uint64
	heard   HeardCounters // of the groups before
	crc     uint64

	// The reply that waits for its time. Until t3.5 after the request another
	// character makes the request one that was never ended, and the reply goes.
	reply     []byte
	exception bool   // it is an exception response
	spoil     bool   // it gets a wrong CRC
	part      [3]int // of it: strays, ADU, strays
	since     sim.Time
	sure      sim.Time
	timer     sim.Timer
}

// AddSlave puts a slave on the segment that listens and talks at a line setting
// (CheckLine must accept it). It is plugged in.
func (g *Segment) AddSlave(name string, line rtu.Line, s *rtu.Slave) *Station {
	g.must(name, line)
	g.advance(g.p.Now())
	t := &Station{sender: g.newSender(name), slave: s, plugged: true, reply: make([]byte, 0, rtu.MaxADU+2*maxStray)}
	t.station = t
	t.scribe.init(t.sender)
	t.timer.Init(g.p, g, opReply, uint64(len(g.stations)))
	g.stations = append(g.stations, t)
	t.join(g.groupOf(line))
	g.rearm(g.p.Now())
	return t
}

// Name of the station.
func (t *Station) Name() string { return t.name }

// Slave is the station's engine.
func (t *Station) Slave() *rtu.Slave { return t.slave }

// Line is the station's line setting.
func (t *Station) Line() rtu.Line { return t.group.ear.u.line }

// Plugged tells whether the station is on the wire.
func (t *Station) Plugged() bool { return t.plugged }

// Unplug takes the station off the wire: a reply breaks off after the character
// that is going out. The slave's engine keeps its state.
func (t *Station) Unplug() {
	g, now := t.g, t.g.p.Now()
	g.advance(now)
	t.plugged = false
	t.drop()
	t.cut(now)
	g.rearm(now)
}

// Plug puts the station back, restarted as after power-on.
func (t *Station) Plug() {
	t.g.advance(t.g.p.Now())
	if !t.plugged {
		t.plugged = true
		t.slave.Restart()
	}
}

// SetLine changes the setting at which the station listens and talks
// (CheckLine must accept it). A reply that has begun ends at the old one.
func (t *Station) SetLine(l rtu.Line) {
	g := t.g
	g.must(t.name, l)
	g.advance(g.p.Now())
	if l == t.Line() {
		return
	}
	t.drop()
	t.leave()
	t.join(g.groupOf(l))
	g.rearm(g.p.Now())
}

func (t *Station) join(r *group) {
	t.group, t.base, t.baseCRC = r, r.ear.c, r.crc
	i := len(r.stations)
	for i > 0 && r.stations[i-1].index > t.index {
		i--
	}
	r.stations = append(r.stations, nil)
	copy(r.stations[i+1:], r.stations[i:])
	r.stations[i] = t
	r.framer.SetOwn(t.slave.Address(), true)
}

func (t *Station) leave() {
	r := t.group
	t.heard, t.crc = t.heard.plus(r.ear.c.minus(t.base)), t.crc+r.crc-t.baseCRC
	shared := false
	n := 0
	for _, o := range r.stations {
		if o != t {
			r.stations[n] = o
			n++
			shared = shared || o.slave.Address() == t.slave.Address()
		}
	}
	clear(r.stations[n:])
	r.stations = r.stations[:n]
	if !shared {
		r.framer.SetOwn(t.slave.Address(), false)
	}
}

// request serves a request that the station heard. sure is false if characters
// followed it within t3.5.
func (t *Station) request(f *rtu.Frame, sure bool) {
	to := f.ADU[0]
	mine := to == t.slave.Address()
	if mine && (len(t.reply) > 0 || !t.empty()) {
		t.c.Missed++ // still busy with the one before
		return
	}
	now := t.g.p.Now()
	t.spoil = false
	b := t.slave.Serve(now, f.ADU, t.reply[:0])
	if mine || to == rtu.Broadcast {
		t.c.Requests++
	}
	if len(b) == 0 {
		return
	}
	if !sure {
		t.c.Cancelled++
		return
	}
	t.reply, t.part = b, [3]int{0, len(b), 0}
	t.group.waiting++
	line := t.Line()
	t.since, t.sure = f.End, f.End+line.T35()
	delay, silent := t.g.spoilReply(t)
	if silent {
		t.drop()
		return
	}
	t.timer.Reset(max(now, f.End+max(line.T35(), t.g.cfg.Turnaround)+delay))
}

// unsure takes the reply back if somebody talks too soon after the request.
func (t *Station) unsure(start sim.Time, from *sender) {
	if len(t.reply) > 0 && from != t.sender && start >= t.since && start < t.sure {
		t.drop()
		t.c.Cancelled++
	}
}

func (t *Station) drop() {
	if len(t.reply) > 0 {
		t.group.waiting--
	}
	t.reply = t.reply[:0]
	t.timer.Stop()
}

// begin sends the reply, whoever talks now.
func (t *Station) begin(now sim.Time) {
	g := t.g
	for _, o := range g.active {
		if _, start, _, ok := o.next(); ok {
			t.unsure(start, o)
		}
	}
	if len(t.reply) == 0 {
		return
	}
	if adu := t.reply[t.part[0]:][:t.part[1]]; rtu.CheckCRC(adu) {
		t.group.framer.Sent(adu)
	}
	t.scribe.expect(t.part)
	t.put(now, t.Line(), t.reply)
	t.drop()
}

// SpoilReply gives the reply to the request in hand a wrong CRC. It is for the
// station's device, while its engine serves the request: some devices have such
// a quirk.
func (t *Station) SpoilReply() { t.spoil = true }

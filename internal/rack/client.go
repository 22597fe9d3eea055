package rack

import (
	"fmt"

	"cnuas/internal/sim"
	"cnuas/modbus/bus"
	"cnuas/modbus/rtu"
)

// Client is a program on a segment, as status shows it.
type Client struct {
	Name     string `json:"name"`      // "tty" or "socket1"
	Open     bool   `json:"open"`      // a program has the terminal open; a socket always is
	Line     string `json:"line"`      // as the program has set it: "19200 8E1"
	Opened   uint64 `json:"opened"`    // how often, a terminal only
	TxBytes  uint64 `json:"tx_bytes"`  // from the program to the wire
	RxBytes  uint64 `json:"rx_bytes"`  // from the wire to the program
	Overruns uint64 `json:"overruns"`  // bytes from the wire that the program did not read in time
	Dropped  uint64 `json:"dropped"`   // bytes of a program that ended before the wire had taken them
	Unheard  uint64 `json:"unheard"`   // bytes from the wire while no program had it open
	Errors   uint64 `json:"errors"`    // characters with parity or framing errors
	Waits    uint64 `json:"waits"`     // times that the program wrote faster than the wire
	Refused  uint64 `json:"refused"`   // clients refused because there were too many, of a listening socket
	QueuedMS int64  `json:"queued_ms"` // until what it has written is on the wire
}

// tolerance is how long a program may pause within a frame: it is a process
// among others, and QEMU writes byte by byte.
const tolerance = 20 * sim.Millisecond

// linger is for how long the wire goes on with what a program that is gone has
// left in the queue. At 50 baud that could be a quarter of an hour, in which
// nobody else is heard.
const linger = 3 * sim.Second

// outlet is what a terminal and a socket have in common: a master on the segment
// that reads no faster than the wire takes.
type outlet struct {
	seg     *segment
	m       *bus.Master
	fd      int
	reader  interface{ Readable() }
	watched bool
	blocked bool // the wire has enough to do; the timer resumes
	timer   sim.Timer
	line    rtu.Line
	c       Client
	out     []byte // scratch of what is heard
}

func (p *outlet) init(s *segment, name string, fd int, reader interface {
	Readable()
	bus.Receiver
}) {
	p.seg, p.fd, p.reader = s, fd, reader
	p.m = s.bus.AddMaster(bus.MasterConfig{Name: name, Tolerance: tolerance}, reader)
	p.c.Name = name
	p.timer.Init(s.proc, p, 0, 0)
	p.out = make([]byte, 0, rtu.MaxADU)
	p.tune(s.spec.Line)
}

// tune makes the master hear at a line. A line that no UART has changes
// nothing: what is sent at it is refused too.
func (p *outlet) tune(l rtu.Line) {
	if l != p.line && p.m.Listen(l) == nil {
		p.line = l
	}
}

// watch tells the loop to look for bytes of the program. It begins anew where
// the loop has stopped because of a hang-up.
func (p *outlet) watch() {
	p.unwatch()
	if p.blocked {
		return
	}
	if err := p.seg.rack.loop.AddFD(p.fd, p); err != nil {
		p.seg.rack.logf("%s: %v", p.c.Name, err)
		return
	}
	p.watched = true
}

func (p *outlet) unwatch() {
	if p.watched {
		p.seg.rack.loop.RemoveFD(p.fd)
		p.watched = false
	}
}

// Readable implements realtime.Poller.
func (p *outlet) Readable() { p.reader.Readable() }

// room tells whether the wire takes another chunk. Where it does not, the
// program waits: until half of what is queued has been sent.
func (p *outlet) room(chunk int) bool {
	if p.blocked {
		return false
	}
	if p.m.Room() >= chunk {
		return true
	}
	p.c.Waits++
	p.blocked = true
	p.unwatch()
	p.resumeLater()
	return false
}

func (p *outlet) resumeLater() {
	now := p.seg.proc.Now()
	p.timer.Reset(now + max((p.m.Drained()-now)/2, sim.Millisecond))
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (p *outlet) HandleEvent(sim.Time, uint32, uint64) { p.resume() }

func (p *outlet) resume() {
	if !p.blocked {
		return
	}
	p.blocked = false
	p.reader.Readable()
	if !p.blocked && p.fd >= 0 {
		p.watch()
	}
}

// send puts what the program has written on the wire.
func (p *outlet) send(b []byte) {
	n := p.m.Send(p.line, b)
	p.c.TxBytes += uint64(n)
	p.c.Dropped += uint64(len(b) - n)
}

// leave throws away what the program, which is gone, has written in vain.
func (p *outlet) leave() { p.c.Dropped += uint64(p.m.PurgeLater(linger)) }

func (p *outlet) close() {
	p.unwatch()
	p.timer.Stop()
	p.m.Close()
	p.fd = -1
}

func (p *outlet) status() Client {
	c := p.c
	c.Line = p.line.String()
	if d := p.m.Drained() - p.seg.proc.Now(); d > 0 {
		c.QueuedMS = int64(d / sim.Millisecond)
	}
	return c
}

func (r *Rack) logf(format string, a ...any) {
	if r.opt.Log != nil {
		r.opt.Log("rack: %s", fmt.Sprintf(format, a...))
	}
}

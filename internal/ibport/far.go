package ibport

import (
	"fmt"

	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// A port whose other end is not on this engine: behind a tunnel. What two ports
// of one engine tell each other by calls, training and the cable, goes through
// Far; packets and flow control go over the link as ever. What a tunnel loses is
// told by Lost and counts as symbol errors.

// LinkState is what training sequences carry: the sender's physical state and
// what it has enabled.
type LinkState struct {
	Phys   mad.PhysState
	Widths mad.LinkWidth
	Speeds mad.LinkSpeed
	Exts   mad.LinkSpeedExt
}

// Far is the far end of a port's link.
type Far interface {
	link.Far
	// Say tells the far end the port's LinkState, which has changed or is worth
	// repeating.
	Say()
}

// Defaults of FarConfig.
const (
	DefaultBusy = sim.Millisecond
	DefaultIdle = 50 * sim.Millisecond
)

// FarConfig describes a link to a far end.
type FarConfig struct {
	Delay sim.Time // of what this port sends, besides what the tunnel takes

	// Busy is the interval of flow control packets on a lane that has traffic,
	// Idle that on the others, in place of the 65,536 symbol times of the standard
	// (20 us at EDR), unless those are longer. A tunnel has a round trip of that
	// order, and each packet costs a datagram. The watchdog waits for eight Idle.
	// 0: the defaults. With Config.ExactFlow the standard's times hold.
	Busy, Idle sim.Time
}

// linger is for how many Busy intervals after its last packet a lane is still
// one that has traffic: as many flow control packets would have to be lost in a
// row for credits to be missing until the next Idle one.
const linger = 8

// watchdogIdles is the time of the watchdog in Idle intervals.
const watchdogIdles = 8

// relaxed is flow control of a link to a far end.
type relaxed struct {
	busy, idle sim.Time // 0: the standard's times hold
	used       uint16   // lanes that had a packet since the last refresh
	calm       bool     // the next refresh is an Idle one
	left       [15]uint8
	all        sim.Time // last refresh of all lanes
}

// ConnectFar joins a port to a far end. Training begins when the far end says by
// link.Port.Carrier that somebody is there.
func ConnectFar(p *Port, far Far, c FarConfig) error {
	if p.link == nil {
		return fmt.Errorf("link %s: port 0 of a switch has no link", p.cfg.Name)
	}
	if c.Busy < 0 || c.Idle < 0 {
		return fmt.Errorf("link %s: an interval of flow control is negative", p.cfg.Name)
	}
	if err := link.ConnectFar(p.link, far, link.Config{Rate: DataRate(mad.Width1X, mad.SpeedSDR, 0), Delay: c.Delay}); err != nil {
		return err
	}
	p.far = far
	if !p.cfg.ExactFlow {
		p.relax.busy, p.relax.idle = DefaultBusy, DefaultIdle
		if c.Busy > 0 {
			p.relax.busy = c.Busy
		}
		if c.Idle > 0 {
			p.relax.idle = c.Idle
		}
	}
	return nil
}

// LinkState is what the port tells its far end.
func (p *Port) LinkState() LinkState {
	return LinkState{p.phys.state, p.set.widths, p.set.speeds, p.set.exts}
}

// Hear takes what the far end said. States that do not exist are ignored.
func (p *Port) Hear(s LinkState) {
	if p.far == nil || !p.phys.cable || s.Phys == 0 || s.Phys > mad.PhysRecovery {
		return
	}
	p.hear(signal{LinkState: s, epoch: p.phys.epoch})
}

// Lost tells that n packets of the far end did not arrive: their symbols were in
// error.
func (p *Port) Lost(n uint32) {
	if p.phys.state == mad.PhysLinkUp && n > 0 {
		p.symbolErrors(n)
	}
}

// LinkUp tells whether packets pass.
func (p *Port) LinkUp() bool { return p.phys.state == mad.PhysLinkUp }

// touch notes a packet on a lane.
func (p *Port) touch(vl uint8) {
	r := &p.relax
	r.used |= 1 << vl
	if r.calm {
		r.calm = false
		p.flow.timer.Reset(p.proc.Now() + r.busy)
	}
}

// refreshRelaxed makes flow control packets due for the lanes with traffic, or
// for all of them when it is time, and says when to look again.
func (p *Port) refreshRelaxed(now sim.Time) (next sim.Time) {
	r := &p.relax
	var due uint16
	for vl := range p.vls {
		if r.used&(1<<vl) != 0 {
			r.left[vl] = linger
		}
		if r.left[vl] > 0 {
			r.left[vl]--
			due |= 1 << vl
		}
	}
	r.used, r.calm = 0, due == 0
	if now-r.all >= r.idle {
		r.all = now
		p.flowAll()
	} else if due != 0 {
		p.flow.due |= due
		p.kick()
	}
	next = r.all + r.idle
	if !r.calm {
		next = min(next, now+r.busy)
	}
	return next
}

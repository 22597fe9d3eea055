package ibport

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// Times of flow control in symbol times (IBTA vol. 1 §7.9.4, C7-55 and the
// watchdog of §7.9.3).
const (
	flowInterval = 65536
	flowWatchdog = 400000
	flowSuspect  = 64 // intervals that a damaged packet is remembered
)

// damaged notes that a packet was hit: from now on flow control is exact for a
// while, at both ends.
func (p *Port) damaged() {
	for _, q := range [2]*Port{p, p.peer} {
		if q == nil {
			continue
		}
		now := q.proc.Now()
		q.flow.suspect = now + flowSuspect*q.interval()
		if !q.flow.timer.Armed() {
			for i := range q.lanes {
				q.lanes[i].lastFlow = now
			}
			q.armFlow(now)
		}
	}
}

func (p *Port) interval() sim.Time { return max(p.symbol()*flowInterval/1000, p.relax.busy) }

func (p *Port) exact(now sim.Time) bool {
	return p.cfg.ExactFlow || p.far != nil || now < p.flow.suspect || p.peer != nil && p.peer.flow.muted
}

func (p *Port) armFlow(now sim.Time) {
	if p.phys.state == mad.PhysLinkUp && p.exact(now) {
		p.flow.timer.Reset(now + p.interval())
	}
}

// refresh is the periodic part: a packet for every lane, and the watchdog.
func (p *Port) refresh(now sim.Time) {
	if p.phys.state != mad.PhysLinkUp {
		return
	}
	next, limit := sim.Time(0), p.symbol()*flowWatchdog/1000
	if p.relax.busy != 0 {
		next, limit = p.refreshRelaxed(now), max(limit, watchdogIdles*p.relax.idle)
	} else {
		p.flowAll()
	}
	for i := range p.vls {
		if now-p.lanes[i].lastFlow > limit {
			p.count.flowTimeouts[i]++
			p.owner.PortEvent(p, EventWatchdog)
			p.recover(false)
			return
		}
	}
	if next != 0 {
		p.flow.timer.Reset(next)
		return
	}
	p.armFlow(now)
}

// MuteFlow is a fault: the port sends no flow control packets any more, until
// it is told to again. The peer runs out of credits, and its watchdog notices.
func (p *Port) MuteFlow(on bool) {
	p.flow.muted = on
	if q := p.peer; q != nil && on && !q.flow.timer.Armed() {
		now := q.proc.Now()
		for i := range q.lanes {
			q.lanes[i].lastFlow = now
		}
		q.armFlow(now)
	}
	if !on {
		p.flowAll()
	}
}

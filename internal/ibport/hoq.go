package ibport

import (
	"math/bits"

	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// A switch discards a packet that has been at the head of its lane for longer
// than HOQLife, and after VLStallCount of them in a row everything on that lane
// for eight times as long; and a packet that has been in the switch for longer
// than LifeTimeValue (IBTA vol. 1 §18.2.5.4). This bounds how long one receiver
// that does not receive can hold up others. A channel adapter's own port does
// none of it.

// SetLifetime sets the time that a packet may stay in the switch, the
// LifeTimeValue of SwitchInfo, for what leaves by this port.
func (p *Port) SetLifetime(t mad.Timeout) { p.set.lifetime = t }

// dies is when the head of a lane is too old.
func (p *Port) dies(vl uint8) sim.Time {
	t := sim.Forever
	if p.cfg.Node != mad.NodeSwitch {
		return t
	}
	l := &p.lanes[vl]
	if l.stalled > p.proc.Now() {
		return l.headSince // at once
	}
	if h := p.set.hoqLife; h < mad.TimeoutInfinite {
		t = l.headSince + sim.Time(h.Picoseconds())
	}
	if h := p.set.lifetime; h < mad.TimeoutInfinite {
		if f := p.owner.Head(p, vl); f != nil {
			t = min(t, f.Meta.Queued+sim.Time(h.Picoseconds()))
		}
	}
	return t
}

// expire discards the heads that are too old, and looks whether something can
// be sent now.
func (p *Port) expire(now sim.Time) {
	if p.state == mad.PortActive {
		for w := p.starved; w != 0; w &= w - 1 {
			vl := uint8(bits.TrailingZeros16(w))
			if t := p.dies(vl); t <= now {
				p.discard(vl, &p.lanes[vl], now)
			} else if t != sim.Forever {
				p.wake(t)
			}
		}
	}
	p.kick()
}

// discard drops the head of a starved lane, and whatever follows it while the
// lane is stalled.
func (p *Port) discard(vl uint8, l *lane, now sim.Time) {
	for {
		f := p.take(vl)
		if f == nil {
			break
		}
		hoq := sim.Time(p.set.hoqLife.Picoseconds())
		switch {
		case l.stalled > now:
			p.count.hoqDiscards++
		case p.set.hoqLife < mad.TimeoutInfinite && now-l.headSince >= hoq:
			p.count.hoqDiscards++
			if l.hoqDrops++; p.set.stallCount > 0 && l.hoqDrops >= p.set.stallCount {
				l.hoqDrops = 0
				l.stalled = now + 8*hoq
			}
		default:
			p.count.lifetimeDiscards++
		}
		p.pool.Put(f)
		l.headSince = now
		if p.waiting&(1<<vl) == 0 || l.stalled <= now {
			break
		}
	}
	p.unstarve(vl, l) // look at the next head
}

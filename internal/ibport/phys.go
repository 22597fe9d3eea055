package ibport

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// The physical state machine (IBTA vol. 2 §5.6.4, vol. 1 §7.2): polling until
// the other end polls, configuration with agreement on width and speed, link
// up, error recovery. What training sequences would carry is told to the peer
// after the link's delay.

// pollAgain is the time to wait after a training that failed, because the ends
// have no width or speed in common.
const pollAgain = 100 * sim.Millisecond

type phys struct {
	state  mad.PhysState
	heard  signal // what the peer said last; zero: nothing
	timer  sim.Timer
	epoch  uint32 // of the cable: signals from before it was pulled are void
	cable  bool
	ready  bool // in Training or Recovery: the own time is over
	failed bool // the last training was
	width  mad.LinkWidth
	speed  mad.LinkSpeed
	ext    mad.LinkSpeedExt
}

// signal is what one end tells the other.
type signal struct {
	LinkState
	epoch uint32
}

func (s signal) pack() uint64 {
	return uint64(s.Phys) | uint64(s.Widths)<<8 | uint64(s.Speeds)<<16 | uint64(s.Exts)<<24 | uint64(s.epoch)<<32
}

func unpackSignal(v uint64) signal {
	return signal{LinkState{mad.PhysState(v), mad.LinkWidth(v >> 8), mad.LinkSpeed(v >> 16), mad.LinkSpeedExt(v >> 24)}, uint32(v >> 32)}
}

// cable tells that there is a wire to a peer, or no more.
func (p *Port) cable(in bool) {
	p.phys.cable = in
	p.phys.epoch++
	p.phys.heard = signal{}
	p.phys.failed = false
	if !in {
		p.lose()
		return
	}
	p.say()
}

// say tells the peer the present state.
func (p *Port) say() {
	if p.far != nil {
		p.far.Say()
		return
	}
	if !p.phys.cable || p.peer == nil {
		return
	}
	s := signal{p.LinkState(), p.phys.epoch}
	p.peer.proc.At(p.proc.Now()+p.link.Delay(), p.peer, opSignal, s.pack())
}

// enter changes the physical state and tells the peer.
func (p *Port) enter(s mad.PhysState) {
	up := p.phys.state == mad.PhysLinkUp || p.phys.state == mad.PhysRecovery
	p.phys.state = s
	p.phys.ready = false
	p.phys.timer.Stop()
	switch s {
	case mad.PhysTraining:
		p.phys.timer.Reset(p.proc.Now() + p.cfg.Training/2)
	case mad.PhysRecovery:
		p.phys.timer.Reset(p.proc.Now() + p.cfg.Recovery)
	case mad.PhysLinkUp:
		p.say()
		p.linkUp()
		return
	default:
		if up {
			p.linkDown()
		}
	}
	p.say()
	if s == mad.PhysPolling {
		p.poll()
	}
}

// lose takes a link that was up to LinkDownDefaultState, and training back to
// its beginning.
func (p *Port) lose() {
	switch p.phys.state {
	case mad.PhysLinkUp, mad.PhysRecovery:
		p.count.linkDowned++
		p.enter(p.set.downDefault)
	case mad.PhysTraining:
		p.enter(mad.PhysPolling)
	case mad.PhysPolling:
		p.phys.timer.Stop()
	}
}

// poll begins the way to Training if the peer is there.
func (p *Port) poll() {
	if h := p.phys.heard.Phys; h != mad.PhysPolling && h != mad.PhysTraining || p.phys.timer.Armed() {
		return
	}
	wait := p.cfg.Training / 2
	if p.phys.failed {
		wait = pollAgain
	}
	p.phys.timer.Reset(p.proc.Now() + wait)
}

// hear takes what the peer said.
func (p *Port) hear(s signal) {
	if s.epoch != p.phys.epoch {
		return
	}
	if h := p.phys.heard; s.Widths != h.Widths || s.Speeds != h.Speeds || s.Exts != h.Exts {
		p.phys.failed = false // it may go better now
	}
	p.phys.heard = s
	switch p.phys.state {
	case mad.PhysSleep:
		if s.Phys == mad.PhysPolling {
			p.enter(mad.PhysPolling)
		}
	case mad.PhysPolling:
		if s.Phys == mad.PhysPolling || s.Phys == mad.PhysTraining {
			p.poll()
		} else {
			p.phys.timer.Stop()
		}
	case mad.PhysTraining:
		switch s.Phys {
		case mad.PhysPolling:
		case mad.PhysTraining, mad.PhysLinkUp:
			p.configure()
		default:
			p.lose()
		}
	case mad.PhysLinkUp:
		switch s.Phys {
		case mad.PhysTraining: // it is about to follow
		case mad.PhysLinkUp:
			p.flowAll()
		case mad.PhysRecovery:
			p.recover(true)
		default:
			p.lose()
		}
	case mad.PhysRecovery:
		switch s.Phys {
		case mad.PhysRecovery, mad.PhysLinkUp:
			p.configure()
		default:
			p.lose()
		}
	}
}

// trained is called when the time of a phase is over.
func (p *Port) trained() {
	switch p.phys.state {
	case mad.PhysPolling:
		p.enter(mad.PhysTraining)
	case mad.PhysTraining, mad.PhysRecovery:
		p.phys.ready = true
		p.configure()
	}
}

// configure brings the link up if both ends are ready for it.
func (p *Port) configure() {
	h := p.phys.heard
	if !p.phys.ready || h.Phys != p.phys.state && h.Phys != mad.PhysLinkUp {
		return
	}
	if p.phys.state == mad.PhysRecovery {
		p.count.linkRecovery++
		p.enter(mad.PhysLinkUp)
		return
	}
	w, s, ext := negotiate(p.set.widths&h.Widths, p.set.speeds&h.Speeds, p.set.exts&h.Exts)
	rate := DataRate(w, s, ext)
	if rate == 0 {
		p.phys.failed = true
		p.enter(mad.PhysPolling)
		return
	}
	p.phys.failed = false
	p.phys.width, p.phys.speed, p.phys.ext = w, s, ext
	p.link.SetRate(rate)
	p.setReach()
	p.enter(mad.PhysLinkUp)
}

// recover begins a link error recovery; asked: because the peer did.
func (p *Port) recover(asked bool) {
	if p.phys.state != mad.PhysLinkUp {
		return
	}
	if !asked {
		p.phys.heard = signal{} // what it said before says nothing about this
	}
	p.stopWaiting()
	p.enter(mad.PhysRecovery)
}

package ibport

import "cnuas/internal/wire/mad"

// The logical state machine (IBTA vol. 1 §7.2.7):
//
//	Down --LinkUp--> Init --Set--> Armed --Set, or a data packet--> Active
//
// and back to Down whenever the physical link goes, back to Init when the other
// end initialises its flow control anew (RemoteInit).

func (p *Port) to(s mad.PortState) {
	from := p.state
	if from == s {
		return
	}
	p.state = s
	p.owner.StateChanged(p, from, s)
	if p.watch != nil {
		p.watch(from, s)
	}
}

// Watch has f called, after the owner, whenever the port's logical state has
// changed; nil ends it. It is for whoever runs on the device and waits for its
// port.
func (p *Port) Watch(f func(from, to mad.PortState)) { p.watch = f }

// linkUp is called when training or recovery ends well.
func (p *Port) linkUp() {
	if p.state == mad.PortDown {
		for i := range p.lanes {
			p.lanes[i].restart()
		}
		p.enable = false
		p.to(mad.PortInit)
	}
	p.flowUp()
	p.kick()
}

// linkDown is called when the link is not up any more.
func (p *Port) linkDown() {
	p.stopWaiting()
	p.flow.timer.Stop()
	p.flow.due = 0
	p.timer.Stop()
	p.enable = false
	p.to(mad.PortDown)
}

// arm and activate are what a Set does.
func (p *Port) arm() {
	if p.state == mad.PortInit {
		p.to(mad.PortArmed)
		p.flowAll() // from now on with Op normal
	}
}

func (p *Port) activate() {
	if p.state == mad.PortArmed {
		p.to(mad.PortActive)
		p.kick()
	}
}

// Down takes the link down to LinkDownDefaultState, from where it trains anew,
// as a Set of PortState 1 does.
func (p *Port) Down() {
	if p.link == nil {
		return
	}
	if s := p.phys.state; s == mad.PhysLinkUp || s == mad.PhysRecovery {
		p.count.linkDowned++
	}
	p.enter(p.set.downDefault)
}

package smtest

import (
	"cnuas/internal/wire/mad"
)

// Plug puts a cable between two ports that have none: the link trains.
func (f *Fabric) Plug(a *Port, b *Port) {
	if a.Peer != nil || b.Peer != nil || a == b {
		panic("smtest: a cable for a port that has one")
	}
	a.Peer, b.Peer = b, a
	a.setState(mad.PortInit)
	b.setState(mad.PortInit)
}

// Pull takes away the cable of a port, and returns what was at its other end.
func (f *Fabric) Pull(a *Port) *Port {
	b := a.Peer
	if b == nil {
		return nil
	}
	a.Peer, b.Peer = nil, nil
	a.setState(mad.PortDown)
	b.setState(mad.PortDown)
	return b
}

// setState is a change of the link's state that nobody asked for: a switch
// notes it and tells the subnet manager.
func (p *Port) setState(s mad.PortState) {
	if p.Info.PortState == s {
		return
	}
	p.Info.PortState, p.Info.PortPhysicalState = s, mad.PhysLinkUp
	if s == mad.PortDown {
		p.Info.PortPhysicalState = mad.PhysPolling
	}
	if n := p.Node; n.Type == mad.NodeSwitch {
		n.SI.PortStateChange = true
		n.trapLinkState()
	}
}

package ibagent

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// directed takes a directed-route SMP over this node (IBTA vol. 1 §14.2.2): on
// its way out or back, or to the node itself. own: it is the node's, and comes
// from no port.
func (a *Agent) directed(f *frame.Frame, s mad.SMP, own bool) {
	in := uint8(f.Meta.InPort)
	from := in
	if own {
		from = 0
	}
	act, out := s.Step(from)
	switch act {
	case mad.DRForward:
		// Only a switch passes on what is not its own.
		if !own && a.cfg.Switch == nil {
			a.discard(f)
			return
		}
		a.forward(f, int(out))
	case mad.DRLocal:
		a.subnet(f, s)
	case mad.DRSource:
		a.toClient(f)
	case mad.DRRouteLID:
		p := a.agentPort(f)
		to := s.DrDLID()
		if s.Returning() {
			to = s.DrSLID()
		}
		if p == nil || p.LID() == 0 || !to.Unicast() {
			a.discard(f)
			return
		}
		Address(f, p.LID(), to, f.Meta.IB.SL)
		a.Count.Forwarded++
		a.sendLID(int(p.Num()), f)
	default:
		a.discard(f)
	}
}

// forward sends a directed-route SMP by a port. There may be none, or it is
// down: then it is gone.
func (a *Agent) forward(f *frame.Frame, out int) {
	p := a.node.Port(out)
	if out == 0 || p == nil || p.State() < mad.PortInit {
		a.discard(f)
		return
	}
	Address(f, wire.LIDPermissive, wire.LIDPermissive, 0)
	a.Count.Forwarded++
	a.node.SendVL15(out, f)
}

// respond sends the response that s has become.
func (a *Agent) respond(f *frame.Frame, s mad.SMP, st mad.Status) {
	s.Respond(st)
	p := a.agentPort(f)
	if p == nil {
		a.discard(f)
		return
	}
	if s.Directed() && s.DrDLID() == wire.LIDPermissive {
		a.directed(f, s, true)
		return
	}
	turn(f, p)
	a.sendLID(int(p.Num()), f)
}

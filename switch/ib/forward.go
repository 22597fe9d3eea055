package ib

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
)

// Arrive implements ibport.Owner: the way of one packet (IBTA vol. 1 §18.2.4).
func (s *Switch) Arrive(p *ibport.Port, f *frame.Frame) {
	s.count.In++
	in := int(p.Num())
	dlid := f.Meta.IB.DLID
	switch {
	case dlid.Unicast():
		out := s.lookup(dlid)
		switch {
		case out == 0:
			s.own(p, f)
		case out >= len(s.ports):
			p.CountRelayError(ibport.RelayDLID)
			s.drop(f, DropNoDestination)
		case out == in:
			p.CountRelayError(ibport.RelayLooping)
			s.drop(f, DropLooping)
		default:
			s.enqueue(in, out, f)
		}
	case dlid.Multicast() && f.Meta.IB.VL != wire.VL15: // SMPs go to one place (IBTA vol. 1 §13.5.1)
		s.multicast(p, in, f)
	case dlid == wire.LIDPermissive && f.Meta.IB.VL == wire.VL15:
		s.toAgent(p, f)
	default:
		p.CountRelayError(ibport.RelayDLID)
		s.drop(f, DropNoDestination)
	}
}

// noPort is the entry of a LID that leads nowhere (IBTA vol. 1 §14.2.5.10).
const noPort = 0xff

// lookup is the port of a unicast LID; noPort for none. The switch's own LID
// needs no entry.
func (s *Switch) lookup(l wire.LID) int {
	if int(l) < len(s.lft) && uint16(l) <= s.info.LinearFDBTop {
		if out := s.lft[l]; out != noPort {
			return int(out)
		}
	}
	if s.ports[0].HasLID(l) {
		return 0
	}
	return noPort
}

// own takes a packet for port 0: SMPs and GMPs go to the agents.
func (s *Switch) own(p *ibport.Port, f *frame.Frame) {
	m := &f.Meta.IB
	if m.VL == wire.VL15 || m.BTH != 0 && wire.BTH(f.Data[m.BTH:]).DestQP() == wire.QP1 {
		s.toAgent(p, f)
		return
	}
	s.drop(f, DropNotForUs)
}

func (s *Switch) toAgent(p *ibport.Port, f *frame.Frame) {
	s.count.ToAgent++
	s.agent.Arrive(p, f)
}

// SendVL15 implements ibagent.Node.
func (s *Switch) SendVL15(port int, f *frame.Frame) {
	s.count.FromAgent++
	f.Meta.InPort = 0
	s.enqueue(0, port, f)
}

// SendLID implements ibagent.Node: port 0 sends.
func (s *Switch) SendLID(_ int, f *frame.Frame) {
	s.count.FromAgent++
	f.Meta.InPort = 0
	out := s.lookup(f.Meta.IB.DLID)
	if out == 0 || out >= len(s.ports) {
		s.drop(f, DropNoDestination)
		return
	}
	s.enqueue(0, out, f)
}

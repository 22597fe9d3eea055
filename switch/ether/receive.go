package ether

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
	switching "cnuas/switch"
)

// Receive implements link.Device: the pipeline of one frame.
func (s *Switch) Receive(i int, f *frame.Frame) {
	p := s.ports[i]
	if !f.Parse() {
		s.reject(p, f, 0, switching.DropMalformed)
		return
	}
	l := &f.Meta.Layers
	d := f.Data
	if l.EtherType == wire.EtherTypeMACControl {
		s.control(p, f)
		return
	}
	prio := s.cfg.Classifier.Priority(l)
	f.Meta.Priority, f.Meta.InPort = prio, int16(i)
	p.count.Rx[prio].Add(f.Len)
	switch {
	case d[6]&1 != 0: // a group address does not send
		s.drop(p, f, switching.DropMalformed)
	case d[0]&1 != 0 && reserved(d):
		s.drop(p, f, switching.DropReserved)
	case p.cfg.Mode == Routed:
		s.receiveRouted(p, f)
	default:
		s.receiveBridged(p, f)
	}
}

// reserved tells whether d begins with an address that bridges do not forward:
// 01-80-C2-00-00-00 to 0F (IEEE 802.1Q-2018 table 8-1).
func reserved(d []byte) bool {
	return d[0] == 0x01 && d[1] == 0x80 && d[2] == 0xc2 && d[3] == 0 && d[4] == 0 && d[5] < 0x10
}

// reject counts a frame that was not classified, and drops it.
func (s *Switch) reject(p *port, f *frame.Frame, prio int, r switching.DropReason) {
	f.Meta.Priority = uint8(prio)
	p.count.Rx[prio].Add(f.Len)
	s.drop(p, f, r)
}

// drop ends a frame. p is the port that is to blame: the one it arrived at, or
// the one whose queue had no room.
func (s *Switch) drop(p *port, f *frame.Frame, r switching.DropReason) {
	p.count.Drops[f.Meta.Priority&7][r]++
	s.pool.Put(f)
}

// consume ends a frame that was meant for the switch itself.
func (s *Switch) consume(f *frame.Frame) {
	s.consumed++
	s.pool.Put(f)
}

// receiveRouted takes a frame from a routed port.
func (s *Switch) receiveRouted(p *port, f *frame.Frame) {
	if l := &f.Meta.Layers; l.Tagged && l.VID != 0 {
		s.drop(p, f, switching.DropVLAN)
		return
	}
	switch {
	case [6]byte(f.Data[:6]) == p.iface.mac:
		s.route(p, p.iface, f)
	case f.Data[0]&1 != 0:
		if !s.listen(p.iface, f) {
			s.drop(p, f, switching.DropMulticast)
			return
		}
		s.consume(f)
	default:
		s.drop(p, f, switching.DropNotForUs)
	}
}

package ether

import (
	"cnuas/internal/frame"
	switching "cnuas/switch"
)

// Read IEEE 802.1Q-2018 clauses 8.6 (forwarding process) and 8.7 (learning)
// before editing.

// receiveBridged takes a frame from a port that is a member of VLANs.
func (s *Switch) receiveBridged(p *port, f *frame.Frame) {
	vid := p.ingressVLAN(f)
	if vid == 0 {
		s.drop(p, f, switching.DropVLAN)
		return
	}
	v := s.vlans[s.byVID[vid]-1]
	now := s.eng.Now()
	d := f.Data
	s.fdb.learn(fdbKey(vid, d[6:12]), p.index, now)
	if d[0]&1 != 0 {
		heard := v.iface != nil && s.listen(v.iface, f)
		s.flood(p, v, f, heard)
		return
	}
	if v.iface != nil && [6]byte(d[:6]) == v.iface.mac {
		s.route(p, v.iface, f)
		return
	}
	out, ok := s.fdb.lookup(fdbKey(vid, d[:6]), now)
	switch {
	case !ok:
		s.flood(p, v, f, false)
	case out == p.index:
		s.drop(p, f, switching.DropFiltered)
	default:
		s.transmit(s.ports[out], vid, f)
	}
}

// flood sends f to every port of the VLAN that is up, except the one it came
// from (p; nil for a frame that the switch sends). Each copy is admitted and
// accounted for by itself. heard: the switch itself was a receiver.
func (s *Switch) flood(p *port, v *vlan, f *frame.Frame, heard bool) {
	var last *port
	for _, i := range v.members {
		out := s.ports[i]
		if out == p || !out.link.Up() {
			continue
		}
		if last != nil {
			s.copies++
			s.transmit(last, v.vid, s.pool.Clone(f))
		}
		last = out
	}
	switch {
	case last != nil:
		s.transmit(last, v.vid, f)
	case heard:
		s.consume(f)
	case p == nil:
		s.drop(s.ports[v.members[0]], f, switching.DropNoDestination)
	default:
		s.drop(p, f, switching.DropNoDestination)
	}
}

// transmit gives f, which belongs to a VLAN, the form that it has on a port,
// and queues it.
func (s *Switch) transmit(out *port, vid uint16, f *frame.Frame) {
	l := &f.Meta.Layers
	switch {
	case vid == out.access:
		if l.Tagged {
			popTag(f)
		}
	case l.Tagged:
		setVID(f, vid)
	default:
		pushTag(f, vid)
	}
	s.enqueue(out, f)
}

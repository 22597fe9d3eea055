package ether

import (
	"encoding/binary"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
	switching "cnuas/switch"
)

// Read RFC 1812 §5.2 (forwarding walk-through) and RFC 8200 §3 before editing.

// route takes a frame that was sent to the MAC address of interface x and
// arrived at port p.
func (s *Switch) route(p *port, x *iface, f *frame.Frame) {
	l := &f.Meta.Layers
	switch {
	case l.EtherType == wire.EtherTypeARP:
		s.receiveARP(x, f)
		s.consume(f)
	case !l.IP:
		s.drop(p, f, switching.DropNotForUs)
	case l.EtherType == wire.EtherTypeIPv4:
		s.routeIPv4(p, x, f)
	default:
		s.routeIPv6(p, x, f)
	}
}

func (s *Switch) routeIPv4(p *port, x *iface, f *frame.Frame) {
	l := &f.Meta.Layers
	h := wire.IPv4(f.Data[l.L3:])
	switch {
	case !h.Valid() || h.TotalLen() > int(f.Len)-int(l.L3)-wire.FCSLen || !h.ChecksumOK():
		s.drop(p, f, switching.DropMalformed)
		return
	case h[12] >= 224 || h[16] == 0 || h[16] == 127:
		s.drop(p, f, switching.DropMalformed) // RFC 1812 §5.3.7: martians
		return
	case h[16] >= 224:
		s.drop(p, f, switching.DropMulticast)
		return
	}
	t := s.find(v4Key, uint64(binary.BigEndian.Uint32(h[16:])))
	switch {
	case t.kind == toSelf:
		s.deliver(p, x, f)
	case t.kind == toNobody:
		s.icmpError(x, f, wire.ICMPUnreachable, wire.ICMPCodeNet, 0)
		s.drop(p, f, switching.DropNoRoute)
	case h.TTL() <= 1:
		s.icmpError(x, f, wire.ICMPTimeExceeded, 0, 0)
		s.drop(p, f, switching.DropTTL)
	default:
		if out := s.hop(p, f, t); out != nil && s.fits(p, x, out, f) {
			h.UpdateTTL(h.TTL() - 1)
			s.sendTo(out, f)
		}
	}
}

func (s *Switch) routeIPv6(p *port, x *iface, f *frame.Frame) {
	l := &f.Meta.Layers
	h := wire.IPv6(f.Data[l.L3:])
	hi, lo := binary.BigEndian.Uint64(h[24:]), binary.BigEndian.Uint64(h[32:])
	switch {
	case h.PayloadLen() > int(f.Len)-int(l.L3)-wire.IPv6Len-wire.FCSLen:
		s.drop(p, f, switching.DropMalformed)
		return
	case h[8] == 0xff || hi == 0 && (lo <= 1 || lo>>32 == 0xffff):
		// From a group; to the unspecified, the loopback or an IPv4-mapped address.
		s.drop(p, f, switching.DropMalformed)
		return
	case h[24] == 0xff:
		s.drop(p, f, switching.DropMulticast)
		return
	case hi>>54 == 0xfe80>>6:
		// A link-local address means this link; nothing for it is forwarded
		// (RFC 4291 §2.5.6).
		if x.owns(addrOf(hi, lo)) {
			s.deliver(p, x, f)
		} else {
			s.drop(p, f, switching.DropNoRoute)
		}
		return
	}
	t := s.find(hi, lo)
	switch {
	case t.kind == toSelf:
		s.deliver(p, x, f)
	case t.kind == toNobody || h[8] == 0xfe && h[9]&0xc0 == 0x80:
		s.icmpError(x, f, wire.ICMPv6Unreachable, wire.ICMPv6CodeNoRoute, 0)
		s.drop(p, f, switching.DropNoRoute)
	case h.HopLimit() <= 1:
		s.icmpError(x, f, wire.ICMPv6TimeExceeded, 0, 0)
		s.drop(p, f, switching.DropTTL)
	default:
		if out := s.hop(p, f, t); out != nil && s.fits(p, x, out, f) {
			h.SetHopLimit(h.HopLimit() - 1)
			s.sendTo(out, f)
		}
	}
}

// hop returns the neighbour that f goes to next. If its MAC address is not
// known, f is dropped, the address asked for, and the result nil: nothing is
// held back for the answer.
func (s *Switch) hop(p *port, f *frame.Frame, t target) *adjacency {
	a := t.adj
	if t.kind == toGroup {
		a = s.choose(t.group, f)
	}
	if !a.resolved {
		s.ask(a)
		s.drop(p, f, switching.DropNoNeighbour)
		return nil
	}
	return a
}

// fits tells whether f may leave by a's interface; if not, it is dropped and
// its sender told. IPv4 packets are not fragmented, whatever DF says.
func (s *Switch) fits(p *port, x *iface, a *adjacency, f *frame.Frame) bool {
	out := a.iface.port
	if out == nil || !out.tooBig(f) {
		return true
	}
	if f.Meta.Layers.EtherType == wire.EtherTypeIPv4 {
		s.icmpError(x, f, wire.ICMPUnreachable, wire.ICMPCodeFragNeeded, uint32(out.mtu))
	} else {
		s.icmpError(x, f, wire.ICMPv6PacketTooBig, 0, uint32(out.mtu))
	}
	s.drop(out, f, switching.DropMTU)
	return false
}

// sendTo gives f the MAC addresses of its next hop and sends it.
func (s *Switch) sendTo(a *adjacency, f *frame.Frame) {
	copy(f.Data[:6], a.mac[:])
	copy(f.Data[6:12], a.iface.mac[:])
	s.sendOn(a.iface, f)
}

// sendOn sends a frame whose Ethernet header is complete by an interface.
func (s *Switch) sendOn(x *iface, f *frame.Frame) {
	if x.port != nil {
		if f.Meta.Layers.Tagged {
			popTag(f)
		}
		s.enqueue(x.port, f)
		return
	}
	d := f.Data
	if d[0]&1 == 0 {
		if out, ok := s.fdb.lookup(fdbKey(x.vlan.vid, d[:6]), s.eng.Now()); ok {
			s.transmit(s.ports[out], x.vlan.vid, f)
			return
		}
	}
	s.flood(nil, x.vlan, f, false)
}

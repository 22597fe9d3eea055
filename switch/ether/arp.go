package ether

import (
	"net/netip"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read RFC 826 before editing.

// listen looks at a frame to a group, as a station on interface x, and tells
// whether it was of use. The caller keeps the frame.
func (s *Switch) listen(x *iface, f *frame.Frame) bool {
	l := &f.Meta.Layers
	switch {
	case l.EtherType == wire.EtherTypeARP:
		return s.receiveARP(x, f)
	case l.EtherType == wire.EtherTypeIPv6 && l.IP && l.Proto == wire.ProtoICMPv6:
		return s.receiveND(x, f)
	}
	return false
}

// receiveARP learns the sender and answers for x's addresses.
func (s *Switch) receiveARP(x *iface, f *frame.Frame) bool {
	h := wire.ARP(f.Data[f.Meta.Layers.L3:])
	if !h.Valid() {
		return false
	}
	sender, target := netip.AddrFrom4(h.SenderIP()), netip.AddrFrom4(h.TargetIP())
	if x.subnet(sender).IsValid() && !x.owns(sender) {
		s.setNeighbour(x, sender, h.SenderMAC())
	}
	if h.Op() == wire.ARPRequest && x.owns(target) {
		s.sendARP(x, wire.ARPFields{
			Op: wire.ARPReply, SenderMAC: x.mac, SenderIP: h.TargetIP(),
			TargetMAC: h.SenderMAC(), TargetIP: h.SenderIP(),
		}, h.SenderMAC())
	}
	return true
}

// askARP broadcasts a request for a's address.
func (s *Switch) askARP(a *adjacency) {
	own := a.iface.subnet(a.addr)
	if !own.IsValid() {
		return
	}
	s.sendARP(a.iface, wire.ARPFields{
		Op: wire.ARPRequest, SenderMAC: a.iface.mac, SenderIP: own.Addr().As4(), TargetIP: a.addr.As4(),
	}, wire.Broadcast)
}

func (s *Switch) sendARP(x *iface, m wire.ARPFields, dst [6]byte) {
	f := s.newFrame(wire.EthernetLen + wire.ARPLen)
	wire.Ethernet(f.Data).Encode(dst, x.mac, wire.EtherTypeARP)
	m.Encode(wire.ARP(f.Data[wire.EthernetLen:]))
	s.finish(f)
	s.sendOn(x, f)
}

// newFrame returns a frame of n bytes that the switch itself sends.
func (s *Switch) newFrame(n int) *frame.Frame {
	f := s.pool.Get()
	if n <= frame.HeadLen {
		f.Head(n)
	} else {
		f.Buf(n)
	}
	f.Meta.InPort = -1
	s.generated++
	return f
}

// finish parses and classifies a frame that the switch made.
func (s *Switch) finish(f *frame.Frame) {
	f.WireLen()
	f.Parse()
	f.Meta.Priority = s.cfg.Classifier.Priority(&f.Meta.Layers)
}

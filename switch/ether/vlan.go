package ether

import (
	"encoding/binary"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// vlan is one VLAN of the switch.
type vlan struct {
	vid     uint16
	members []int  // ports, ascending
	iface   *iface // router interface; nil: none
}

func (s *Switch) initVLANs() {
	join := func(vid uint16, i int) {
		v := s.vlanFor(vid)
		if n := len(v.members); n == 0 || v.members[n-1] != i {
			v.members = append(v.members, i)
		}
	}
	for i, p := range s.ports {
		if p.access != 0 {
			join(p.access, i)
		}
		for _, vid := range p.cfg.Tagged {
			join(vid, i)
		}
	}
}

// vlanFor returns the VLAN of that identifier and makes it if need be.
func (s *Switch) vlanFor(vid uint16) *vlan {
	if s.byVID[vid] == 0 {
		s.vlans = append(s.vlans, &vlan{vid: vid})
		s.byVID[vid] = uint16(len(s.vlans))
	}
	return s.vlans[s.byVID[vid]-1]
}

// ingressVLAN classifies a frame and applies the ingress filter; 0: the VLAN
// is not allowed here (IEEE 802.1Q-2018 clauses 6.9.1 and 8.6.2).
func (p *port) ingressVLAN(f *frame.Frame) uint16 {
	l := &f.Meta.Layers
	if !l.Tagged || l.VID == 0 {
		return p.access
	}
	if v := l.VID; v == p.access || v <= maxVID && p.tagged[v/64]&(1<<(v%64)) != 0 {
		return v
	}
	return 0
}

// popTag removes the tag.
func popTag(f *frame.Frame) {
	copy(f.Data[wire.VLANTagLen:], f.Data[:12])
	f.Shift(wire.VLANTagLen)
	f.WireLen()
	f.Parse()
}

// pushTag inserts a tag whose PCP is the frame's priority (IEEE 802.1Q-2018
// clause 6.9.4).
func pushTag(f *frame.Frame, vid uint16) {
	f.Shift(-wire.VLANTagLen)
	d := f.Data
	copy(d[:12], d[wire.VLANTagLen:])
	binary.BigEndian.PutUint16(d[12:], wire.EtherTypeVLAN)
	binary.BigEndian.PutUint16(d[14:], uint16(f.Meta.Priority)<<13|vid)
	f.WireLen()
	f.Parse()
}

// setVID changes the VLAN of a tagged frame and keeps its PCP.
func setVID(f *frame.Frame, vid uint16) {
	l := &f.Meta.Layers
	if l.VID != vid {
		b := f.Data[14:]
		binary.BigEndian.PutUint16(b, binary.BigEndian.Uint16(b)&0xf000|vid)
		l.VID = vid
	}
}

package ib

import (
	"cnuas/internal/ibport"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// mark sets congestion control of all switches as a manager would.
func (n *network) mark(change func(*mad.SwitchCongestionSetting)) {
	n.Helper()
	for _, s := range n.sw {
		a := mad.SwitchCongestionSetting{ControlMap: 0x1f, Threshold: 8}
		change(&a)
		m := make(mad.Packet, mad.PacketLen)
		(&mad.Header{Class: mad.ClassCongestion, Method: mad.MethodSet, Attr: mad.AttrSwitchCongestionSetting}).Encode(m)
		mad.Encode(&a, m.Data())
		if st := s.HandleCC(m); st != 0 {
			n.Fatal(st)
		}
		var b mad.SwitchCongestionSetting
		mad.Decode(&b, m.Data())
		if a != b {
			n.Errorf("reads %+v, wrote %+v", b, a)
		}
	}
}

// The root of congestion marks, the victim upstream does not unless it is told
// to; without a threshold nobody does; small packets and all but one in
// Marking_Rate + 1 are left out.
func TestMarking(t *testing.T) {
	run := func(change func(*mad.SwitchCongestionSetting), payload int) (root, upstream, all uint64) {
		n := newNetwork(t)
		s1, s2 := n.addSwitch(Config{Ports: 4}), n.addSwitch(Config{Ports: 4})
		for i := range 3 {
			n.addEnd(s1, i+1)
			s1.route(i+1, i+1)
		}
		n.addEnd(s2, 1) // another sender, LID 4
		n.addEnd(s2, 2) // the receiver, LID 5
		n.connect(s1.Port(4), s2.Port(4))
		s1.route(5, 4)
		s2.route(4, 1, 5, 2)
		n.activate()
		n.mark(change)
		for i := 1; i <= 4; i++ {
			n.flow(i, 5, 0, 0, payload, -1)
		}
		n.run(sim.Millisecond)
		root, upstream = s2.Port(2).Counters().LaneMarked[0], s1.Port(4).Counters().LaneMarked[0]
		if got := n.end[4].FECN; got+5 < root || got > root+upstream {
			t.Errorf("%d packets arrived marked, %d and %d were", got, root, upstream)
		}
		all = n.end[4].Rcvd
		n.lossless()
		n.done()
		return root, upstream, all
	}
	if r, u, all := run(func(a *mad.SwitchCongestionSetting) {}, 4096); r < all*95/100 || u > 40 { // upstream only until the credits first run out
		t.Errorf("root marked %d of %d, victim %d", r, all, u)
	}
	if r, u, _ := run(func(a *mad.SwitchCongestionSetting) { a.Threshold = 0 }, 4096); r+u != 0 {
		t.Errorf("no threshold: %d and %d marked", r, u)
	}
	if _, u, all := run(func(a *mad.SwitchCongestionSetting) { a.VictimMask[31] = 1 << 4 }, 4096); u < all/4 {
		t.Errorf("victim mask: %d of %d marked upstream", u, all)
	}
	if r, _, all := run(func(a *mad.SwitchCongestionSetting) { a.MarkingRate = 9 }, 4096); r < all/11 || r > all/9 {
		t.Errorf("marking rate 9: %d of %d", r, all)
	}
	if r, _, _ := run(func(a *mad.SwitchCongestionSetting) { a.PacketSize = 20 }, 1024); r != 0 {
		t.Errorf("packet size 1280: %d of 1024 bytes marked", r)
	}
	if r, _, _ := run(func(a *mad.SwitchCongestionSetting) { a.PacketSize = 10 }, 1024); r == 0 {
		t.Error("packet size 640: none of 1024 bytes marked")
	}
}

// The other attributes of congestion control.
func TestCongestionAttributes(t *testing.T) {
	s := newNetwork(t).addSwitch(Config{Ports: 40})
	m := make(mad.Packet, mad.PacketLen)
	do := func(method mad.Method, id mad.AttrID, mod uint32, key uint64, a mad.Attribute) mad.Status {
		(&mad.Header{Class: mad.ClassCongestion, Method: method, Attr: id, Modifier: mod}).Encode(m)
		mad.CC(m).SetKey(key)
		if a != nil {
			mad.Encode(a, m.Data())
		}
		return s.HandleCC(m)
	}
	var p mad.SwitchPortCongestionSetting
	p.Port[3] = mad.SwitchPortCongestion{Valid: true, Threshold: 4, PacketSize: 2, CongParm: 7}
	if do(mad.MethodSet, mad.AttrSwitchPortCongestionSetting, 1, 0, &p) != 0 || s.cc.port[35].rate != 7 || s.cc.port[35].bytes != ibport.DefaultBuffer*3/4 || !s.cc.on {
		t.Errorf("port 35: %+v", s.cc.port[35])
	}
	if do(mad.MethodGet, mad.AttrSwitchPortCongestionSetting, 2, 0, nil) != mad.StatusInvalidField {
		t.Error("a block that does not exist")
	}
	for _, id := range []mad.AttrID{mad.AttrClassPortInfo, mad.AttrCongestionInfo, mad.AttrCongestionLog, mad.AttrTimestamp} {
		if do(mad.MethodGet, id, 0, 0, nil) != 0 || do(mad.MethodSet, id, 0, 0, nil) != mad.StatusBadMethodAttr {
			t.Errorf("attribute %#x", id)
		}
	}
	if do(mad.MethodGet, mad.AttrCACongestionSetting, 0, 0, nil) != mad.StatusBadMethodAttr {
		t.Error("a switch is no CA")
	}
	if do(mad.MethodSet, mad.AttrCongestionKeyInfo, 0, 0, &mad.CongestionKeyInfo{CCKey: 5, CCKeyProtectBit: true}) != 0 {
		t.Error("key not set")
	}
	if do(mad.MethodGet, mad.AttrCongestionInfo, 0, 4, nil) == 0 || do(mad.MethodGet, mad.AttrCongestionInfo, 0, 5, nil) != 0 || s.cc.key.CCKeyViolations != 1 {
		t.Errorf("key: %+v", s.cc.key)
	}
}

package sa_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

var broadcast = wire.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 0xff, 0xff, 0xff}

// member sends a join or a leave; names are given besides MGID, PortGID and
// JoinState.
func (l *lab) member(host string, m mad.Method, w mad.MCMemberRecord, names ...string) (mad.MCMemberRecord, mad.Status) {
	l.t.Helper()
	c := l.port(host).Client()
	if w.PortGID == (wire.GID{}) {
		w.PortGID = l.gid(host)
	}
	if w.JoinState == 0 {
		w.JoinState = mad.JoinFull
	}
	r := c.Ask(m, mad.AttrMCMemberRecord, comp(&w, append(names, "MGID", "PortGID", "JoinState")...), &w)
	if !r.Answered {
		l.t.Fatalf("%s: no answer", host)
	}
	mad.Decode(&w, r.Data)
	return w, r.Status
}

// hears is who gets what a host sends to an MLID.
func (l *lab) hears(from string, mlid wire.LID) string {
	var s []string
	for _, p := range l.Multicast(l.port(from), mlid) {
		s = append(s, p.Node.Name)
	}
	sort.Strings(s)
	return strings.Join(s, " ")
}

func TestMulticast(t *testing.T) {
	l := newLab(t, sm.Config{})
	for _, h := range []string{"H2", "H3", "H6", "H8"} {
		r, st := l.member(h, mad.MethodSet, mad.MCMemberRecord{MGID: broadcast})
		if st != 0 || r.MLID != 0xc000 || r.MTU != mad.MTU2048 || r.Rate != mad.Rate10G || r.QKey != 0xb1b || r.JoinState != mad.JoinFull {
			t.Fatalf("%s joins: %v %+v", h, st, r)
		}
	}
	l.Run(10 * sim.Millisecond)
	if got := l.hears("H2", 0xc000); got != "H3 H6 H8" {
		t.Errorf("H2 is heard by %q", got)
	}
	if got := l.hears("H8", 0xc000); got != "H2 H3 H6" {
		t.Errorf("H8 is heard by %q", got)
	}
	// A tree of its own, and a sender that does not hear.
	g := wire.GID{0xff, 0x12, 15: 7}
	create := mad.MCMemberRecord{MGID: g, QKey: 5, PKey: 0xffff}
	must := []string{"QKey", "PKey", "TClass", "SL", "FlowLabel"}
	r, st := l.member("H1", mad.MethodSet, create, must...)
	if st != 0 || r.MLID != 0xc001 || r.Scope != 2 {
		t.Fatalf("create: %v %+v", st, r)
	}
	if r, st = l.member("H7", mad.MethodSet, mad.MCMemberRecord{MGID: g, JoinState: mad.JoinSendOnly}); st != 0 || r.MLID != 0xc001 {
		t.Fatalf("send only: %v %+v", st, r)
	}
	l.Run(10 * sim.Millisecond)
	if got := l.hears("H7", 0xc001); got != "H1" {
		t.Errorf("the sender is heard by %q", got)
	}
	if got := l.hears("H1", 0xc001); got != "" {
		t.Errorf("H1 is heard by %q", got)
	}
	// Everybody sees groups, who knows the SM_Key members.
	c := l.port("H4").Client()
	if x, _ := table[mad.MCMemberRecord](l, c, mad.AttrMCMemberRecord, 0, nil); len(x) != 2 || x[0].JoinState|x[1].JoinState != 0 {
		t.Errorf("groups: %+v", x)
	}
	c.SMKey = 1
	if x, _ := table[mad.MCMemberRecord](l, c, mad.AttrMCMemberRecord, 0, nil); len(x) != 6 {
		t.Errorf("%d members, want 6", len(x))
	}
	mft, _ := table[mad.MulticastForwardingRecord](l, c, mad.AttrMulticastForwardingRecord, 0, nil)
	if len(mft) == 0 {
		t.Error("no multicast forwarding records")
	}
	for _, b := range mft {
		n := l.m.Subnet().PortByLID(b.LID).Node
		if got := l.Node(n.Desc.String()).MFT[uint32(b.Position)<<28|uint32(b.BlockNum)]; got != b.MulticastForwarding {
			t.Errorf("%s: multicast block %d/%d differs from the switch's", n.Desc.String(), b.BlockNum, b.Position)
		}
	}
	// Without full members a group ends; the broadcast group stays.
	if _, st = l.member("H1", mad.MethodDelete, mad.MCMemberRecord{MGID: g}); st != 0 {
		t.Errorf("leave: %v", st)
	}
	for _, h := range []string{"H2", "H3", "H6", "H8"} {
		if _, st = l.member(h, mad.MethodDelete, mad.MCMemberRecord{MGID: broadcast}); st != 0 {
			t.Errorf("%s leaves: %v", h, st)
		}
	}
	l.Run(10 * sim.Millisecond)
	if x, _ := table[mad.MCMemberRecord](l, c, mad.AttrMCMemberRecord, 0, nil); len(x) != 1 || x[0].MGID != broadcast {
		t.Errorf("groups at the end: %+v", x)
	}
	for _, n := range l.Nodes {
		for k, x := range n.MFT {
			if x != (mad.MulticastForwarding{}) {
				t.Errorf("%s: block %#x is %v", n.Name, k, x.PortMask)
			}
		}
	}
}

func TestMulticastErrors(t *testing.T) {
	l := newLab(t, sm.Config{})
	must := []string{"QKey", "PKey", "TClass", "SL", "FlowLabel"}
	g := wire.GID{0xff, 0x12, 15: 9}
	if _, st := l.member("H2", mad.MethodSet, mad.MCMemberRecord{MGID: g, PKey: 0xffff, QKey: 1}, must...); st != 0 {
		t.Fatal(st)
	}
	for _, x := range []struct {
		name, host string
		m          mad.Method
		w          mad.MCMemberRecord
		comps      []string
		st         mad.Status
	}{
		{"create without components", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 15: 1}}, nil, mad.StatusSAInsufficient},
		{"create as a sender", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 15: 1}, PKey: 0xffff, JoinState: mad.JoinSendOnly}, must, mad.StatusSAInvalid},
		{"create with a unicast GID", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: wire.GID{0xfe, 0x80, 15: 1}, PKey: 0xffff}, must, mad.StatusSAInvalid},
		{"create in another partition", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 15: 1}, PKey: 0x8005}, must, mad.StatusSAInvalid},
		{"another Q_Key", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: g, QKey: 2}, []string{"QKey"}, mad.StatusSAInvalid},
		{"a rate that the group has not", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: g, RateSelector: mad.SelGreater, Rate: mad.Rate100G}, []string{"Rate", "RateSelector"}, mad.StatusSAInvalid},
		{"another's port", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: g, PortGID: l.gid("H4")}, nil, mad.StatusSAInvalid},
		{"another's port by proxy", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: g, PortGID: l.gid("H4"), ProxyJoin: true}, []string{"ProxyJoin"}, 0},
		{"no such port", "H3", mad.MethodSet, mad.MCMemberRecord{MGID: g, PortGID: wire.GID{0xfe, 0x80, 15: 3}}, nil, mad.StatusSAInvalid},
		{"leave without being in", "H5", mad.MethodDelete, mad.MCMemberRecord{MGID: g}, nil, mad.StatusSAInvalid},
		{"leave no group", "H5", mad.MethodDelete, mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 15: 1}}, nil, mad.StatusSAInvalid},
		{"leave as what one is not", "H2", mad.MethodDelete, mad.MCMemberRecord{MGID: g, JoinState: mad.JoinNonMember}, nil, mad.StatusSAInvalid},
	} {
		if _, st := l.member(x.host, x.m, x.w, x.comps...); st != x.st {
			t.Errorf("%s: %v, want %v", x.name, st, x.st)
		}
	}
	if r, st := l.member("H6", mad.MethodSet, mad.MCMemberRecord{PKey: 0xffff}, must...); st != 0 || !r.MGID.Multicast() {
		t.Errorf("group without an MGID: %v %v", st, r.MGID)
	}
	if n := l.a.Stats().Groups; n != 3 {
		t.Errorf("%d groups, want 3", n)
	}
}

// TestMulticastAfterFault: trees follow the links that are left, and a member
// that goes away is none any more.
func TestMulticastAfterFault(t *testing.T) {
	l := newLab(t, sm.Config{})
	for _, h := range []string{"H1", "H2", "H7", "H8"} {
		l.member(h, mad.MethodSet, mad.MCMemberRecord{MGID: broadcast})
	}
	l.Run(10 * sim.Millisecond)
	for _, cut := range []string{"S1", "S2"} {
		n := l.Node(cut)
		peer := n.Ports[2].Peer
		l.Pull(n.Ports[2])
		l.Run(500 * sim.Millisecond)
		if got := l.hears("H1", 0xc000); got != "H2 H7 H8" {
			t.Errorf("%s cut: H1 is heard by %q", cut, got)
		}
		l.Plug(n.Ports[2], peer)
		l.Run(500 * sim.Millisecond)
	}
	l.Pull(l.port("H8"))
	l.Run(500 * sim.Millisecond)
	if got := l.hears("H1", 0xc000); got != "H2 H7" {
		t.Errorf("H8 away: H1 is heard by %q", got)
	}
	if n := l.a.Stats().Members; n != 3 {
		t.Errorf("%d members, want 3", n)
	}
}

// TestGroupsOfPartitions: each partition with ipoib has its broadcast group.
func TestGroupsOfPartitions(t *testing.T) {
	f, err := sm.ParsePartitions("Default=0x7fff, ipoib: ALL=full;\nred=0x1234, ipoib, mtu=3, sl=2, scope=5, Q_Key=0x77: ALL mgid=ff15:401b::7, sl=1\n mgid=ff15:a01b::9, rate=6, Q_Key=0, scope=8, scope=2;")
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, sm.Config{Partitions: f})
	rs, _ := table[mad.MCMemberRecord](l, l.port("H2").Client(), mad.AttrMCMemberRecord, 0, nil)
	var got []string
	for _, r := range rs {
		got = append(got, fmt.Sprintf("%v mtu %d rate %d sl %d qkey %#x pkey %#x scope %d", r.MGID, r.MTU, r.Rate, r.SL, r.QKey, r.PKey, r.Scope))
	}
	want := []string{
		"ff12:401b:ffff::ffff:ffff mtu 4 rate 3 sl 0 qkey 0xb1b pkey 0xffff scope 2",
		"ff12:a01b::9 mtu 3 rate 6 sl 2 qkey 0x0 pkey 0x9234 scope 2",
		"ff15:401b:9234::7 mtu 3 rate 3 sl 1 qkey 0x77 pkey 0x9234 scope 5",
		"ff15:401b:9234::ffff:ffff mtu 3 rate 3 sl 2 qkey 0x77 pkey 0x9234 scope 5",
		"ff15:a01b::9 mtu 3 rate 6 sl 2 qkey 0x0 pkey 0x9234 scope 5",
		"ff18:a01b::9 mtu 3 rate 6 sl 2 qkey 0x0 pkey 0x9234 scope 8",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("groups\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

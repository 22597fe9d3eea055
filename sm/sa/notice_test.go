package sa_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

func everything() mad.InformInfo {
	return mad.InformInfo{LIDRangeBegin: 0xffff, IsGeneric: 1, Subscribe: 1, Type: mad.NoticeAll, TrapNumber: 0xffff, ProducerType: 0xffffff, QPN: 1}
}

func TestNotices(t *testing.T) {
	l := newLab(t, sm.Config{})
	all, groups := l.port("H4").Client(), l.port("H5").Client()
	w := everything()
	if r := all.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w); r.Status != 0 || !r.Answered {
		t.Fatalf("subscribe: %v", r.Status)
	}
	w.TrapNumber = mad.TrapGroupCreated
	if r := groups.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w); r.Status != 0 {
		t.Fatalf("subscribe: %v", r.Status)
	}
	if x, r := table[mad.InformInfoRecord](l, groups, mad.AttrInformInfoRecord, 0, nil); len(x) != 2 || r.Offset != 64 || x[0].SubscriberGID != l.gid("H4") {
		t.Errorf("subscriptions: %+v", x)
	}
	g := wire.GID{0xff, 0x12, 15: 7}
	l.member("H1", mad.MethodSet, mad.MCMemberRecord{MGID: g, PKey: 0xffff}, "QKey", "PKey", "TClass", "SL", "FlowLabel")
	l.member("H1", mad.MethodDelete, mad.MCMemberRecord{MGID: g})
	away := l.gid("H8")
	peer := l.Pull(l.port("H8"))
	l.Run(500 * sim.Millisecond)
	l.Plug(peer, l.port("H8"))
	l.Run(500 * sim.Millisecond)
	got := map[mad.Trap]int{}
	for _, n := range all.Reports {
		got[n.TrapNumber]++
		var d mad.TrapGIDData
		mad.Decode(&d, n.DataDetails[:])
		switch n.TrapNumber {
		case mad.TrapGIDInService, mad.TrapGIDOutOfService:
			if d.GID != away || n.ProducerType != uint32(mad.ProducerClassManager) || n.IssuerGID != l.gid("H1") {
				t.Errorf("%v: %v from %v", n.TrapNumber, d.GID, n.IssuerGID)
			}
		case mad.TrapGroupCreated, mad.TrapGroupDeleted:
			if d.GID != g {
				t.Errorf("%v: %v", n.TrapNumber, d.GID)
			}
		case mad.TrapLinkState:
			if n.IssuerGID != l.gid("L2") {
				t.Errorf("%v from %v", n.TrapNumber, n.IssuerGID)
			}
		}
	}
	for trap, n := range map[mad.Trap]int{mad.TrapGIDOutOfService: 1, mad.TrapGIDInService: 1, mad.TrapGroupCreated: 1, mad.TrapGroupDeleted: 1, mad.TrapLinkState: 2} {
		if got[trap] != n {
			t.Errorf("%v: %d reports, want %d", trap, got[trap], n)
		}
	}
	if len(groups.Reports) != 1 {
		t.Errorf("%d reports to who asked for new groups", len(groups.Reports))
	}
	w.Subscribe = 0
	if r := groups.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w); r.Status != 0 {
		t.Errorf("unsubscribe: %v", r.Status)
	}
	if r := groups.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w); r.Status != mad.StatusSAInvalid {
		t.Errorf("unsubscribe twice: %v", r.Status)
	}
	l.Run(10 * sim.Second)
	if s := l.a.Stats(); s.ReportsLost != 0 || s.Subscribers != 1 {
		t.Errorf("%d reports lost, %d subscribers", s.ReportsLost, s.Subscribers)
	}
}

// TestSilentSubscriber: a report is repeated, and given up.
func TestSilentSubscriber(t *testing.T) {
	l := newLab(t, sm.Config{})
	c := l.port("H4").Client()
	w := everything()
	c.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w)
	c.Mute = true
	l.member("H1", mad.MethodSet, mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 15: 7}, PKey: 0xffff}, "QKey", "PKey", "TClass", "SL", "FlowLabel")
	l.Run(10 * sim.Second)
	if s := l.a.Stats(); s.Reports != 1 || s.ReportsLost != 1 {
		t.Errorf("%d reports, %d lost", s.Reports, s.ReportsLost)
	}
}

func TestServices(t *testing.T) {
	l := newLab(t, sm.Config{})
	c := l.port("H4").Client()
	all := []string{"ServiceID", "ServiceGID", "ServicePKey", "ServiceLease", "ServiceKey", "ServiceName"}
	r := mad.ServiceRecord{ServiceID: 77, ServiceGID: l.gid("H4"), ServicePKey: 0xffff, ServiceLease: 10, ServiceKey: [16]byte{1, 2}}
	copy(r.ServiceName[:], "disk")
	if a := c.Ask(mad.MethodSet, mad.AttrServiceRecord, comp(&r, all...), &r); a.Status != 0 || !a.Answered {
		t.Fatalf("offer: %v", a.Status)
	}
	r2 := r
	r2.ServiceID, r2.ServiceLease = 78, 0xffffffff
	c.Ask(mad.MethodSet, mad.AttrServiceRecord, comp(&r, all...), &r2)
	l.Run(3 * sim.Second)
	o := l.port("H7").Client()
	x, a := table(l, o, mad.AttrServiceRecord, comp(&r, "ServiceName"), &r)
	if len(x) != 2 || a.Offset != 176 || x[0].ServiceLease != 6 || x[0].ServiceKey != [16]byte{} || x[1].ServiceLease != 0xffffffff {
		t.Errorf("services: %+v", x)
	}
	if _, st := get(l, o, mad.AttrServiceRecord, comp(&r, "ServiceID"), &r); st != 0 {
		t.Errorf("get: %v", st)
	}
	bad := r
	bad.ServiceKey[0]++
	if a := o.Ask(mad.MethodDelete, mad.AttrServiceRecord, comp(&r, "ServiceID", "ServiceGID", "ServiceKey"), &bad); a.Status != mad.StatusSANoRecords {
		t.Errorf("delete with another key: %v", a.Status)
	}
	l.Run(10 * sim.Second)
	if x, _ := table[mad.ServiceRecord](l, o, mad.AttrServiceRecord, 0, nil); len(x) != 1 || x[0].ServiceID != 78 {
		t.Errorf("after the lease: %+v", x)
	}
	if a := c.Ask(mad.MethodDelete, mad.AttrServiceRecord, comp(&r, "ServiceID", "ServiceGID", "ServiceKey"), &r2); a.Status != 0 {
		t.Errorf("delete: %v", a.Status)
	}
	bad = r
	bad.ServicePKey = 0x8055
	if a := c.Ask(mad.MethodSet, mad.AttrServiceRecord, comp(&r, all...), &bad); a.Status != mad.StatusSAInvalid {
		t.Errorf("offer in another partition: %v", a.Status)
	}
	if s := l.a.Stats(); s.Services != 0 || s.LeasesEnded != 1 {
		t.Errorf("%+v", s)
	}
}

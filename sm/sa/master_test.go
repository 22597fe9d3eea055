package sa_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/sa"
	"cnuas/sm/smtest"
)

// TestNewMaster: the subnet goes to another manager and comes back. Nothing of
// before is left: who registers again when told to is in, at once, and the
// others are not; tables have no port of the earlier trees.
func TestNewMaster(t *testing.T) {
	pr := smtest.EDR()
	pr.CapSwitch &^= mad.CapMulticastFDBTop
	l := labOf(t, smtest.FatTree(sim.NewEngine(1), 8, pr), "h1", sm.Config{Priority: 5})
	other := l.Node("h128").Ports[1]
	second := sa.New(sa.Config{Proc: l.Eng.NewProc(), Port: other.Endpoint()})
	o := l.Manage(other, sm.Config{Priority: 9, Observer: second})
	second.Serve(o)
	other.Endpoint().GSI = second.Receive

	for _, h := range []string{"h5", "h40", "h77", "h100"} {
		if _, st := l.member(h, mad.MethodSet, mad.MCMemberRecord{MGID: broadcast}); st != 0 {
			t.Fatal(st)
		}
	}
	w := everything()
	l.port("h5").Client().Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w)
	l.port("h5").Client().Ask(mad.MethodSet, mad.AttrServiceRecord, ^uint64(0), &mad.ServiceRecord{ServiceID: 1, ServiceGID: l.gid("h5"), ServicePKey: 0xffff, ServiceLease: 9999})
	l.Run(2 * sim.Second) // the manager asks the other one in vain, which is not started
	if got := l.hears("h5", 0xc000); got != "h100 h40 h77" {
		t.Fatalf("h5 is heard by %q", got)
	}
	// Two of them register again when they are told to.
	again := func(host string) {
		p := l.port(host)
		p.Endpoint().Reregistered = func() {
			d := sm.Datagram{QP: 1, SrcQP: 1, QKey: 0x80010000, DLID: p.Info.MasterSMLID}
			s := mad.SA(d.MAD[:])
			(&mad.Header{Class: mad.ClassSubnAdm, Method: mad.MethodSet, TID: 99, Attr: mad.AttrMCMemberRecord}).Encode(s.Packet())
			r := mad.MCMemberRecord{MGID: broadcast, PortGID: l.gid(host), JoinState: mad.JoinFull}
			s.SetComponentMask(comp(&r, "MGID", "PortGID", "JoinState"))
			mad.Encode(&r, s.Data())
			p.Endpoint().Send(&d)
		}
	}
	again("h40")
	again("h100")
	o.Start()
	l.Run(3 * sim.Second)
	if o.State() != mad.SMMaster || l.m.State() != mad.SMStandby {
		t.Fatalf("%v, %v", o.State(), l.m.State())
	}
	check := func(who string) {
		t.Helper()
		if got := l.hears("h40", 0xc000); got != "h100" {
			t.Errorf("%s: h40 is heard by %q", who, got)
		}
		if got := l.hears("h100", 0xc000); got != "h40" {
			t.Errorf("%s: h100 is heard by %q", who, got)
		}
	}
	// The first sweep of a master answers nobody before it ends; a port asks
	// again, as its kernel does.
	l.port("h40").Endpoint().Reregistered()
	l.port("h100").Endpoint().Reregistered()
	l.Run(10 * sim.Millisecond)
	check("the other manager")
	if s := second.Stats(); s.Members != 2 || s.Services != 0 || s.Subscribers != 0 {
		t.Errorf("the other manager: %+v", s)
	}
	l.Kill(other, o)
	l.m.Stop()
	l.m.Start()
	l.Run(3 * sim.Second)
	l.port("h40").Endpoint().Reregistered()
	l.port("h100").Endpoint().Reregistered()
	l.Run(10 * sim.Millisecond)
	check("the first one again")
	if s := l.a.Stats(); s.Members != 2 || s.Groups != 1 || s.Services != 0 || s.Subscribers != 0 {
		t.Errorf("the first one again: %+v", s)
	}
}

// TestTablesOfAnother: whatever another manager has left in a block of the
// multicast tables, the tree goes by its own ports only.
func TestTablesOfAnother(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	pr := smtest.IBSim()
	wide := f.Add(mad.NodeSwitch, "W", 0x700000, 40, &pr)
	f.Plug(wide.Ports[1], f.Node("L1").Ports[8])
	for i, p := range []int{2, 20, 39} {
		h := f.Add(mad.NodeCA, []string{"A", "B", "C"}[i], wire.GUID(0x600000+0x10*i), 1, &pr)
		f.Plug(h.Ports[1], wide.Ports[p])
	}
	for pos := range uint32(3) {
		var x mad.MulticastForwarding
		for i := range x.PortMask {
			x.PortMask[i] = 0xffff
		}
		wide.MFT[pos<<28] = x
	}
	l := labOf(t, f, "H1", sm.Config{})
	l.member("A", mad.MethodSet, mad.MCMemberRecord{MGID: broadcast})
	l.member("H2", mad.MethodSet, mad.MCMemberRecord{MGID: broadcast})
	l.Run(10 * sim.Millisecond)
	if got := l.hears("H2", 0xc000); got != "A" {
		t.Errorf("H2 is heard by %q", got)
	}
	if got := l.hears("A", 0xc000); got != "H2" {
		t.Errorf("A is heard by %q", got)
	}
}

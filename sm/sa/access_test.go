package sa_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// split is a lab of which H2 and H3 are full members of partition 1, H4 and H5
// of partition 2, H6 a limited one of both; the default partition is as without
// a rule: limited, the manager at H1 full.
func split(t *testing.T) *lab {
	f, err := sm.ParsePartitions("a=1, ipoib, sl=2: 0x100003=full, 0x100005=full, 0x10000b; b=2, ipoib, sl=5: 0x100007=full, 0x100009=full, 0x10000b;")
	if err != nil {
		t.Fatal(err)
	}
	return newLab(t, sm.Config{Partitions: f})
}

// TestAccess: records of ports, paths, groups and services by who asks.
func TestAccess(t *testing.T) {
	l := split(t)
	for _, h := range []string{"H2", "H4"} {
		r := mad.ServiceRecord{ServiceID: uint64(h[1]), ServiceGID: l.gid(h), ServicePKey: map[string]uint16{"H2": 0x8001, "H4": 0x8002}[h], ServiceLease: 0xffffffff}
		if a := l.port(h).Client().Ask(mad.MethodSet, mad.AttrServiceRecord, ^uint64(0), &r); a.Status != 0 {
			t.Fatal(a.Status)
		}
	}
	for _, x := range []struct {
		who             string
		key             uint64
		nodes, groups   int
		services, paths int // paths from the port itself
		links           int
	}{
		{"H1", 0, 12, 0, 0, 12, 24},
		{"H2", 0, 4, 1, 1, 4, 0}, // H1, H2, H3, H6
		{"H4", 0, 4, 1, 1, 4, 0}, // H1, H4, H5, H6
		{"H6", 0, 6, 2, 2, 6, 0}, // H1 to H6
		{"H7", 0, 2, 0, 0, 2, 0}, // H1, H7
		{"H7", 1, 12, 2, 2, 2, 24},
		{"S1", 0, 2, 0, 0, 2, 0},
	} {
		c := l.port(x.who).Client()
		c.SMKey = x.key
		nodes, _ := table[mad.NodeRecord](l, c, mad.AttrNodeRecord, 0, nil)
		groups, _ := table[mad.MCMemberRecord](l, c, mad.AttrMCMemberRecord, 0, nil)
		services, _ := table[mad.ServiceRecord](l, c, mad.AttrServiceRecord, 0, nil)
		links, _ := table[mad.LinkRecord](l, c, mad.AttrLinkRecord, 0, nil)
		w := mad.PathRecord{SGID: l.gid(x.who)}
		paths, r := table(l, c, mad.AttrPathRecord, comp(&w, "SGID"), &w)
		if len(nodes) != x.nodes || len(groups) != x.groups || len(services) != x.services || len(paths) != x.paths || len(links) != x.links {
			t.Errorf("%s with SM_Key %d sees %d nodes, %d groups, %d services, %d paths, %d links; want %+v; %v", x.who, x.key, len(nodes), len(groups), len(services), len(paths), len(links), x, r.Status)
		}
	}
	// The path has P_Key and SL of the partition that both are in.
	for _, x := range []struct {
		a, b string
		pkey uint16
		sl   uint8
	}{{"H2", "H3", 0x8001, 2}, {"H6", "H2", 1, 2}, {"H6", "H4", 2, 5}, {"H7", "H1", 0x7fff, 0}} {
		w := mad.PathRecord{SGID: l.gid(x.a), DGID: l.gid(x.b)}
		p, st := get(l, l.port(x.a).Client(), mad.AttrPathRecord, comp(&w, "SGID", "DGID"), &w)
		if st != 0 || p.PKey != x.pkey || p.SL != x.sl {
			t.Errorf("%s to %s: %v, P_Key %#x, SL %d; want %#x, %d", x.a, x.b, st, p.PKey, p.SL, x.pkey, x.sl)
		}
	}
	for _, x := range [][2]string{{"H2", "H4"}, {"H6", "H7"}, {"H7", "H8"}} {
		w := mad.PathRecord{SGID: l.gid(x[0]), DGID: l.gid(x[1])}
		if _, st := get(l, l.port(x[0]).Client(), mad.AttrPathRecord, comp(&w, "SGID", "DGID"), &w); st != mad.StatusSANoRecords {
			t.Errorf("%s to %s: %v", x[0], x[1], st)
		}
	}
	// Groups of a partition are for its members.
	for host, want := range map[string]mad.Status{"H2": 0, "H6": 0, "H4": mad.StatusSAInvalid, "H1": mad.StatusSAInvalid} {
		if _, st := l.member(host, mad.MethodSet, mad.MCMemberRecord{MGID: sm.Broadcast(2, 1)}); st != want {
			t.Errorf("%s joins the broadcast group of partition 1: %v, want %v", host, st, want)
		}
	}
}

// TestNoticeAccess: who hears of ports and groups of which partition.
func TestNoticeAccess(t *testing.T) {
	l := split(t)
	got := map[string]map[mad.Trap]int{}
	clients := map[string]func() []mad.NoticeRecord{}
	for _, h := range []string{"H1", "H3", "H4", "H6", "H7"} {
		c, w := l.port(h).Client(), everything()
		if r := c.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w); r.Status != 0 {
			t.Fatal(r.Status)
		}
		clients[h] = func() []mad.NoticeRecord { return c.Reports }
	}
	l.member("H2", mad.MethodSet, mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 15: 7}, PKey: 0x8001}, "QKey", "PKey", "TClass", "SL", "FlowLabel")
	l.member("H2", mad.MethodDelete, mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 15: 7}})
	peer := l.Pull(l.port("H2"))
	l.Run(300 * sim.Millisecond)
	l.Plug(l.port("H2"), peer)
	l.Run(300 * sim.Millisecond)
	l.port("H5").Node.Trap(l.port("H5"), mad.TrapBadPKey, &mad.Notice{})
	l.Run(300 * sim.Millisecond)
	for h, f := range clients {
		got[h] = map[mad.Trap]int{}
		for _, n := range f() {
			got[h][n.TrapNumber]++
		}
	}
	for h, want := range map[string]map[mad.Trap]int{
		"H1": {64: 1, 65: 1, 128: 2, 257: 1},       // shares the default partition with all, and is in no other
		"H3": {64: 1, 65: 1, 66: 1, 67: 1},         // partition 1, not with switches
		"H4": {257: 1},                             // partition 2
		"H6": {64: 1, 65: 1, 66: 1, 67: 1, 257: 1}, // both
		"H7": {},                                   // none
	} {
		for _, trap := range []mad.Trap{64, 65, 66, 67, 128, 257} {
			if got[h][trap] != want[trap] {
				t.Errorf("%s has %d reports of trap %d, want %d", h, got[h][trap], uint16(trap), want[trap])
			}
		}
	}
}

// TestSubscribeToOne: GIDs of a subscription mean who a notice is about.
func TestSubscribeToOne(t *testing.T) {
	l := newLab(t, sm.Config{})
	c, w := l.port("H4").Client(), everything()
	w.GID = l.gid("H8")
	if r := c.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w); r.Status != 0 {
		t.Fatal(r.Status)
	}
	for _, h := range []string{"H7", "H8"} {
		peer := l.Pull(l.port(h))
		l.Run(300 * sim.Millisecond)
		l.Plug(l.port(h), peer)
		l.Run(300 * sim.Millisecond)
	}
	if len(c.Reports) != 2 || c.Reports[0].TrapNumber != mad.TrapGIDOutOfService || c.Reports[1].TrapNumber != mad.TrapGIDInService {
		t.Errorf("%d reports", len(c.Reports))
	}
}

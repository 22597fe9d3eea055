package sa_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// FuzzReceive gives subnet administration datagrams of any content, several
// from the same ports, so that sessions and groups of earlier ones are met.
func FuzzReceive(f *testing.F) {
	l := newLab(&testing.T{}, sm.Config{})
	add := func(method mad.Method, attr mad.AttrID, mask uint64, rec mad.Attribute, rmpp mad.RMPPFields) {
		var d sm.Datagram
		s := mad.SA(d.MAD[:])
		(&mad.Header{Class: mad.ClassSubnAdm, Method: method, TID: 7, Attr: attr}).Encode(s.Packet())
		s.SetComponentMask(mask)
		if rmpp.Flags != 0 {
			rmpp.Encode(s.RMPP())
		}
		if rec != nil {
			mad.Encode(rec, s.Data())
		}
		f.Add(d.MAD[:], uint16(5), uint32(1))
	}
	for _, attr := range []mad.AttrID{mad.AttrNodeRecord, mad.AttrPortInfoRecord, mad.AttrLinkRecord, mad.AttrPathRecord, mad.AttrMCMemberRecord, mad.AttrInformInfoRecord} {
		add(mad.MethodGetTable, attr, 0, nil, mad.RMPPFields{})
	}
	w := everything()
	add(mad.MethodSet, mad.AttrInformInfo, 0, &w, mad.RMPPFields{})
	add(mad.MethodSet, mad.AttrMCMemberRecord, ^uint64(0), &mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 15: 1}, PortGID: l.gid("H2"), PKey: 0xffff, JoinState: 1}, mad.RMPPFields{})
	add(mad.MethodDelete, mad.AttrMCMemberRecord, ^uint64(0), &mad.MCMemberRecord{MGID: broadcast, PortGID: l.gid("H2"), JoinState: 1}, mad.RMPPFields{})
	add(mad.MethodSet, mad.AttrServiceRecord, ^uint64(0), &mad.ServiceRecord{ServiceID: 1, ServiceGID: l.gid("H2"), ServicePKey: 0xffff, ServiceLease: 1}, mad.RMPPFields{})
	add(mad.MethodGetMulti, mad.AttrMultiPathRecord, ^uint64(0), &mad.MultiPathRecord{SGIDCount: 1, DGIDCount: 200}, mad.RMPPFields{})
	add(mad.MethodGetMulti, mad.AttrMultiPathRecord, 0, nil, mad.RMPPFields{Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst, Data1: 1, Data2: 5000})
	add(mad.MethodGetTable.Response(), mad.AttrNodeRecord, 0, nil, mad.RMPPFields{Type: mad.RMPPAck, Flags: mad.RMPPActive, Data1: 1, Data2: 0xffffffff})
	add(mad.MethodGetTable.Response(), mad.AttrNodeRecord, 0, nil, mad.RMPPFields{Type: mad.RMPPAbort, Flags: mad.RMPPActive, Status: 120})
	f.Fuzz(func(t *testing.T, b []byte, slid uint16, qp uint32) {
		l.t = t
		before := l.a.Stats().Segments
		for range 2 {
			d := sm.Datagram{SLID: wire.LID(slid), DLID: 1, QP: 1, SrcQP: qp & 0xffffff}
			copy(d.MAD[:], b)
			l.a.Receive(&d)
			l.Run(sim.Millisecond)
		}
		l.Run(20 * sim.Second)
		s := l.a.Stats()
		if s.OpenSessions != 0 || s.Segments-before > 2000 {
			t.Errorf("%d sessions, %d segments", s.OpenSessions, s.Segments-before)
		}
		n, r := table[mad.NodeRecord](l, l.port("H5").Client(), mad.AttrNodeRecord, 0, nil)
		if len(n) != 12 {
			t.Errorf("%d nodes, %v", len(n), r.Status)
		}
	})
}

package sa_test

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// bitsOf are the bits of a field of an encoded record, as text.
func bitsOf(f *mad.Field, b []byte) string {
	var s strings.Builder
	for i := range f.Width {
		n := f.Byte*8 + f.Bit + i
		s.WriteByte('0' + b[n/8]>>(7-n%8)&1)
	}
	return s.String()
}

// flip changes a field of an encoded record.
func flip(f *mad.Field, b []byte) []byte {
	b = append([]byte(nil), b...)
	n := f.Byte*8 + f.Bit + f.Width - 1
	b[n/8] ^= 1 << (7 - n%8)
	return b
}

// full is a lab in which there are records of every type.
func full(t *testing.T) *lab {
	l := newLab(t, sm.Config{QoS: sm.DefaultQoS()})
	for i, h := range []string{"H2", "H3", "H7"} {
		l.member(h, mad.MethodSet, mad.MCMemberRecord{MGID: broadcast})
		l.member(h, mad.MethodSet, mad.MCMemberRecord{MGID: wire.GID{0xff, 0x12, 0xa0, 0x1b, 15: byte(i)}, QKey: uint32(i), PKey: 0xffff, SL: uint8(i)}, "QKey", "PKey", "TClass", "SL", "FlowLabel")
		r := mad.ServiceRecord{ServiceID: uint64(i), ServiceGID: l.gid(h), ServicePKey: 0xffff, ServiceLease: 0xffffffff}
		copy(r.ServiceName[:], h)
		r.ServiceData[3] = byte(i)
		c := l.port(h).Client()
		c.Ask(mad.MethodSet, mad.AttrServiceRecord, ^uint64(0), &r)
		w := everything()
		w.TrapNumber = mad.Trap(64 + i)
		c.Ask(mad.MethodSet, mad.AttrInformInfo, 0, &w)
	}
	o := l.Manage(l.port("H8"), sm.Config{})
	o.Start()
	l.Run(100 * sim.Millisecond)
	l.m.Heavy()
	l.Run(100 * sim.Millisecond)
	return l
}

// TestComponents asks for tables of every type by every component alone, with
// what a record has there and with something else, and by all at once. What has
// to come is worked out from the whole table, bit by bit.
func TestComponents(t *testing.T) {
	l := full(t)
	c := l.port("H5").Client()
	c.SMKey = 1
	for _, x := range []struct {
		attr mad.AttrID
		rec  mad.Attribute
		not  string // fields that are no plain comparison
	}{
		{mad.AttrNodeRecord, &mad.NodeRecord{}, ""}, {mad.AttrPortInfoRecord, &mad.PortInfoRecord{}, "EndportLID"}, {mad.AttrSwitchInfoRecord, &mad.SwitchInfoRecord{}, ""},
		{mad.AttrLinearForwardingRecord, &mad.LinearForwardingRecord{}, ""}, {mad.AttrMulticastForwardingRecord, &mad.MulticastForwardingRecord{}, ""},
		{mad.AttrSLtoVLRecord, &mad.SLtoVLRecord{}, ""}, {mad.AttrVLArbitrationRecord, &mad.VLArbitrationRecord{}, ""}, {mad.AttrPKeyTableRecord, &mad.PKeyTableRecord{}, ""},
		{mad.AttrGUIDInfoRecord, &mad.GUIDInfoRecord{}, ""}, {mad.AttrLinkRecord, &mad.LinkRecord{}, ""}, {mad.AttrSMInfoRecord, &mad.SMInfoRecord{}, ""},
		{mad.AttrMCMemberRecord, &mad.MCMemberRecord{}, "MTU MTUSelector Rate RateSelector PacketLifeTime PacketLifeTimeSelector"},
		{mad.AttrServiceRecord, &mad.ServiceRecord{}, ""}, {mad.AttrInformInfoRecord, &mad.InformInfoRecord{}, ""},
	} {
		name := mad.AttrName(mad.ClassSubnAdm, x.attr)
		all := c.AskRaw(mad.MethodGetTable, x.attr, 0, 0, make([]byte, 200))
		recs := all.Records()
		if all.Status != 0 || len(recs) < 2 {
			t.Errorf("%s: %v, %d records", name, all.Status, len(recs))
			continue
		}
		n := 0
		check := func(what string, mask uint64, rec []byte, want [][]byte) {
			t.Helper()
			n++
			req := make([]byte, max(200, len(rec)))
			copy(req, rec)
			r := c.AskRaw(mad.MethodGetTable, x.attr, mask, 0, req[:200])
			if got := fmt.Sprintf("%x", r.Records()); r.Status != 0 || got != fmt.Sprintf("%x", want) {
				t.Errorf("%s by %s: %v, %d records, want %d", name, what, r.Status, len(r.Records()), len(want))
			}
			g := c.AskRaw(mad.MethodGet, x.attr, mask, 0, req[:200])
			wantSt := mad.StatusOK
			if len(want) == 0 {
				wantSt = mad.StatusSANoRecords
			} else if len(want) > 1 {
				wantSt = mad.StatusSATooMany
			}
			if g.Status != wantSt || wantSt == 0 && string(g.Data[:len(want[0])]) != string(want[0]) {
				t.Errorf("%s by %s: Get answers %v, want %v", name, what, g.Status, wantSt)
			}
		}
		fields := mad.Fields(x.rec)
		byMask := map[uint64][]mad.Field{}
		var order []uint64
		var every uint64
		for _, f := range fields {
			if f.Components == 0 || f.Reserved || x.not != "" && strings.Contains(" "+x.not+" ", " "+f.Name+" ") {
				continue
			}
			if byMask[f.Components] == nil {
				order = append(order, f.Components)
			}
			byMask[f.Components] = append(byMask[f.Components], f)
			every |= f.Components
		}
		filter := func(mask uint64, rec []byte) (want [][]byte) {
			for _, r := range recs {
				same := true
				for i := range fields {
					if f := &fields[i]; f.Components&mask != 0 && !f.Reserved {
						same = same && bitsOf(f, r) == bitsOf(f, rec)
					}
				}
				if same {
					want = append(want, r)
				}
			}
			return want
		}
		for _, mask := range order {
			f := byMask[mask][0]
			for _, r := range [][]byte{recs[0], recs[len(recs)-1]} {
				check(f.Name, mask, r, filter(mask, r))
			}
			other := flip(&f, recs[0])
			check("another "+f.Name, mask, other, filter(mask, other))
		}
		if every>>63 == 0 {
			check("a component that does not exist", 1<<63, recs[0], recs)
		}
		check("all components", every, recs[len(recs)/2], filter(every, recs[len(recs)/2]))
		if n < 5 {
			t.Errorf("%s: only %d requests", name, n)
		}
		t.Logf("%s: %d records, %d components, %d requests", name, len(recs), len(order), n)
	}
}

// TestPathComponents does so for paths, of which some components are wishes.
func TestPathComponents(t *testing.T) {
	l := newLab(t, sm.Config{})
	c := l.port("H5").Client()
	base := mad.PathRecord{SGID: l.gid("H5"), DGID: l.gid("H1")}
	ends := comp(&base, "SGID", "DGID")
	p, st := get(l, c, mad.AttrPathRecord, ends, &base)
	if st != 0 {
		t.Fatal(st)
	}
	seen := uint64(0)
	for _, x := range []struct {
		name     string
		ok, none func(*mad.PathRecord) // with it there is the path, or none; nil: always
		more     string
		status   mad.Status
	}{
		{"ServiceID", func(w *mad.PathRecord) { w.ServiceID = 9 }, nil, "", 0},
		{"SGID", func(w *mad.PathRecord) {}, func(w *mad.PathRecord) { w.SGID[15] = 0xee }, "", mad.StatusSABadGID},
		{"DGID", func(w *mad.PathRecord) {}, func(w *mad.PathRecord) { w.DGID[15] = 0xee }, "", mad.StatusSABadGID},
		{"SLID", func(w *mad.PathRecord) { w.SLID = p.SLID }, func(w *mad.PathRecord) { w.SLID = p.DLID }, "", 0},
		{"DLID", func(w *mad.PathRecord) { w.DLID = p.DLID }, func(w *mad.PathRecord) { w.DLID = p.SLID }, "", 0},
		{"RawTraffic", func(w *mad.PathRecord) {}, func(w *mad.PathRecord) { w.RawTraffic = true }, "", 0},
		{"FlowLabel", func(w *mad.PathRecord) { w.FlowLabel = 0x12345 }, nil, "", 0},
		{"HopLimit", func(w *mad.PathRecord) { w.HopLimit = 5 }, nil, "", 0},
		{"TClass", func(w *mad.PathRecord) { w.TClass = 77 }, nil, "", 0},
		{"Reversible", func(w *mad.PathRecord) { w.Reversible = true }, nil, "", 0},
		{"NumbPath", func(w *mad.PathRecord) { w.NumbPath = 3 }, nil, "", 0},
		{"PKey", func(w *mad.PathRecord) { w.PKey = 0xffff }, func(w *mad.PathRecord) { w.PKey = 0x8001 }, "", 0},
		{"QoSClass", func(w *mad.PathRecord) { w.QoSClass = 4 }, nil, "", 0},
		{"SL", func(w *mad.PathRecord) {}, func(w *mad.PathRecord) { w.SL = 1 }, "", 0},
		{"MTUSelector", func(w *mad.PathRecord) { w.MTUSelector, w.MTU = mad.SelLargest, 0 }, func(w *mad.PathRecord) { w.MTUSelector, w.MTU = mad.SelExact, mad.MTU4096 }, "MTU", 0},
		{"MTU", func(w *mad.PathRecord) { w.MTUSelector, w.MTU = mad.SelLess, mad.MTU4096 }, func(w *mad.PathRecord) { w.MTUSelector, w.MTU = mad.SelLess, mad.MTU256 }, "MTUSelector", 0},
		{"RateSelector", func(w *mad.PathRecord) { w.RateSelector, w.Rate = mad.SelLargest, 0 }, func(w *mad.PathRecord) { w.RateSelector, w.Rate = mad.SelExact, mad.Rate100G }, "Rate", 0},
		{"Rate", func(w *mad.PathRecord) { w.RateSelector, w.Rate = mad.SelGreater, mad.Rate5G }, func(w *mad.PathRecord) { w.RateSelector, w.Rate = mad.SelLess, mad.Rate2_5G }, "RateSelector", 0},
		{"PacketLifeTimeSelector", func(w *mad.PathRecord) { w.PacketLifeTimeSelector, w.PacketLifeTime = mad.SelLargest, 0 }, func(w *mad.PathRecord) { w.PacketLifeTimeSelector, w.PacketLifeTime = mad.SelExact, 3 }, "PacketLifeTime", 0},
		{"PacketLifeTime", func(w *mad.PathRecord) { w.PacketLifeTimeSelector, w.PacketLifeTime = mad.SelLess, 19 }, func(w *mad.PathRecord) { w.PacketLifeTimeSelector, w.PacketLifeTime = mad.SelLess, 18 }, "PacketLifeTimeSelector", 0},
		{"Preference", func(w *mad.PathRecord) { w.Preference = 1 }, nil, "", 0},
	} {
		mask := ends | comp(&base, x.name, x.more)
		seen |= comp(&base, x.name)
		w := base
		x.ok(&w)
		got, r := table(l, c, mad.AttrPathRecord, mask, &w)
		if len(got) != 1 || r.Status != 0 || got[0].DLID != p.DLID || got[0].SLID != p.SLID {
			t.Errorf("%s: %v, %d paths", x.name, r.Status, len(got))
		} else if got[0].TClass != w.TClass || got[0].FlowLabel != w.FlowLabel {
			t.Errorf("%s: TClass %d, flow label %d", x.name, got[0].TClass, got[0].FlowLabel)
		}
		if x.none != nil {
			w = base
			x.none(&w)
			if got, r := table(l, c, mad.AttrPathRecord, mask, &w); len(got) != 0 || r.Status != x.status {
				t.Errorf("%s that does not fit: %v, %d paths", x.name, r.Status, len(got))
			}
			want := x.status
			if want == 0 {
				want = mad.StatusSANoRecords
			}
			if _, st := get(l, c, mad.AttrPathRecord, mask, &w); st != want {
				t.Errorf("%s that does not fit: Get answers %v, want %v", x.name, st, want)
			}
		}
	}
	for _, f := range mad.Fields(&base) {
		if !f.Reserved && f.Components&^seen != 0 {
			t.Errorf("component %s is not tested", f.Name)
		}
	}
}

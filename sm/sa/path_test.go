package sa_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

func TestPathRequests(t *testing.T) {
	l := newLab(t, sm.Config{LMC: 1})
	c := l.port("H5").Client()
	ask := func(m mad.Method, w mad.PathRecord, names ...string) ([]mad.PathRecord, mad.Status) {
		t.Helper()
		r := c.Ask(m, mad.AttrPathRecord, comp(&w, names...), &w)
		var l []mad.PathRecord
		if m == mad.MethodGet && r.Status == 0 {
			var x mad.PathRecord
			mad.Decode(&x, r.Data)
			return []mad.PathRecord{x}, 0
		}
		for _, b := range r.Records() {
			var x mad.PathRecord
			mad.Decode(&x, b)
			l = append(l, x)
		}
		return l, r.Status
	}
	base := mad.PathRecord{SGID: l.gid("H5"), DGID: l.gid("H1"), NumbPath: 1}
	with := func(f func(*mad.PathRecord)) mad.PathRecord {
		w := base
		f(&w)
		return w
	}
	for _, x := range []struct {
		name  string
		m     mad.Method
		w     mad.PathRecord
		comps []string
		n     int
		st    mad.Status
	}{
		{"get", mad.MethodGet, base, []string{"SGID", "DGID", "NumbPath"}, 1, 0},
		{"table of two LIDs", mad.MethodGetTable, base, []string{"SGID", "DGID"}, 2, 0},
		{"table, NumbPath 1", mad.MethodGetTable, base, []string{"SGID", "DGID", "NumbPath"}, 1, 0},
		{"unknown GID", mad.MethodGet, with(func(w *mad.PathRecord) { w.DGID[15] = 0xee }), []string{"SGID", "DGID"}, 0, mad.StatusSABadGID},
		{"other subnet", mad.MethodGet, with(func(w *mad.PathRecord) { w.DGID[7] = 0xee }), []string{"SGID", "DGID"}, 0, mad.StatusSABadGID},
		{"unknown LID", mad.MethodGetTable, with(func(w *mad.PathRecord) { w.DLID = 999 }), []string{"SGID", "DLID"}, 0, 0},
		{"unknown LID, get", mad.MethodGet, with(func(w *mad.PathRecord) { w.DLID = 999 }), []string{"SGID", "DLID"}, 0, mad.StatusSANoRecords},
		{"other partition", mad.MethodGet, with(func(w *mad.PathRecord) { w.PKey = 0x8123 }), []string{"SGID", "DGID", "PKey"}, 0, mad.StatusSANoRecords},
		{"MTU above 1024", mad.MethodGet, with(func(w *mad.PathRecord) { w.MTUSelector, w.MTU = mad.SelGreater, mad.MTU1024 }), []string{"SGID", "DGID", "MTU", "MTUSelector"}, 1, 0},
		{"MTU above 2048", mad.MethodGet, with(func(w *mad.PathRecord) { w.MTUSelector, w.MTU = mad.SelGreater, mad.MTU2048 }), []string{"SGID", "DGID", "MTU", "MTUSelector"}, 0, mad.StatusSANoRecords},
		{"MTU exactly 512", mad.MethodGet, with(func(w *mad.PathRecord) { w.MTUSelector, w.MTU = mad.SelExact, mad.MTU512 }), []string{"SGID", "DGID", "MTU", "MTUSelector"}, 1, 0},
		{"rate above 10", mad.MethodGet, with(func(w *mad.PathRecord) { w.RateSelector, w.Rate = mad.SelGreater, mad.Rate10G }), []string{"SGID", "DGID", "Rate", "RateSelector"}, 0, mad.StatusSANoRecords},
		{"rate below 10", mad.MethodGet, with(func(w *mad.PathRecord) { w.RateSelector, w.Rate = mad.SelLess, mad.Rate10G }), []string{"SGID", "DGID", "Rate", "RateSelector"}, 1, 0},
		{"everything from H5", mad.MethodGetTable, base, []string{"SGID", "NumbPath"}, 12, 0},
		{"the broadcast group", mad.MethodGet, with(func(w *mad.PathRecord) {
			w.DGID = wire.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 0xff, 0xff, 0xff}
		}), []string{"SGID", "DGID"}, 1, 0},
	} {
		l, st := ask(x.m, x.w, x.comps...)
		if len(l) != x.n || st != x.st {
			t.Errorf("%s: %d records, status %v; want %d, %v", x.name, len(l), st, x.n, x.st)
		}
	}
	p, _ := ask(mad.MethodGetTable, base, "SGID", "DGID")
	if p[0].DLID&1 != 0 || p[1].DLID != p[0].DLID+1 || p[1].SLID != p[0].SLID+1 {
		t.Errorf("paths of LMC 1: %d-%d, %d-%d", p[0].SLID, p[0].DLID, p[1].SLID, p[1].DLID)
	}
	if p, _ := ask(mad.MethodGet, mad.PathRecord{SGID: l.gid("H5"), DGID: l.gid("H1"), RateSelector: mad.SelLess, Rate: mad.Rate10G}, "SGID", "DGID", "Rate", "RateSelector"); p[0].Rate != mad.Rate5G {
		t.Errorf("below 10 Gb/s: %v, want 5 Gb/s", p[0].Rate)
	}
}

// TestManyRecords: more than a window of segments, with some of them lost.
func TestManyRecords(t *testing.T) {
	l := newLab(t, sm.Config{})
	c := l.port("H3").Client()
	for _, loss := range []float64{0, 0.15} {
		l.LossQP1 = loss
		for range 5 {
			r := c.Ask(mad.MethodGetTable, mad.AttrPathRecord, 0, nil)
			for try := 0; try < 20 && len(r.Data) == 0; try++ { // the request itself was lost
				r = c.Ask(mad.MethodGetTable, mad.AttrPathRecord, 0, nil)
			}
			var rs []mad.PathRecord
			for _, b := range r.Records() {
				var p mad.PathRecord
				mad.Decode(&p, b)
				rs = append(rs, p)
			}
			if len(rs) != 144 || r.Segments != (144*64+199)/200 {
				t.Fatalf("loss %v: %d records in %d segments, want 144", loss, len(rs), r.Segments)
			}
			seen := map[[2]wire.LID]bool{}
			for _, p := range rs {
				seen[[2]wire.LID{p.SLID, p.DLID}] = true
			}
			if len(seen) != 144 {
				t.Fatalf("loss %v: %d different pairs", loss, len(seen))
			}
		}
	}
	l.LossQP1 = 0
	l.Run(10 * sim.Second)
	if s := l.a.Stats(); s.OpenSessions != 0 {
		t.Errorf("%d sessions are still open", s.OpenSessions)
	}
}

func TestMultiPath(t *testing.T) {
	l := newLab(t, sm.Config{})
	c := l.port("H2").Client()
	w := mad.MultiPathRecord{SGIDCount: 2, DGIDCount: 3, NumbPath: 127}
	b := make([]byte, mad.MultiPathRecordLen)
	mad.Encode(&w, b)
	b = w.AppendGIDs(b, l.gid("H1"), l.gid("H2"), l.gid("H6"), l.gid("H7"), l.gid("S1"))
	mask := comp(&w, "SGIDCount", "DGIDCount", "NumbPath")
	for _, b := range [][]byte{b, append(b, make([]byte, 300)...)} { // in one segment, and in two
		r := c.AskRaw(mad.MethodGetMulti, mad.AttrMultiPathRecord, mask, 0, b)
		if len(r.Records()) != 6 || r.Attr != mad.AttrPathRecord || r.Offset != 64 {
			t.Fatalf("%d paths of attribute %#x, status %v; want 6", len(r.Records()), r.Attr, r.Status)
		}
	}
	if r := c.AskRaw(mad.MethodGetMulti, mad.AttrMultiPathRecord, mask, 0, make([]byte, 200)); r.Status != mad.StatusSAInsufficient {
		t.Errorf("without GIDs: %v", r.Status)
	}
}

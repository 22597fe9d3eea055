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

// lab is the fabric of the golden files with a manager at H1.
type lab struct {
	*smtest.Fabric
	t *testing.T
	m *sm.Manager
	a *sa.Agent
}

func newLab(t *testing.T, cfg sm.Config) *lab {
	t.Helper()
	return labOf(t, smtest.FT2x2x8(sim.NewEngine(1)), "H1", cfg)
}

func labOf(t *testing.T, f *smtest.Fabric, node string, cfg sm.Config) *lab {
	t.Helper()
	l := &lab{Fabric: f, t: t}
	p := f.Node(node).Ports[1]
	l.a = sa.New(sa.Config{Proc: f.Eng.NewProc(), Port: p.Endpoint()})
	cfg.Observer = l.a
	l.m = f.Manage(p, cfg)
	l.a.Serve(l.m)
	p.Endpoint().GSI = l.a.Receive
	l.m.Start()
	f.Run(200 * sim.Millisecond)
	if l.m.Subnet() == nil {
		t.Fatalf("not up: %v", l.m.Status().Errors)
	}
	return l
}

func (l *lab) port(name string) *smtest.Port {
	n := l.Node(name)
	if n.Ports[0] != nil {
		return n.Ports[0]
	}
	return n.Ports[1]
}

func (l *lab) lid(name string) wire.LID { return l.port(name).Info.LID }

func (l *lab) gid(name string) wire.GID {
	return wire.MakeGID(wire.DefaultGIDPrefix, l.port(name).GUID)
}

func comp(rec mad.Attribute, names ...string) uint64 {
	return mad.Component(mad.Fields(rec), names...)
}

// get asks for one record and decodes it.
func get[T any, P interface {
	*T
	mad.Attribute
}](l *lab, c *smtest.Client, attr mad.AttrID, mask uint64, rec P) (P, mad.Status) {
	l.t.Helper()
	r := c.Ask(mad.MethodGet, attr, mask, rec)
	if !r.Answered {
		l.t.Fatalf("%s: no answer", mad.AttrName(mad.ClassSubnAdm, attr))
	}
	out := P(new(T))
	mad.Decode(out, r.Data)
	return out, r.Status
}

// table asks for a table and decodes it.
func table[T any, P interface {
	*T
	mad.Attribute
}](l *lab, c *smtest.Client, attr mad.AttrID, mask uint64, rec P) (out []T, r smtest.Result) {
	l.t.Helper()
	var a mad.Attribute
	if rec != nil {
		a = rec
	}
	r = c.Ask(mad.MethodGetTable, attr, mask, a)
	if !r.Answered {
		l.t.Fatalf("%s: no answer", mad.AttrName(mad.ClassSubnAdm, attr))
	}
	for _, b := range r.Records() {
		var x T
		mad.Decode(P(&x), b)
		out = append(out, x)
	}
	return out, r
}

func TestTables(t *testing.T) {
	l := newLab(t, sm.Config{QoS: sm.DefaultQoS()})
	c := l.port("H5").Client()
	trusted := l.port("H6").Client()
	trusted.SMKey = 1

	nodes, r := table[mad.NodeRecord](l, c, mad.AttrNodeRecord, 0, nil)
	if len(nodes) != 12 || r.Offset != 112 || r.Segments != (12*112+199)/200 {
		t.Errorf("%d nodes of %d bytes in %d segments", len(nodes), r.Offset, r.Segments)
	}
	for _, n := range nodes {
		x := l.Node(n.NodeDescription.String())
		if x == nil || n.LID != l.lid(x.Name) || n.NodeGUID != x.Info.NodeGUID || n.PortGUID != l.port(x.Name).GUID {
			t.Errorf("node record %+v", n)
		}
	}
	if p, _ := table[mad.PortInfoRecord](l, c, mad.AttrPortInfoRecord, 0, nil); len(p) != 8+4*9 {
		t.Errorf("%d port records, want 44", len(p))
	}
	if p, _ := table(l, c, mad.AttrPortInfoRecord, comp(&mad.PortInfoRecord{}, "EndportLID"), &mad.PortInfoRecord{EndportLID: l.lid("L1")}); len(p) != 9 {
		t.Errorf("%d ports of L1, want 9", len(p))
	}
	if p, r := table(l, c, mad.AttrNodeRecord, comp(&mad.NodeRecord{}, "LID"), &mad.NodeRecord{LID: 999}); len(p) != 0 || r.Status != 0 || r.Offset != 0 {
		t.Errorf("no match: %d records, status %v, offset %d", len(p), r.Status, r.Offset)
	}
	if x, st := get(l, c, mad.AttrNodeRecord, comp(&mad.NodeRecord{}, "LID"), &mad.NodeRecord{LID: 999}); st != mad.StatusSANoRecords {
		t.Errorf("Get without a match: %v %v", st, x)
	}
	if _, st := get(l, c, mad.AttrNodeRecord, 0, &mad.NodeRecord{}); st != mad.StatusSATooMany {
		t.Errorf("Get of all: %v", st)
	}
	lft, r := table[mad.LinearForwardingRecord](l, c, mad.AttrLinearForwardingRecord, 0, nil)
	if len(lft) != 4 || r.Offset != 72 {
		t.Errorf("%d forwarding blocks of %d", len(lft), r.Offset)
	}
	for _, b := range lft {
		n := l.m.Subnet().PortByLID(b.LID).Node
		if got := string(l.Node(n.Desc.String()).LFT[64*int(b.BlockNum):][:64]); got != string(b.LinearForwarding.Port[:]) {
			t.Errorf("%s: block %d differs from the switch's", n.Desc.String(), b.BlockNum)
		}
	}
	if x, r := table[mad.LinkRecord](l, c, mad.AttrLinkRecord, 0, nil); len(x) != 24 || r.Offset != 8 {
		t.Errorf("%d links, want 24", len(x))
	}
	if x, _ := table[mad.SLtoVLRecord](l, c, mad.AttrSLtoVLRecord, 0, nil); len(x) != 152 {
		t.Errorf("%d SL2VL tables, want 152 as opensm sets with -Q", len(x))
	}
	if x, _ := table[mad.VLArbitrationRecord](l, c, mad.AttrVLArbitrationRecord, 0, nil); len(x) != 48 {
		t.Errorf("%d VLArb blocks, want 48 as opensm sets with -Q", len(x))
	}
	if x, r := table[mad.GUIDInfoRecord](l, c, mad.AttrGUIDInfoRecord, comp(&mad.GUIDInfoRecord{}, "LID", "BlockNum"), &mad.GUIDInfoRecord{LID: l.lid("H3")}); len(x) != 1 || x[0].GUID[0] != l.port("H3").GUID || r.Offset != 72 {
		t.Errorf("GUIDInfo %v", x)
	}
	if _, r := table[mad.PKeyTableRecord](l, c, mad.AttrPKeyTableRecord, 0, nil); r.Status != mad.StatusSAInvalid {
		t.Errorf("P_KeyTable without SM_Key: %v, want 0x0200", r.Status)
	}
	if x, r := table[mad.PKeyTableRecord](l, trusted, mad.AttrPKeyTableRecord, 0, nil); r.Status != 0 || len(x) != 52 || x[0].PKey[0] != 0xffff {
		t.Errorf("P_KeyTable with SM_Key: %v, %d records, want 52", r.Status, len(x))
	}
	if s := l.a.Stats(); s.OpenSessions > 0 || s.Aborted > 0 {
		l.Run(sim.Second)
		if s = l.a.Stats(); s.OpenSessions > 0 || s.Aborted > 0 {
			t.Errorf("%d sessions left, %d aborted", s.OpenSessions, s.Aborted)
		}
	}
}

func TestUnsupported(t *testing.T) {
	l := newLab(t, sm.Config{})
	c := l.port("H2").Client()
	for _, x := range []struct {
		m  mad.Method
		a  mad.AttrID
		st mad.Status
	}{
		{mad.MethodGet, 0x7777, mad.StatusBadMethodAttr},
		{mad.MethodSet, mad.AttrNodeRecord, mad.StatusBadMethodAttr},
		{mad.MethodGet, mad.AttrTraceRecord, mad.StatusBadMethodAttr},
		{mad.MethodGetTraceTable, mad.AttrPathRecord, mad.StatusBadMethod},
		{mad.MethodGet, mad.AttrInformInfo, mad.StatusBadMethodAttr},
	} {
		if r := c.Ask(x.m, x.a, 0, nil); !r.Answered || r.Status != x.st {
			t.Errorf("%v %s: %v, want %v", x.m, mad.AttrName(mad.ClassSubnAdm, x.a), r.Status, x.st)
		}
	}
}

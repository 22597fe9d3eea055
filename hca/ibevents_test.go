package hca_test

import (
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// TestIBPortEvents: what programs are told when the subnet manager changes a
// port.
func TestIBPortEvents(t *testing.T) {
	p := nativePeer(t, hca.RC, nil)
	port := p.ib.ca.Port(1)
	set := func(f func(*mad.PortInfo)) func() {
		return func() { ibtest.Set(port, 0, f) }
	}
	state := func(s mad.PortState) func() { return func() { ibtest.Set(port, s, nil) } }
	for _, c := range []struct {
		name string
		do   func()
		want []hca.EventType
	}{
		{"nothing", set(nil), nil},
		{"LID", set(func(a *mad.PortInfo) { a.LID = 2 }), []hca.EventType{hca.EventLIDChange}},
		{"LMC", set(func(a *mad.PortInfo) { a.LMC = 1 }), []hca.EventType{hca.EventLIDChange}},
		{"SM", set(func(a *mad.PortInfo) { a.MasterSMLID = 3 }), []hca.EventType{hca.EventSMChange}},
		{"SM's SL", set(func(a *mad.PortInfo) { a.MasterSMSL = 3 }), []hca.EventType{hca.EventSMChange}},
		{"reregister", set(func(a *mad.PortInfo) { a.ClientReregister = true }), []hca.EventType{hca.EventClientReregister}},
		{"prefix", set(func(a *mad.PortInfo) { a.GIDPrefix, a.ClientReregister = 0xfec0000000000000, false }), []hca.EventType{hca.EventGIDChange}},
		{"P_Keys", func() { port.SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{0xffff, 0x8001}}) }, []hca.EventType{hca.EventPKeyChange}},
		{"the same P_Keys", func() { port.SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{0xffff, 0x8001}}) }, nil},
		{"GUIDs", func() { port.SetGUIDBlock(0, &mad.GUIDInfo{GUID: [8]wire.GUID{2: 0x55}}) }, []hca.EventType{hca.EventGIDChange}},
		{"the same GUIDs", func() { port.SetGUIDBlock(0, &mad.GUIDInfo{GUID: [8]wire.GUID{7, 0, 0x55}}) }, nil},
		{"SL2VL", func() { port.SetSL2VL(0, &mad.SLtoVL{}) }, nil},
		{"down", state(mad.PortDown), []hca.EventType{hca.EventPortErr}},
	} {
		p.Events = nil
		c.do()
		if got := events(p.end); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: events %v, want %v", c.name, got, c.want)
		}
	}
	g := p.dev.GIDs()
	for i, want := range map[int]hca.GIDEntry{
		0: {GID: hca.GID(wire.MakeGID(0xfec0000000000000, port.GUID())), Valid: true}, 1: {GID: hca.GID(wire.MakeGID(0xfec0000000000000, 0))},
		2: {GID: hca.GID(wire.MakeGID(0xfec0000000000000, 0x55)), Valid: true}, 8: {},
	} {
		if g[i].Valid != want.Valid || want.Valid && g[i] != want {
			t.Errorf("GID %d: %v, want %v", i, g[i], want)
		}
	}
}

// TestIBBringUp: a device is down until the manager has made its port active,
// and up again after a cable was out, with the same LID.
func TestIBBringUp(t *testing.T) {
	n := newIBNet(t, 1)
	n.star(2)
	x := n.pairOf(0, 1).udEnd(1, false)
	d := n.ca[1].Device(1)
	if d.Up() || d.IB().LID() != 0 {
		t.Error("up before there is a manager")
	}
	n.up(sm.Config{})
	if !d.Up() || d.IB().LID() == 0 {
		t.Error("not up")
	}
	want := fmt.Sprint([]hca.EventType{hca.EventLIDChange, hca.EventSMChange, hca.EventPortActive})
	got := events(x)
	var l []hca.EventType
	for _, e := range got {
		if e != hca.EventClientReregister {
			l = append(l, e)
		}
	}
	if fmt.Sprint(l) != want {
		t.Errorf("events %v, want %v", l, want)
	}
	lid := d.IB().LID()
	d.IB().Link().SetUp(false)
	d.IB().Link().SetUp(true)
	n.run(2 * sim.Millisecond)
	n.settle()
	if d.IB().LID() != lid || !d.Up() {
		t.Errorf("LID %d, then %d", lid, d.IB().LID())
	}
	n.idle()
}

// TestIBAttributes: addresses that there cannot be.
func TestIBAttributes(t *testing.T) {
	peerGID := hca.GID(wire.MakeGID(wire.DefaultGIDPrefix, 0x900))
	for _, c := range []struct {
		name   string
		av     hca.AddressVector
		qp, ah error // of a connection, of an address handle
	}{
		{"LID", hca.AddressVector{DLID: 9, SL: 15}, nil, nil},
		{"no LID", hca.AddressVector{DGID: peerGID}, hca.ErrInvalid, hca.ErrInvalid},
		{"permissive LID", hca.AddressVector{DLID: wire.LIDPermissive}, hca.ErrInvalid, hca.ErrInvalid},
		{"service level", hca.AddressVector{DLID: 9, SL: 16}, hca.ErrInvalid, hca.ErrInvalid},
		{"path bits without LMC", hca.AddressVector{DLID: 9, PathBits: 1}, hca.ErrInvalid, hca.ErrInvalid},
		{"global", hca.AddressVector{DLID: 9, Global: true, DGID: peerGID}, nil, nil},
		{"GID index empty", hca.AddressVector{DLID: 9, Global: true, DGID: peerGID, SGIDIndex: 1}, hca.ErrNoGID, hca.ErrNoGID},
		{"GID index", hca.AddressVector{DLID: 9, Global: true, DGID: peerGID, SGIDIndex: 255}, hca.ErrNoGID, hca.ErrNoGID},
		{"GID index that is not meant", hca.AddressVector{DLID: 9, SGIDIndex: 255}, nil, nil},
		{"group", hca.AddressVector{DLID: mlid, Global: true, DGID: mgid}, hca.ErrInvalid, nil},
		{"group without GRH", hca.AddressVector{DLID: mlid, DGID: mgid}, hca.ErrInvalid, hca.ErrInvalid},
		{"group's GID, port's LID", hca.AddressVector{DLID: 9, Global: true, DGID: mgid}, hca.ErrInvalid, hca.ErrInvalid},
		{"group's LID, port's GID", hca.AddressVector{DLID: mlid, Global: true, DGID: peerGID}, hca.ErrInvalid, hca.ErrInvalid},
	} {
		p := nativePeer(t, hca.RC, nil)
		p.modify(hca.Reset)
		a := hca.QPAttr{Port: 1, PathMTU: 1, DestQPN: peerQPN, State: hca.Init}
		if err := p.qp.Modify(&a, toInit); err != nil {
			t.Fatal(err)
		}
		a.State, a.AV = hca.RTR, c.av
		if err := p.qp.Modify(&a, toRTR); err != c.qp {
			t.Errorf("%s: connection: %v, want %v", c.name, err, c.qp)
		}
		h, err := p.Context.CreateAH(p.PD, c.av)
		if err != c.ah {
			t.Errorf("%s: address handle: %v, want %v", c.name, err, c.ah)
		}
		if err == nil && h.Query() != c.av {
			t.Errorf("%s: query %+v", c.name, h.Query())
		}
	}
	p := nativePeer(t, hca.RC, nil)
	a := hca.QPAttr{Port: 1, PKeyIndex: 32, State: hca.Init}
	p.modify(hca.Reset)
	if err := p.qp.Modify(&a, toInit); err != hca.ErrInvalid {
		t.Errorf("P_Key index beyond the table: %v", err)
	}
}

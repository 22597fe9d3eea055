package ib

import (
	"bytes"
	"slices"
	"testing"

	"cnuas/internal/ibagent/catest"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

const (
	get = mad.MethodGet
	set = mad.MethodSet
)

// managed is two switches and two adapters in a row, nothing set:
//
//	ca[0] - 1 s1 3 - 4 s2 1 - ca[1]
type managed struct {
	*network
	ca [2]*catest.CA
}

func newManaged(t testing.TB) *managed {
	n := &managed{network: newNetwork(t)}
	s1, s2 := n.addSwitch(Config{Ports: 4}), n.addSwitch(Config{Ports: 4})
	for i, s := range []*Switch{s1, s2} {
		c := n.port
		c.Name = []string{"ca1", "ca2"}[i]
		n.ca[i] = catest.New(n.e, n.pool, c, wire.GUID(0x100000+16*i))
		n.connect(n.ca[i].P, s.Port(1))
	}
	n.connect(s1.Port(3), s2.Port(4))
	n.run(5 * sim.Millisecond)
	return n
}

func (n *managed) do(a catest.Ask, out mad.Attribute) {
	n.Helper()
	if err := n.ca[0].Do(a, out); err != nil {
		n.Fatalf("%v of attribute %#x, modifier %#x, path %v, LID %d: %v", a.Method, a.Attr, a.Mod, a.Path, a.DLID, err)
	}
}

// fails wants a request to end with a status, or without an answer: -1.
func (n *managed) fails(a catest.Ask, want int) {
	n.Helper()
	from := len(n.ca[0].Got)
	err := n.ca[0].Do(a, nil)
	got := -1
	for _, m := range n.ca[0].Got[from:] {
		if m.Method().IsResponse() {
			got = int(m.Status())
		}
	}
	if err == nil || got != want {
		n.Errorf("%v of attribute %#x, modifier %#x: %v (%#x), want %#x", a.Method, a.Attr, a.Mod, err, got, want)
	}
}

// port changes PortInfo of the port along a path.
func (n *managed) portInfo(path []uint8, num uint32, change func(*mad.PortInfo)) (i mad.PortInfo) {
	n.Helper()
	n.do(catest.Ask{Method: get, Attr: mad.AttrPortInfo, Mod: num, Path: path}, &i)
	i.PortState, i.PortPhysicalState, i.LinkWidthEnabled, i.LinkSpeedEnabled, i.LinkSpeedExtEnabled = 0, 0, 0, 0, 0
	change(&i)
	n.do(catest.Ask{Method: set, Attr: mad.AttrPortInfo, Mod: num, Path: path, Data: &i}, &i)
	return i
}

// bringUp does what a subnet manager on ca[0] does: LIDs 1 and 2 for the
// adapters, 101 and 102 for the switches, tables, states.
func (n *managed) bringUp() {
	n.Helper()
	own, to1, to2, to3 := []uint8{}, []uint8{1}, []uint8{1, 3}, []uint8{1, 3, 1}
	lids := map[wire.LID][]uint8{1: own, 101: to1, 102: to2, 2: to3}
	for _, l := range []wire.LID{1, 101, 102, 2} {
		num := uint32(0)
		n.portInfo(lids[l], num, func(i *mad.PortInfo) { i.LID, i.MasterSMLID = l, 1 })
	}
	for k, path := range [][]uint8{to1, to2} {
		var si mad.SwitchInfo
		n.do(catest.Ask{Method: get, Attr: mad.AttrSwitchInfo, Path: path}, &si)
		si.LinearFDBTop, si.PortStateChange = 102, true
		n.do(catest.Ask{Method: set, Attr: mad.AttrSwitchInfo, Path: path, Data: &si}, &si)
		if si.PortStateChange || si.LinearFDBTop != 102 {
			n.Errorf("%+v", si)
		}
		var f [2]mad.LinearForwarding
		for b := range f {
			for i := range f[b].Port {
				f[b].Port[i] = 0xff
			}
		}
		ports := [][4]uint8{{1, 3, 0, 3}, {4, 1, 4, 0}}[k] // of LIDs 1, 2, 101, 102
		f[0].Port[1], f[0].Port[2], f[1].Port[101-64], f[1].Port[102-64] = ports[0], ports[1], ports[2], ports[3]
		for b := range f {
			n.do(catest.Ask{Method: set, Attr: mad.AttrLinearForwarding, Mod: uint32(b), Path: path, Data: &f[b]}, nil)
		}
	}
	for _, st := range []mad.PortState{mad.PortArmed, mad.PortActive} {
		for _, x := range []struct {
			path []uint8
			num  uint32
		}{{to3, 1}, {to2, 1}, {to2, 4}, {to1, 3}, {to1, 1}, {own, 1}} {
			if i := n.portInfo(x.path, x.num, func(i *mad.PortInfo) { i.PortState = st }); i.PortState != st {
				n.Fatalf("port %d along %v is %v, want %v", x.num, x.path, i.PortState, st)
			}
		}
	}
}

// finished checks that nothing is left.
func (n *managed) finished() {
	n.Helper()
	n.run(100 * sim.Second) // repeated traps end
	n.done()
}

// A subnet by hand, then a packet and MADs by LID from end to end.
func TestBringUp(t *testing.T) {
	n := newManaged(t)
	var ni mad.NodeInfo
	n.do(catest.Ask{Method: get, Attr: mad.AttrNodeInfo, Path: []uint8{1, 3}}, &ni)
	if ni.NodeType != mad.NodeSwitch || ni.NodeGUID != 0x200002 || ni.PortGUID != 0x200002 || ni.LocalPortNum != 4 || ni.NumPorts != 4 {
		t.Errorf("%+v", ni)
	}
	n.do(catest.Ask{Method: get, Attr: mad.AttrNodeInfo, Path: []uint8{1, 3, 1}}, &ni)
	if ni.NodeType != mad.NodeCA || ni.NodeGUID != 0x100010 || ni.PortGUID != 0x100011 || ni.LocalPortNum != 1 {
		t.Errorf("%+v", ni)
	}
	var nd mad.NodeDescription
	n.do(catest.Ask{Method: get, Attr: mad.AttrNodeDescription, Path: []uint8{}}, &nd)
	if nd.String() != "ca1" {
		t.Errorf("%q", nd.String())
	}
	n.bringUp()
	k := ibtest.Packet{SLID: 1, DLID: 2, Payload: 4096}
	n.ca[0].SendLID(1, k.Make(n.pool))
	n.run(10 * sim.Microsecond)
	if n.ca[1].Data != 1 {
		t.Error("the packet did not arrive")
	}
	for l, guid := range map[wire.LID]wire.GUID{1: 0x100000, 2: 0x100010, 101: 0x200001, 102: 0x200002} {
		n.do(catest.Ask{Method: get, Attr: mad.AttrNodeInfo, DLID: l}, &ni)
		if ni.NodeGUID != guid {
			t.Errorf("LID %d is %v", l, ni.NodeGUID)
		}
	}
	var pc mad.PortCounters
	n.do(catest.Ask{Class: mad.ClassPerf, Method: get, Attr: mad.AttrPortCounters, DLID: 102, Data: &mad.PortCounters{PortSelect: 4}}, &pc)
	if pc.PortSelect != 4 || pc.PortRcvPkts == 0 || pc.PortRcvData == 0 {
		t.Errorf("%+v", pc)
	}
	n.finished()
}

// The hop pointer and the paths of a directed route, both ways, at each wire.
func TestDirectedRoute(t *testing.T) {
	n := newManaged(t)
	rec := &hops{}
	for _, p := range []*ibport.Port{n.ca[0].P, n.sw[0].Port(1), n.sw[0].Port(3), n.sw[1].Port(4), n.sw[1].Port(1), n.ca[1].P} {
		p.Link().AddObserver(rec)
	}
	n.do(catest.Ask{Method: get, Attr: mad.AttrNodeInfo, Path: []uint8{1, 3, 1}}, nil)
	want := []string{
		"ca1 out 1/3 ret 0 0 0", "s1:3 out 2/3 ret 1 0 0", "s2:1 out 3/3 ret 1 4 0",
		"ca2 back 3/3 ret 1 4 1", "s2:4 back 2/3 ret 1 4 1", "s1:1 back 1/3 ret 1 4 1",
	}
	if !slices.Equal(rec.log, want) {
		t.Errorf("got  %q\nwant %q", rec.log, want)
	}
	if m := n.ca[0].Got[0]; mad.SMP(m).HopPointer() != 0 || !mad.SMP(m).Returning() || !bytes.Equal(mad.SMP(m).ReturnPath()[:5], []byte{0, 1, 4, 1, 0}) {
		t.Errorf("%v", mad.Line(m))
	}
	for _, path := range [][]uint8{{1, 2}, {1, 9}, {1, 0}, {1, 3, 1, 1}, {1, 255}} { // down, none, none, a CA does not forward
		n.fails(catest.Ask{Method: get, Attr: mad.AttrNodeInfo, Path: path}, -1)
	}
	n.finished()
}

// LID-routed to a switch, then a directed hop to whatever is behind a port: how
// ibportstate asks for a peer. And a directed route with a LID-routed end.
func TestCombinedRoutes(t *testing.T) {
	n := newManaged(t)
	n.bringUp()
	var ni mad.NodeInfo
	n.do(catest.Ask{Method: get, Attr: mad.AttrNodeInfo, Path: []uint8{1}, DLID: 102, Change: func(m mad.Packet) { mad.SMP(m).SetDrSLID(1) }}, &ni)
	if ni.NodeGUID != 0x100010 {
		t.Errorf("behind port 1 of s2 is %v", ni.NodeGUID)
	}
	n.do(catest.Ask{Method: get, Attr: mad.AttrNodeInfo, Path: []uint8{1}, Change: func(m mad.Packet) { mad.SMP(m).SetDrDLID(2) }}, &ni)
	if ni.NodeGUID != 0x100010 {
		t.Errorf("LID 2 behind s1 is %v", ni.NodeGUID)
	}
	n.finished()
}

// What an agent answers to what it cannot do.
func TestSMPErrors(t *testing.T) {
	n := newManaged(t)
	sw, ca := []uint8{1}, []uint8{1, 3, 1}
	for _, c := range []struct {
		ask  catest.Ask
		want int
	}{
		{catest.Ask{Method: get, Attr: mad.AttrSwitchInfo, Path: ca}, 0x0c},
		{catest.Ask{Method: get, Attr: mad.AttrLinearForwarding, Path: ca}, 0x0c},
		{catest.Ask{Method: set, Attr: mad.AttrNodeInfo, Path: sw}, 0x0c},
		{catest.Ask{Method: get, Attr: mad.AttrSMInfo, Path: sw}, 0x0c},
		{catest.Ask{Method: get, Attr: 0xff90, Path: sw}, 0x0c},
		{catest.Ask{Method: get, Attr: mad.AttrPortInfo, Mod: 5, Path: sw}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrPKeyTable, Mod: 5 << 16, Path: sw}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrPKeyTable, Mod: 1, Path: sw}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrSLtoVL, Mod: 9, Path: sw}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrVLArbitration, Mod: 1, Path: sw}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrVLArbitration, Mod: 2<<16 | 1, Path: sw}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrLinearForwarding, Mod: 768, Path: sw}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrMulticastForwarding, Mod: 1 << 28, Path: sw}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrGUIDInfo, Mod: 1, Path: sw}, 0x1c},
		{catest.Ask{Method: set, Attr: mad.AttrPortInfo, Mod: 1, Path: sw, Data: &mad.PortInfo{PortState: mad.PortActive}}, 0x1c},
		{catest.Ask{Method: get, Attr: mad.AttrNodeInfo, Path: sw, Change: func(m mad.Packet) { m[2] = 2 }}, 0x04},
		{catest.Ask{Method: get, Attr: mad.AttrNodeInfo, Path: sw, Change: func(m mad.Packet) { m[0] = 2 }}, -1},
	} {
		n.fails(c.ask, c.want)
	}
	// Bit 31 of the modifier of PortInfo is no part of the number.
	var i mad.PortInfo
	n.do(catest.Ask{Method: get, Attr: mad.AttrPortInfo, Mod: 1<<31 | 3, Path: sw}, &i)
	if i.PortState != mad.PortInit || i.LocalPortNum != 1 || i.LinkSpeedExtActive != mad.SpeedEDR {
		t.Errorf("%+v", i)
	}
	n.finished()
}

// Tables that are written are read back, and are what the ports use.
func TestSMPTables(t *testing.T) {
	n := newManaged(t)
	sw := []uint8{1}
	both := func(attr mad.AttrID, mod uint32, v, out mad.Attribute) {
		t.Helper()
		n.do(catest.Ask{Method: set, Attr: attr, Mod: mod, Path: sw, Data: v}, nil)
		n.do(catest.Ask{Method: get, Attr: attr, Mod: mod, Path: sw}, out)
	}
	pk := mad.PKeyTable{PKey: [32]uint16{0x7fff, 0x8001}}
	var pk2 mad.PKeyTable
	if both(mad.AttrPKeyTable, 2<<16, &pk, &pk2); pk != pk2 || n.sw[0].Port(2).PKeys()[1] != 0x8001 {
		t.Errorf("%v", pk2)
	}
	sl := mad.SLtoVL{VL: [16]uint8{3, 2, 1, 0}}
	var sl2 mad.SLtoVL
	if both(mad.AttrSLtoVL, 4<<8|2, &sl, &sl2); sl != sl2 || n.sw[0].Port(2).VLOf(4, 0) != 3 || n.sw[0].Port(2).VLOf(3, 0) != 0 {
		t.Errorf("%v", sl2)
	}
	va := mad.VLArbitration{Entry: [32]mad.VLArbEntry{{VL: 2, Weight: 9}}}
	var va2 mad.VLArbitration
	if both(mad.AttrVLArbitration, mad.VLArbHighFirst<<16|2, &va, &va2); va != va2 {
		t.Errorf("%v", va2)
	}
	mf := mad.MulticastForwarding{PortMask: [32]uint16{7: 0xffff}}
	var mf2 mad.MulticastForwarding
	if both(mad.AttrMulticastForwarding, 3, &mf, &mf2); mf2.PortMask[7] != 0x1f || n.sw[0].groupPorts(0xc000 + 3*32 + 7)[0] != 0x1f {
		t.Errorf("%v", mf2)
	}
	gi := mad.GUIDInfo{GUID: [8]wire.GUID{5, 6}}
	var gi2 mad.GUIDInfo
	if both(mad.AttrGUIDInfo, 0, &gi, &gi2); gi2.GUID[0] != 0x200001 || gi2.GUID[1] != 6 {
		t.Errorf("%v", gi2)
	}
	n.finished()
}

package ib

import (
	"fmt"
	"slices"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/ibagent/catest"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// hops records the directed-route SMPs that leave a port.
type hops struct{ log []string }

func (h *hops) Observe(p *link.Port, d link.Direction, _ sim.Time, f *frame.Frame) {
	m := ibtest.MAD(f)
	if d != link.Tx || m == nil {
		return
	}
	s, dir := mad.SMP(m), "out"
	if s.Returning() {
		dir = "back"
	}
	r := s.ReturnPath()
	h.log = append(h.log, fmt.Sprintf("%s %s %d/%d ret %d %d %d", p.Name, dir, s.HopPointer(), s.HopCount(), r[1], r[2], r[3]))
}

// The M_Key guards by its protection bits; a wrong one is counted, reported and
// begins the lease, after which the node is open again.
func TestMKey(t *testing.T) {
	n := newManaged(t)
	n.bringUp()
	sw := []uint8{1}
	set1 := func(protect uint8, key uint64) {
		t.Helper()
		var i mad.PortInfo
		n.do(catest.Ask{Method: get, Attr: mad.AttrPortInfo, Path: sw, MKey: 77}, &i)
		i.MKey, i.MKeyProtectBits, i.MKeyLeasePeriod = key, protect, 5
		i.LinkWidthEnabled, i.LinkSpeedEnabled, i.LinkSpeedExtEnabled, i.PortState, i.PortPhysicalState = 0, 0, 0, 0, 0
		n.do(catest.Ask{Method: set, Attr: mad.AttrPortInfo, Path: sw, MKey: 77, Data: &i}, nil)
	}
	ask := func(method mad.Method, key uint64) catest.Ask {
		return catest.Ask{Method: method, Attr: mad.AttrPortInfo, Path: sw, MKey: key, Data: &mad.PortInfo{MKey: 77, LID: 101, MasterSMLID: 1, MKeyLeasePeriod: 5}}
	}
	var i mad.PortInfo
	set1(0, 77)
	if n.do(ask(get, 1), &i); i.MKey != 77 {
		t.Error("protection 0 shows the key")
	}
	n.fails(ask(set, 1), -1)
	set1(1, 77)
	if n.do(ask(get, 1), &i); i.MKey != 0 {
		t.Error("protection 1 hides the key")
	}
	if n.do(ask(get, 77), &i); i.MKey != 77 || i.MKeyViolations != 1 {
		t.Errorf("key %d, %d violations", i.MKey, i.MKeyViolations)
	}
	set1(2, 77)
	n.fails(ask(get, 1), -1)
	n.run(4900 * sim.Millisecond)
	n.fails(ask(get, 1), -1)
	n.run(200 * sim.Millisecond)
	if n.do(ask(get, 1), &i); i.MKeyProtectBits != 0 || i.MKey != 77 {
		t.Errorf("after the lease: %d, key %d", i.MKeyProtectBits, i.MKey)
	}
	// Trap 256 came, and comes again until it is repressed.
	var traps []mad.Packet
	for _, m := range n.ca[0].Got {
		if m.Method() == mad.MethodTrap {
			traps = append(traps, m)
		}
	}
	var no mad.Notice
	var d mad.TrapMKeyData
	if len(traps) < 3 || !mad.Decode(&no, traps[0].Data()) || no.TrapNumber != mad.TrapBadMKey || no.IssuerLID != 101 || no.Type != mad.NoticeSecurity {
		t.Fatalf("%d traps, %+v", len(traps), no)
	}
	if mad.Decode(&d, no.DataDetails[:]); d.MKey != 1 || d.Method != set || d.AttributeID != mad.AttrPortInfo || !d.DRNotice || d.DRHopCount != 1 || d.DRReturnPath[0] != 1 {
		t.Errorf("%+v", d)
	}
	n.finished()
}

// Trap 128 of a switch whose port went down, repeated at the subnet timeout
// until TrapRepress.
func TestTrap(t *testing.T) {
	n := newManaged(t)
	n.bringUp()
	n.ca[0].Got = nil
	n.ca[1].P.Link().SetUp(false)
	n.run(2500 * sim.Millisecond) // subnet timeout 18: 1.07 s
	var no mad.Notice
	if len(n.ca[0].Got) != 3 {
		t.Fatalf("%d traps in 2.5 s", len(n.ca[0].Got))
	}
	m := n.ca[0].Got[0]
	var d mad.TrapLinkStateData
	if mad.Decode(&no, m.Data()); no.TrapNumber != mad.TrapLinkState || no.ProducerType != uint32(mad.NodeSwitch) || no.IssuerLID != 102 || m.Method() != mad.MethodTrap {
		t.Errorf("%+v", no)
	}
	if mad.Decode(&d, no.DataDetails[:]); d.LID != 102 || m.TID() != n.ca[0].Got[2].TID() {
		t.Errorf("%+v", d)
	}
	n.ca[0].Send(catest.Ask{Method: mad.MethodTrapRepress, Attr: mad.AttrNotice, DLID: 102, Change: func(r mad.Packet) { r.SetTID(m.TID()) }})
	n.run(10 * sim.Second)
	if len(n.ca[0].Got) != 3 || n.sw[1].Agent().Count.Repressed != 1 {
		t.Errorf("%d traps after it was repressed", len(n.ca[0].Got))
	}
	if !n.sw[1].SwitchInfo().PortStateChange {
		t.Error("PortStateChange is not set")
	}
	n.finished()
}

// Trap 131 of a switch whose neighbour sends no flow control any more.
func TestWatchdogTrap(t *testing.T) {
	n := newManaged(t)
	n.bringUp()
	n.ca[0].Got = nil
	n.ca[1].P.MuteFlow(true)
	wait := 160 * sim.Microsecond
	if tunnelled {
		wait = 500 * sim.Millisecond
	}
	n.run(wait)
	var no mad.Notice
	var d mad.TrapPortData
	if len(n.ca[0].Got) != 1 || !mad.Decode(&no, n.ca[0].Got[0].Data()) || no.TrapNumber != mad.TrapFlowControlTimeout || !mad.Decode(&d, no.DataDetails[:]) || d.LID != 102 || d.PortNum != 1 {
		t.Fatalf("%d MADs, %+v, %+v", len(n.ca[0].Got), no, d)
	}
	n.ca[1].P.MuteFlow(false)
	n.run(sim.Millisecond)
	if c := n.sw[1].Port(1).Counters(); c.LinkErrorRecovery == 0 || c.LinkDowned != 0 || n.sw[1].Port(1).State() != mad.PortActive {
		t.Errorf("%+v", c)
	}
	n.finished()
}

// Trap 144 of an adapter that gets another description; nobody listens, so
// there is an end to it.
func TestChangeTrap(t *testing.T) {
	n := newManaged(t)
	n.bringUp()
	n.ca[1].Agent.SetDescription("renamed")
	n.run(100 * sim.Second)
	var traps int
	for _, m := range n.ca[0].Got {
		if m.Method() == mad.MethodTrap {
			traps++
		}
	}
	if traps != 16 {
		t.Errorf("%d traps", traps)
	}
	var nd mad.NodeDescription
	if n.do(catest.Ask{Method: get, Attr: mad.AttrNodeDescription, DLID: 2}, &nd); nd.String() != "renamed" {
		t.Errorf("%q", nd.String())
	}
	n.finished()
}

// Counters are read and cleared by performance management, of one port and of
// all, in all the views.
func TestPerformance(t *testing.T) {
	n := newManaged(t)
	n.bringUp()
	perf := func(method mad.Method, attr mad.AttrID, in, out mad.Attribute) {
		t.Helper()
		n.do(catest.Ask{Class: mad.ClassPerf, Method: method, Attr: attr, DLID: 102, Data: in}, out)
	}
	var cpi mad.ClassPortInfo
	perf(get, mad.AttrClassPortInfo, nil, &cpi)
	if cpi.CapabilityMask&mad.PerfCapExtendedWidth == 0 || cpi.BaseVersion != 1 {
		t.Errorf("%+v", cpi)
	}
	const k = 50
	p := ibtest.Packet{SLID: 1, DLID: 2, SL: 2, Payload: 1000}
	for range k {
		n.ca[0].SendLID(1, p.Make(n.pool))
	}
	n.run(100 * sim.Microsecond)
	var ext, ext2 mad.PortCountersExtended
	perf(get, mad.AttrPortCountersExtended, &mad.PortCountersExtended{PortSelect: 1}, &ext)
	var pc mad.PortCounters
	perf(set, mad.AttrPortCounters, &mad.PortCounters{PortSelect: 1, CounterSelect: 0xffff, PortXmitPkts: 7}, &pc)
	if pc.PortXmitPkts != 7 || pc.PortXmitData != 0 {
		t.Errorf("%+v", pc)
	}
	perf(get, mad.AttrPortCountersExtended, &mad.PortCountersExtended{PortSelect: 1}, &ext2)
	if ext2.PortXmitPkts != ext.PortXmitPkts || ext.PortUnicastXmitPkts != ext.PortXmitPkts || ext.PortXmitPkts < k {
		t.Errorf("%d and %d: the 64-bit counters are another view", ext.PortXmitPkts, ext2.PortXmitPkts)
	}
	n.ca[0].SendLID(1, p.Make(n.pool))
	n.run(100 * sim.Microsecond)
	perf(get, mad.AttrPortCounters, &mad.PortCounters{PortSelect: 1}, &pc)
	if pc.PortXmitPkts != 8 || pc.PortXmitData != 256 {
		t.Errorf("%d packets, %d words", pc.PortXmitPkts, pc.PortXmitData)
	}
	var all mad.PortCounters
	perf(get, mad.AttrPortCounters, &mad.PortCounters{PortSelect: 0xff}, &all)
	if all.PortSelect != 0xff || all.PortXmitPkts <= pc.PortXmitPkts {
		t.Errorf("%+v", all)
	}
	var sl mad.PortXmitDataSL
	perf(get, mad.AttrPortXmitDataSL, &mad.PortXmitDataSL{PortSelect: 1}, &sl)
	if sl.XmtDataSL[2] != (k+1)*256 {
		t.Errorf("%v", sl.XmtDataSL)
	}
	var vl mad.PortVLOpPackets
	perf(set, mad.AttrPortVLOpPackets, &mad.PortVLOpPackets{PortSelect: 1, CounterSelect: 0xffff}, &vl)
	if vl.PortVLOpPackets != [16]uint16{} {
		t.Errorf("%v", vl.PortVLOpPackets)
	}
	n.fails(catest.Ask{Class: mad.ClassPerf, Method: get, Attr: mad.AttrPortCounters, DLID: 102, Data: &mad.PortCounters{PortSelect: 9}}, 0x1c)
	n.fails(catest.Ask{Class: mad.ClassPerf, Method: get, Attr: mad.AttrPortSamplesControl, DLID: 102}, 0x0c)
	n.fails(catest.Ask{Class: mad.ClassDevice, Method: get, Attr: 0x10, DLID: 102}, 0x04)
	n.finished()
}

// SMInfo goes to the subnet manager of a port that has one.
func TestSMInfo(t *testing.T) {
	n := newManaged(t)
	n.bringUp()
	n.fails(catest.Ask{Method: get, Attr: mad.AttrSMInfo, DLID: 2}, 0x0c)
	n.ca[1].P.SetCapMask(mad.CapIsSM, mad.CapIsSM)
	n.ca[1].Hook = func(m mad.Packet, f *frame.Frame) bool {
		if m.Attr() != mad.AttrSMInfo || m.Method() != get {
			return false
		}
		mad.Encode(&mad.SMInfo{GUID: 0x100011, Priority: 5, SMState: mad.SMStandby}, m.Data())
		mad.SMP(m).Respond(0)
		h := wire.LRH(f.Data)
		f.Meta.IB.SLID, f.Meta.IB.DLID = f.Meta.IB.DLID, f.Meta.IB.SLID
		h.SetSLID(f.Meta.IB.SLID)
		h.SetDLID(f.Meta.IB.DLID)
		n.ca[1].Agent.Send(1, f)
		return true
	}
	var si mad.SMInfo
	if n.do(catest.Ask{Method: get, Attr: mad.AttrSMInfo, DLID: 2}, &si); si.Priority != 5 || si.SMState != mad.SMStandby {
		t.Errorf("%+v", si)
	}
	if !slices.ContainsFunc(n.ca[0].LRH, func(h wire.LRHFields) bool { return h.SLID == 2 && h.DLID == 1 && h.VL == 15 }) {
		t.Error("no answer from LID 2")
	}
	n.finished()
}

package hca_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// madBox keeps what comes to a port's management queue pairs.
type madBox struct {
	got []string
	m   []mad.Packet
	adr []hca.MADAddress
}

func (b *madBox) ReceiveMAD(qp uint32, from *hca.MADAddress, m mad.Packet) {
	b.got = append(b.got, fmt.Sprintf("QP%d from %#x LID %d", qp, from.QPN, from.LID))
	b.m = append(b.m, append(mad.Packet(nil), m...))
	b.adr = append(b.adr, *from)
}

// gmp is a MAD of a class that no agent answers.
func gmp(method mad.Method, tid uint64) []byte {
	m := make([]byte, mad.PacketLen)
	fill(m[64:], uint32(tid))
	(&mad.Header{Class: mad.ClassComm, Method: method, TID: tid, Attr: 0x10}).Encode(mad.Packet(m))
	return m
}

// TestMADOverRoCE: QP1 of one device to QP1 of another and back, IPv4 and IPv6,
// with the addresses that an answer needs; and to itself.
func TestMADOverRoCE(t *testing.T) {
	for _, gid := range []uint8{0, 1} {
		for _, self := range []bool{false, true} {
			p := newPair(t, 1, nil, hca.Config{})
			var box [2]madBox
			for i, d := range p.dev {
				d.SetMADSink(&box[i])
			}
			b := 1
			if self {
				b = 0
			}
			to := hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, SGIDIndex: gid, GID: p.dev[b].GIDs()[gid].GID, MAC: p.dev[b].Config().MAC, HopLimit: 9, TrafficClass: 0x20}
			if err := p.dev[0].SendMAD(1, &to, gmp(mad.MethodSend, 7)); err != nil {
				t.Fatal(err)
			}
			p.run(10 * sim.Microsecond)
			if len(box[b].m) != 1 || !bytes.Equal(box[b].m[0], gmp(mad.MethodSend, 7)) {
				t.Fatalf("gid %d self %v: received %v", gid, self, box[b].got)
			}
			want := hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, GRH: true, SGIDIndex: gid, GID: p.dev[0].GIDs()[gid].GID, HopLimit: 9, TrafficClass: 0x22, MAC: p.dev[0].Config().MAC}
			if box[b].adr[0] != want {
				t.Errorf("gid %d self %v: from %+v\nwant %+v", gid, self, box[b].adr[0], want)
			}
			// The answer goes to where the request came from.
			if err := p.dev[b].SendMAD(1, &box[b].adr[0], gmp(mad.MethodSend, 8)); err != nil {
				t.Fatal(err)
			}
			p.run(10 * sim.Microsecond)
			if k := len(box[0].m); k == 0 || !bytes.Equal(box[0].m[k-1], gmp(mad.MethodSend, 8)) {
				t.Errorf("gid %d self %v: no answer", gid, self)
			}
			p.drain()
		}
	}
}

// TestMADRefused: what cannot be sent, and what is not handed over.
func TestMADRefused(t *testing.T) {
	p := newPair(t, 1, nil, hca.Config{})
	ok := hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, SGIDIndex: 1, GID: v4gid(2), MAC: p.dev[1].Config().MAC}
	with := func(f func(*hca.MADAddress)) *hca.MADAddress { a := ok; f(&a); return &a }
	for _, c := range []struct {
		name string
		qp   uint32
		to   *hca.MADAddress
		n    int
		want error
	}{
		{"QP0", 0, &ok, 256, hca.ErrInvalid},
		{"QP2", 2, &ok, 256, hca.ErrInvalid},
		{"short", 1, &ok, 255, hca.ErrInvalid},
		{"long", 1, &ok, 257, hca.ErrInvalid},
		{"GID index", 1, with(func(a *hca.MADAddress) { a.SGIDIndex = 9 }), 256, hca.ErrNoGID},
		{"no GID", 1, with(func(a *hca.MADAddress) { a.GID = hca.GID{} }), 256, hca.ErrInvalid},
	} {
		if err := p.dev[0].SendMAD(c.qp, c.to, make([]byte, c.n)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	var box madBox
	for i, c := range []struct {
		name string
		sink bool
		do   func(*hca.MADAddress)
		drop hca.DropReason
	}{
		{"nobody there", false, func(*hca.MADAddress) {}, hca.DropNoQP},
		{"Q_Key", true, func(a *hca.MADAddress) { a.QKey = 1 }, hca.DropQKey},
		{"address", true, func(a *hca.MADAddress) { a.GID = v4gid(77) }, hca.DropAddress},
	} {
		p.dev[1].SetMADSink(nil)
		if c.sink {
			p.dev[1].SetMADSink(&box)
		}
		if err := p.dev[0].SendMAD(1, with(c.do), gmp(mad.MethodSend, uint64(i))); err != nil {
			t.Error(err)
		}
		before := p.dev[1].Counters().Dropped[c.drop]
		p.run(10 * sim.Microsecond)
		if p.dev[1].Counters().Dropped[c.drop] != before+1 || len(box.m) != 0 {
			t.Errorf("%s: dropped %v", c.name, p.dev[1].Counters().Dropped)
		}
	}
	// Without a link it is lost, and that is no error.
	p.port[0].SetUp(false)
	if err := p.dev[0].SendMAD(1, &ok, gmp(mad.MethodSend, 1)); err != nil {
		t.Error(err)
	}
	p.drain()
}

// TestMADOverIB: general services between two adapters, by LID and with a GRH,
// with P_Keys, and to the port itself; what the agents answer does not come here.
func TestMADOverIB(t *testing.T) {
	n := newIBNet(t, 1)
	s := n.addSwitch(4)
	n.addCA(s.Port(1))
	n.addCA(s.Port(2), s.Port(3)) // two ports
	n.up(sm.Config{LMC: 1, Partitions: must[*sm.PartitionFile](t)(sm.ParsePartitions(fmt.Sprintf(
		"Default=0x7fff,ipoib:ALL=full;\nP7=7: %#x=limited, %#x=full;\n", uint64(n.ca[0].Port(1).GUID()), uint64(n.ca[1].Port(2).GUID()))))})
	a, b := n.ca[0].Device(1), n.ca[1].Device(2)
	if b.PortNum() != 2 || b.CA() != n.ca[1] || n.ca[1].Device(3) != nil || n.ca[1].Port(0) != nil {
		t.Error("ports of an adapter are confused")
	}
	var box [2]madBox
	var other madBox
	a.SetMADSink(&box[0])
	b.SetMADSink(&box[1])
	n.ca[1].Device(1).SetMADSink(&other)
	if k, o := a.PKeys(), b.PKeys(); k[1] != 0x0007 || o[1] != 0x8007 {
		t.Fatalf("P_Keys %#x and %#x", k[:3], o[:3])
	}
	for _, c := range []struct {
		name string
		from *hca.Device
		to   hca.MADAddress
		want hca.MADAddress
	}{
		{"LID", a, hca.MADAddress{LID: b.IB().LID() + 1, PathBits: 1, SL: 2}, hca.MADAddress{LID: a.IB().LID() + 1, PathBits: 1, SL: 2}},
		{"GRH", a, hca.MADAddress{LID: b.IB().LID(), GRH: true, GID: b.GIDs()[0].GID, FlowLabel: 5, TrafficClass: 6, HopLimit: 7},
			hca.MADAddress{LID: a.IB().LID(), GRH: true, GID: a.GIDs()[0].GID, FlowLabel: 5, TrafficClass: 6, HopLimit: 7}},
		{"P_Key", a, hca.MADAddress{LID: b.IB().LID(), PKeyIndex: 1}, hca.MADAddress{LID: a.IB().LID(), PKeyIndex: 1}},
		{"itself", b, hca.MADAddress{LID: b.IB().LID(), PKeyIndex: 1}, hca.MADAddress{LID: b.IB().LID(), PKeyIndex: 1}},
		{"itself, GRH", b, hca.MADAddress{LID: b.IB().LID() + 1, GRH: true, GID: b.GIDs()[0].GID, HopLimit: 1},
			hca.MADAddress{LID: b.IB().LID(), PathBits: 1, GRH: true, GID: b.GIDs()[0].GID, HopLimit: 1}},
	} {
		c.to.QPN, c.to.QKey, c.want.QPN, c.want.QKey = 1, wire.QP1QKey, 1, wire.QP1QKey
		box = [2]madBox{}
		if err := c.from.SendMAD(1, &c.to, gmp(mad.MethodSend, 5)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		n.run(20 * sim.Microsecond)
		if len(box[1].m) != 1 || !bytes.Equal(box[1].m[0], gmp(mad.MethodSend, 5)) || box[1].adr[0] != c.want {
			t.Errorf("%s: %v\n%+v\nwant %+v", c.name, box[1].got, box[1].adr, c.want)
			continue
		}
		if err := b.SendMAD(1, &box[1].adr[0], gmp(mad.MethodSend, 6)); err != nil {
			t.Errorf("%s: answer: %v", c.name, err)
		}
		n.run(20 * sim.Microsecond)
		back := &box[0]
		if c.from == b {
			back = &box[1]
		}
		if k := len(back.m); k == 0 || !bytes.Equal(back.m[k-1], gmp(mad.MethodSend, 6)) {
			t.Errorf("%s: no answer: %v", c.name, back.got)
		}
	}
	// Performance management is the agents', its answers come to who asked.
	box = [2]madBox{}
	m := make(mad.Packet, 256)
	(&mad.Header{Class: mad.ClassPerf, Method: mad.MethodGet, TID: 9, Attr: mad.AttrClassPortInfo}).Encode(m)
	a.SendMAD(1, &hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, LID: b.IB().LID()}, m)
	// A directed route: over the switch to port 2 of it.
	(&mad.Header{Class: mad.ClassSubnDirected, Method: mad.MethodGet, TID: 10, Attr: mad.AttrNodeInfo}).Encode(m)
	mad.SMP(m).SetPath(1, 3)
	a.SendMAD(0, &hca.MADAddress{LID: wire.LIDPermissive}, m)
	n.run(50 * sim.Microsecond)
	if len(box[0].m) != 2 || len(box[1].m) != 0 || len(other.m) != 0 {
		t.Fatalf("received %v and %v", box[0].got, box[1].got)
	}
	var info mad.NodeInfo
	mad.Decode(&info, mad.SMP(box[0].m[1]).Data())
	if box[0].m[0].Method() != mad.MethodGetResp || info.PortGUID != b.IB().GUID() || info.NumPorts != 2 || info.LocalPortNum != 2 || box[0].adr[1].LID != wire.LIDPermissive {
		t.Errorf("answers: %v, %+v, %+v", box[0].got, info, box[0].adr[1])
	}
	for _, c := range []struct {
		name string
		qp   uint32
		to   hca.MADAddress
	}{
		{"no LID", 0, hca.MADAddress{}}, {"no LID on QP1", 1, hca.MADAddress{}}, {"P_Key index", 1, hca.MADAddress{LID: 2, PKeyIndex: 32}},
		{"permissive LID on QP1", 1, hca.MADAddress{LID: wire.LIDPermissive}}, {"SMP to a group", 0, hca.MADAddress{LID: mlid}},
		{"service level", 1, hca.MADAddress{LID: 2, SL: 16}},
	} {
		if err := a.SendMAD(c.qp, &c.to, m); !errors.Is(err, hca.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := a.SendMAD(1, &hca.MADAddress{LID: 2, GRH: true, SGIDIndex: 5}, m); !errors.Is(err, hca.ErrNoGID) {
		t.Errorf("empty GID index: %v", err)
	}
	// A port that is down loses what is sent.
	n.ca[1].Port(2).Link().SetUp(false)
	if err := b.SendMAD(1, &hca.MADAddress{LID: a.IB().LID(), QPN: 1}, m); err != nil {
		t.Error(err)
	}
	n.run(sim.Second)
	n.idle()
}

// TestMADKeys: Q_Key and P_Key of QP1. Any entry of the table will do.
func TestMADKeys(t *testing.T) {
	for _, c := range []struct {
		name       string
		qkey       uint32
		pkey       uint16
		index      int // in the table; -1: refused
		pBad, qBad uint16
	}{
		{"right", wire.QP1QKey, 0xffff, 0, 0, 0},
		{"another entry", wire.QP1QKey, 0x8005, 2, 0, 0},
		{"another entry, from a limited member", wire.QP1QKey, 0x0005, 2, 0, 0},
		{"limited and limited", wire.QP1QKey, 0x0006, -1, 1, 0},
		{"limited entry", wire.QP1QKey, 0x8006, 3, 0, 0},
		{"no entry", wire.QP1QKey, 0x8009, -1, 1, 0},
		{"Q_Key", 0x11111111, 0xffff, -1, 0, 1},
	} {
		p := nativePeer(t, hca.UD, nil)
		port := p.ib.ca.Port(1)
		port.SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{0xffff, 0, 0x8005, 0x0006}})
		var box madBox
		p.dev.SetMADSink(&box)
		p.ib.pkey = c.pkey
		p.in(pkt{op: wire.UDSendOnly, dst: 1, src: 1, qkey: c.qkey, pay: gmp(mad.MethodSend, 4)})
		p.advance(10 * sim.Microsecond)
		i := port.Info()
		if i.PKeyViolations != c.pBad || i.QKeyViolations != c.qBad || (len(box.m) == 1) != (c.index >= 0) || c.index >= 0 && int(box.adr[0].PKeyIndex) != c.index {
			t.Errorf("%s: %v %+v, violations %d and %d", c.name, box.got, box.adr, i.PKeyViolations, i.QKeyViolations)
		}
	}
}

// TestHeldUpMADs: the lane of a MAD may be without credits; the queue is bounded.
func TestHeldUpMADs(t *testing.T) {
	p := nativePeer(t, hca.RC, nil)
	p.ib.end.Hook = func(f *frame.Frame) bool { return true } // keeps every buffer, and the frames
	to := hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, LID: 9}
	for i := range 6000 {
		if err := p.dev.SendMAD(1, &to, gmp(mad.MethodSend, uint64(i))); err != nil {
			t.Fatal(err)
		}
	}
	p.advance(sim.Millisecond)
	c := p.dev.Counters()
	if c.OwnDropped == 0 || c.OwnDropped > 2000 {
		t.Errorf("%d of 6000 dropped", c.OwnDropped)
	}
	// The port goes down: what waits is dropped, and nothing leaks.
	before := p.pool.Live()
	p.ib.ca.Port(1).Link().SetUp(false)
	p.advance(sim.Millisecond)
	if n := before - p.pool.Live(); n < 3800 || p.ib.ca.Port(1).Counters().XmitDiscards < 3800 {
		t.Errorf("%d frames went with the link, %d discards", n, p.ib.ca.Port(1).Counters().XmitDiscards)
	}
}

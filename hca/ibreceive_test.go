package hca_test

import (
	"bytes"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// nativePeer is newPeerOf over InfiniBand.
func nativePeer(t *testing.T, typ hca.QPType, change func(*hca.QPAttr)) *peer {
	t.Helper()
	overIB = true
	defer func() { overIB = false }()
	return newPeerOf(t, typ, change)
}

// services are the ways of sending one packet to a queue pair.
var services = []struct {
	name string
	typ  hca.QPType
	k    pkt
}{
	{"RC", hca.RC, pkt{op: wire.RCSendOnly, psn: 200}},
	{"UC", hca.UC, pkt{op: wire.UCSendOnly, psn: 200}},
	{"UD", hca.UD, pkt{op: wire.UDSendOnly, qkey: 0x1234}},
	{"multicast", hca.UD, pkt{op: wire.UDSendOnly, qkey: 0x1234, dst: 0xffffff}},
}

const mlid = 0xc001

var mgid = hca.GID{0: 0xff, 1: 0x12, 2: 0x40, 3: 0x1b, 4: 0xff, 5: 0xff, 15: 9}

// arrives tells whether a packet of one of the services reaches the program.
// The port's buffer has to be empty afterwards in any case.
func (p *peer) arrives(k pkt) bool {
	p.t.Helper()
	p.recv(1, 0, 100)
	if k.dst == 0xffffff {
		p.ib.grh, p.ib.dlid = &wire.GRHFields{HopLmt: 1, SGID: wire.MakeGID(wire.DefaultGIDPrefix, 0x900), DGID: wire.GID(mgid)}, mlid
		if err := p.qp.Attach(mgid, mlid); err != nil {
			p.t.Fatal(err)
		}
	}
	k.pay = bytesOf(20, 1)
	p.in(k)
	if held, _ := p.ib.ca.Port(1).Held(0); held != 0 {
		p.t.Errorf("the port holds %d blocks", held)
	}
	return len(p.poll()) == 1
}

// lastTrap is the last trap that the device sent.
func (p *peer) lastTrap() (n mad.Notice, d mad.TrapKeyData) {
	p.advance(10 * sim.Microsecond)
	if len(p.ib.mads) > 0 {
		mad.Decode(&n, mad.SMP(p.ib.mads[len(p.ib.mads)-1]).Data())
		mad.Decode(&d, n.DataDetails[:])
	}
	return n, d
}

// TestIBPartitions: a packet passes if its P_Key is of the partition of the
// queue pair's, and one of the two is a full member.
func TestIBPartitions(t *testing.T) {
	for _, c := range []struct {
		entry, packet uint16
		ok            bool
	}{
		{0xffff, 0xffff, true}, {0xffff, 0x7fff, true}, {0x7fff, 0xffff, true}, {0x7fff, 0x7fff, false},
		{0x8001, 0x8001, true}, {0x8001, 0x0001, true}, {0x0001, 0x8001, true}, {0x0001, 0x0001, false},
		{0x8001, 0x8002, false}, {0x8001, 0xffff, false}, {0xffff, 0x8001, false},
		{0, 0xffff, false}, {0x8000, 0x8000, false}, {0, 0, false},
	} {
		for _, s := range services {
			for _, deferred := range []bool{false, true} {
				p := nativePeer(t, s.typ, nil)
				p.deferred = deferred
				port := p.ib.ca.Port(1)
				port.SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{c.entry}})
				p.ib.pkey = c.packet
				if got := p.arrives(s.k); got != c.ok {
					t.Errorf("%s: entry %#x, packet %#x: arrives %v", s.name, c.entry, c.packet, got)
				}
				want := uint16(1)
				if c.ok {
					want = 0
				}
				if n := port.Info().PKeyViolations; n != want || p.dev.Counters().Dropped[hca.DropPKey] != uint64(want) {
					t.Errorf("%s: entry %#x, packet %#x: %d violations, %d dropped", s.name, c.entry, c.packet, n, p.dev.Counters().Dropped[hca.DropPKey])
				}
				n, d := p.lastTrap()
				switch {
				case c.ok && n.TrapNumber != 0:
					t.Errorf("%s: entry %#x, packet %#x: trap %d", s.name, c.entry, c.packet, n.TrapNumber)
				case !c.ok && (n.TrapNumber != mad.TrapBadPKey || d.Key != uint32(c.packet) || d.LIDAddr1 != 9 || n.IssuerLID != 1):
					t.Errorf("%s: entry %#x, packet %#x: trap %d %+v", s.name, c.entry, c.packet, n.TrapNumber, d)
				}
			}
		}
	}
}

// TestIBPKeyIndex: a queue pair goes by the entry that it names, which the
// subnet manager may change, in what it sends as well.
func TestIBPKeyIndex(t *testing.T) {
	overIB = true
	defer func() { overIB = false }()
	p := newPeer(t, func(a *hca.QPAttr) { a.PKeyIndex = 3 })
	port := p.ib.ca.Port(1)
	port.SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{0xffff, 0, 0, 0x8005}})
	p.wantEvents(hca.EventPKeyChange)
	port.SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{0xffff, 0, 0, 0x8005}})
	p.wantEvents() // it is the same
	if k := p.dev.PKeys(); len(k) != 32 || k[3] != 0x8005 {
		t.Errorf("P_Keys %#x", k)
	}
	if p.arrives(services[0].k) {
		t.Error("a packet of another partition arrives")
	}
	p.ib.pkey = 5
	p.recv(2, 0, 100)
	p.in(pkt{op: wire.RCSendOnly, psn: 200, pay: bytesOf(4, 1)})
	p.wantCQ("1 0 128 4")
	sent := p.ib.pkeys
	p.write(7, 10, 0)
	p.advance(5 * sim.Microsecond)
	port.SetPKeyBlock(0, &mad.PKeyTable{PKey: [32]uint16{0xffff, 0, 0, 0x8006}})
	p.write(8, 10, 0)
	p.advance(5 * sim.Microsecond)
	if got := fmt.Sprintf("%#x", p.ib.pkeys[len(sent):]); got != "[0x8005 0x8006]" {
		t.Errorf("sent with P_Keys %s", got)
	}
	p.ib.sent = nil
}

// TestIBAddresses: source and destination, with and without a GRH.
func TestIBAddresses(t *testing.T) {
	own, peerGID := wire.MakeGID(wire.DefaultGIDPrefix, 0x101), wire.MakeGID(wire.DefaultGIDPrefix, 0x900)
	other := wire.MakeGID(0xfec0000000000001, 0x101)
	global := func(a *hca.QPAttr) {
		a.AV.Global, a.AV.DGID, a.AV.SGIDIndex, a.AV.HopLimit = true, hca.GID(peerGID), 0, 1
	}
	grh := func(src, dst wire.GID) func(*peer) {
		return func(p *peer) { p.ib.grh = &wire.GRHFields{HopLmt: 1, SGID: src, DGID: dst} }
	}
	lmc := func(n uint8) func(*peer) {
		return func(p *peer) { ibtest.Set(p.ib.ca.Port(1), 0, func(a *mad.PortInfo) { a.LID, a.LMC = 4, n }) }
	}
	both := func(l ...func(*peer)) func(*peer) {
		return func(p *peer) {
			for _, f := range l {
				f(p)
			}
		}
	}
	to := func(l wire.LID) func(*peer) { return func(p *peer) { p.ib.dlid = l } }
	from := func(l wire.LID) func(*peer) { return func(p *peer) { p.ib.slid = l } }
	all, rcuc := "RC UC UD", "RC UC"
	for _, c := range []struct {
		name  string
		attr  func(*hca.QPAttr)
		set   func(*peer)
		drops string // by which services it is dropped
	}{
		{"plain", nil, func(*peer) {}, ""},
		{"from a stranger", nil, from(8), rcuc},
		{"to another LID", nil, to(2), all},
		{"to LID 0", nil, to(0), all},
		{"to the permissive LID", nil, to(wire.LIDPermissive), all},
		{"to a group's LID", nil, to(mlid), all},
		{"LMC 1, first LID", nil, both(lmc(1), to(4)), ""},
		{"LMC 1, second LID", nil, both(lmc(1), to(5)), ""},
		{"LMC 1, beyond", nil, both(lmc(1), to(6)), all},
		{"LMC 1, from the peer's other LID", nil, both(lmc(1), to(4), from(8)), ""},
		{"LMC 1, from a stranger", nil, both(lmc(1), to(4), from(10)), rcuc},
		{"GRH that nobody asked for", nil, grh(peerGID, own), ""},
		{"GRH to another GID", nil, grh(peerGID, peerGID), all},
		{"GRH with another prefix", nil, grh(peerGID, other), all},
		{"GRH, the default prefix though there is another", nil, both(grh(peerGID, own), func(p *peer) {
			ibtest.Set(p.ib.ca.Port(1), 0, func(a *mad.PortInfo) { a.GIDPrefix = 0xfec0000000000001 })
		}), ""},
		{"GRH of a further GUID", nil, both(grh(peerGID, wire.MakeGID(wire.DefaultGIDPrefix, 0x777)), func(p *peer) {
			p.ib.ca.Port(1).SetGUIDBlock(0, &mad.GUIDInfo{GUID: [8]wire.GUID{1: 0x777}})
		}), ""},
		{"global", global, grh(peerGID, own), ""},
		{"global, no GRH", global, func(*peer) {}, rcuc},
		{"global, from another GID", global, grh(own, own), rcuc},
	} {
		for _, s := range services[:3] {
			if c.attr != nil && s.typ == hca.UD {
				continue
			}
			p := nativePeer(t, s.typ, c.attr)
			c.set(p)
			p.Events = nil
			want := !bytes.Contains([]byte(c.drops), []byte(s.name))
			if got := p.arrives(s.k); got != want {
				t.Errorf("%s, %s: arrives %v, drops %v", c.name, s.name, got, p.dev.Counters().Dropped)
			}
		}
	}
}

// TestIBMalformed: what headers say wrongly of themselves.
func TestIBMalformed(t *testing.T) {
	g := &wire.GRHFields{SGID: wire.MakeGID(wire.DefaultGIDPrefix, 0x900), DGID: wire.MakeGID(wire.DefaultGIDPrefix, 0x101)}
	set := func(at int, v byte) func([]byte) []byte { return func(b []byte) []byte { b[at] = v; return b } }
	for _, c := range []struct {
		name string
		grh  *wire.GRHFields
		k    pkt
		want hca.DropReason
	}{
		{"ICRC", nil, pkt{op: wire.RCSendOnly, psn: 200, pay: bytesOf(8, 1), keepICRC: true, mangle: set(22, 0xaa)}, hca.DropICRC},
		{"transport version", nil, pkt{op: wire.RCSendOnly, psn: 200, mangle: set(9, 0x41)}, hca.DropMalformed},
		{"GRH: payload length", g, pkt{op: wire.RCSendOnly, psn: 200, mangle: set(13, 99)}, hca.DropMalformed},
		{"GRH: next header", g, pkt{op: wire.RCSendOnly, psn: 200, mangle: set(14, 17)}, hca.DropMalformed},
		{"raw", nil, pkt{op: wire.RCSendOnly, psn: 200, mangle: set(1, 1)}, hca.DropMalformed},
		{"multicast without a GRH", nil, pkt{op: wire.UDSendOnly, dst: 0xffffff}, hca.DropMalformed},
		{"no queue pair", nil, pkt{op: wire.RCSendOnly, dst: 0x777777}, hca.DropNoQP},
		{"pad beyond the packet", nil, pkt{op: wire.RCAcknowledge, psn: 100, mangle: set(9, 0x70)}, hca.DropMalformed},
		{"MAD: ICRC", nil, pkt{op: wire.UDSendOnly, dst: 1, qkey: wire.QP1QKey, pay: bytesOf(256, 1), keepICRC: true, mangle: set(60, 1)}, hca.DropICRC},
	} {
		p := nativePeer(t, hca.RC, nil)
		p.ib.grh = c.grh
		p.in(c.k)
		if ctr := p.dev.Counters(); ctr.Dropped[c.want] != 1 {
			t.Errorf("%s: dropped %v", c.name, ctr.Dropped)
		}
		if held, _ := p.ib.ca.Port(1).Held(0); held != 0 {
			t.Errorf("%s: the port holds %d blocks", c.name, held)
		}
	}
}

// TestIBQKey: a wrong Q_Key is counted by the port and told to the manager.
func TestIBQKey(t *testing.T) {
	for _, s := range services[2:] {
		p := nativePeer(t, s.typ, nil)
		k := s.k
		k.qkey = 0x4711
		if p.arrives(k) {
			t.Errorf("%s: arrives", s.name)
		}
		n, d := p.lastTrap()
		if p.ib.ca.Port(1).Info().QKeyViolations != 1 || n.TrapNumber != mad.TrapBadQKey || d.Key != 0x4711 || d.LIDAddr1 != 9 {
			t.Errorf("%s: %d violations, trap %d %+v", s.name, p.ib.ca.Port(1).Info().QKeyViolations, n.TrapNumber, d)
		}
	}
}

// TestIBDatagramCompletion: what a completion says of the sender, and the area
// of the GRH.
func TestIBDatagramCompletion(t *testing.T) {
	for _, global := range []bool{false, true} {
		p := nativePeer(t, hca.UD, nil)
		ibtest.Set(p.ib.ca.Port(1), 0, func(a *mad.PortInfo) { a.LID, a.LMC = 4, 2 })
		p.ib.slid, p.ib.dlid, p.ib.sl = 9, 7, 0
		if global {
			p.ib.grh = &wire.GRHFields{TClass: 5, FlowLabel: 6, HopLmt: 7, SGID: wire.MakeGID(wire.DefaultGIDPrefix, 0x900), DGID: wire.MakeGID(wire.DefaultGIDPrefix, 0x101)}
		}
		p.ib.sl = 4
		fill(p.buf.B[:100], 9)
		before := bytesOf(100, 9)
		p.recv(1, 0, 100)
		p.in(pkt{op: wire.UDSendOnlyImm, qkey: 0x1234, src: 0x42, imm: 3, pay: bytesOf(30, 2)})
		want := ring.CQE{ID: 1, Opcode: ring.WCRecv, ByteLen: 70, QPN: p.qp.Num(), SrcQP: 0x42, Flags: ring.WCFlagImm, Imm: [4]byte{3: 3}, Port: 1, SLID: 9, SL: 4, PathBits: 3}
		if global {
			want.Flags |= ring.WCFlagGRH
			h := make([]byte, 40)
			g := *p.ib.grh
			g.NxtHdr, g.PayLen = wire.NextHeaderIBA, 12+8+4+32+4
			g.Encode(h)
			copy(before, h)
		}
		copy(before[40:], bytesOf(30, 2))
		if c := p.poll(); len(c) != 1 || c[0] != want {
			t.Errorf("GRH %v: completion %+v, want %+v", global, c, want)
		}
		if !bytes.Equal(p.buf.B[:100], before) {
			t.Errorf("GRH %v: memory % x\nwant % x", global, p.buf.B[:100], before)
		}
	}
}

// TestIBFECN: marked packets are counted, and no CNP answers them.
func TestIBFECN(t *testing.T) {
	p := nativePeer(t, hca.RC, nil)
	p.recv(1, 0, 100)
	p.in(pkt{op: wire.RCSendOnly, psn: 200, pay: bytesOf(8, 1), ce: true, ack: true})
	p.want("Acknowledge 200 [ACK msn 1]")
	if c := p.dev.Counters(); c.ECNMarked != 1 || c.CNPSent != 0 || p.ib.ca.Port(1).Counters().FECN != 1 {
		t.Errorf("%+v", c)
	}
}

// TestIBBufferOfBatch: data that waits for its commit has left the port's
// buffer; the sender is not held up by it.
func TestIBBufferOfBatch(t *testing.T) {
	n := newIBNet(t, 1)
	n.b = hca.NewBatch()
	n.port.BufferBytes = 8 << 10
	n.star(2)
	n.up(sm.Config{})
	p := n.pairOf(0, 1)
	x := p.connect(connOpt{path: verbs.Path{Timeout: 18}})
	fill(x[0].buf.B[:200<<10], 4)
	w := writeOf(x, 200<<10)
	if err := x[0].qp.PostSend(&w); err != nil {
		t.Fatal(err)
	}
	n.run(100 * sim.Microsecond)
	if bytes.Equal(x[1].buf.B[:1000], x[0].buf.B[:1000]) {
		t.Fatal("the data are there before the commit")
	}
	if held, room := p.dev[1].IB().Held(0); held != 0 || room != 128 {
		t.Errorf("%d of %d blocks are held", held, room)
	}
	n.b.Commit()
	if c := x[0].poll(); len(c) != 1 || c[0].Status != 0 || !bytes.Equal(x[1].buf.B[:200<<10], x[0].buf.B[:200<<10]) {
		t.Errorf("completions %+v", c)
	}
	p.drain()
}

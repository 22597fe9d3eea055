package ib

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"cnuas/internal/ibagent/catest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// capturedMADs are the MADs of an ERF capture.
func capturedMADs(t testing.TB, file string) (l []mad.Packet) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/ib/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[24:]; len(b) > 0; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		r := b[16 : 16+n]
		f := r[16:][:binary.BigEndian.Uint16(r[14:])]
		b = b[16+n:]
		var x wire.IBLayers
		if x.Parse(f) {
			if m := mad.Packet(x.Message(f)); m.Valid() {
				l = append(l, m)
			}
		}
	}
	return l
}

// fatTree is the fabric of the captured bring-up: two leaves with four hosts
// each, two spines, switches of 8 ports; the first host is to manage it.
func fatTree(t testing.TB) (*network, []*catest.CA) {
	n := newNetwork(t)
	n.port.SpeedsExt, n.port.PKeys, n.port.VLs, n.port.Speeds = 0, 64, mad.VL0to7, mad.SpeedSDR|mad.SpeedDDR
	for range 4 { // leaf1, leaf2, spine1, spine2
		n.addSwitch(Config{Ports: 8, Port: n.port})
	}
	var cas []*catest.CA
	for i := range 8 {
		c := n.port
		c.Name = fmt.Sprintf("h%d", i+1)
		x := catest.New(n.e, n.pool, c, wire.GUID(0x100000+2*i))
		n.connect(x.P, n.sw[i/4].Port(i%4+1))
		cas = append(cas, x)
	}
	for leaf := range 2 {
		for spine := range 2 {
			n.connect(n.sw[leaf].Port(5+spine), n.sw[2+spine].Port(1+leaf))
		}
	}
	n.run(5 * sim.Millisecond)
	return n, cas
}

// A bring-up by opensm, captured elsewhere, is sent again, request by request.
// Every answer has to come back by the same way, with hop pointer 0, and say
// the same of node type, ports, states and tables.
func TestOpensmBringUp(t *testing.T) {
	n, cas := fatTree(t)
	golden := capturedMADs(t, "opensm_bringup_ft2x2x8.pcap")
	answer := map[uint64]mad.Packet{}
	for _, m := range golden {
		if m.Method().IsResponse() {
			answer[m.TID()] = m
		}
	}
	guids := map[wire.GUID]wire.GUID{}
	requests := 0
	for i, m := range golden {
		if m.Class() != mad.ClassSubnDirected || m.Method() != get && m.Method() != set || answer[m.TID()] == nil {
			continue
		}
		requests++
		want := answer[m.TID()]
		ca := cas[0]
		ca.Got = ca.Got[:0]
		tid := ca.Send(catest.Ask{Method: m.Method(), Attr: m.Attr(), Mod: m.Modifier(), Path: append([]uint8{}, mad.SMP(m).Path()...),
			Change: func(r mad.Packet) { copy(mad.SMP(r).Data(), mad.SMP(m).Data()) }})
		n.run(30 * sim.Microsecond)
		var got mad.Packet
		for _, r := range ca.Got {
			if r.TID() == tid {
				got = r
			}
		}
		if got == nil {
			t.Fatalf("frame %d: no answer to %s", i+1, mad.Line(m))
		}
		if s := mad.SMP(got); !s.Returning() || s.HopPointer() != 0 || s.HopCount() != mad.SMP(m).HopCount() || got.Method() != mad.MethodGetResp {
			t.Fatalf("frame %d: %s", i+1, mad.Line(got))
		}
		if d := differ(got, want, guids); d != "" {
			t.Errorf("frame %d: %s\n got %s\nwant %s\n%s", i+1, mad.Line(m), mad.Line(got), mad.Line(want), d)
		}
	}
	if requests < 200 {
		t.Errorf("only %d requests", requests)
	}
	t.Logf("%d requests", requests)
	for _, s := range n.sw {
		for k := 1; k <= 8; k++ {
			if p := s.Port(k); p.Peer() != nil && p.State() != mad.PortActive {
				t.Errorf("%s is %v", p.Name(), p.State())
			}
		}
	}
	// And the forwarding tables that it set lead from everywhere to everywhere.
	for i, a := range cas {
		for k, b := range cas {
			before := b.Data
			if i != k {
				p := packetTo(a.P.LID(), b.P.LID())
				a.SendLID(1, p.Make(n.pool))
				n.run(10 * sim.Microsecond)
				if b.Data != before+1 {
					t.Errorf("no packet from h%d (LID %d) to h%d (LID %d)", i+1, a.P.LID(), k+1, b.P.LID())
				}
			}
		}
	}
	n.run(200 * sim.Second)
	n.done()
}

// differ compares what two implementations must have in common.
func differ(got, want mad.Packet, guids map[wire.GUID]wire.GUID) string {
	if got.Status() != want.Status() {
		return "status"
	}
	if want.Status() != 0 {
		return ""
	}
	switch want.Attr() {
	case mad.AttrNodeInfo:
		var a, b mad.NodeInfo
		mad.Decode(&a, got.Data())
		mad.Decode(&b, want.Data())
		if a.NodeType != b.NodeType || a.LocalPortNum != b.LocalPortNum || a.NodeType == mad.NodeSwitch && a.NumPorts != b.NumPorts {
			return "node"
		}
		if g, ok := guids[b.NodeGUID]; ok && g != a.NodeGUID {
			return "another node than before"
		}
		guids[b.NodeGUID] = a.NodeGUID
	case mad.AttrSwitchInfo:
		var a, b mad.SwitchInfo
		mad.Decode(&a, got.Data())
		mad.Decode(&b, want.Data())
		if a.PortStateChange != b.PortStateChange || a.LinearFDBTop != b.LinearFDBTop {
			return "switch info"
		}
	case mad.AttrPortInfo:
		var a, b mad.PortInfo
		mad.Decode(&a, got.Data())
		mad.Decode(&b, want.Data())
		if a.PortState != b.PortState || a.PortPhysicalState != b.PortPhysicalState || a.LID != b.LID || a.MasterSMLID != b.MasterSMLID || a.LocalPortNum != b.LocalPortNum {
			return "port info"
		}
	case mad.AttrLinearForwarding:
		if string(got.Data()) != string(want.Data()) {
			return "forwarding table"
		}
	}
	return ""
}

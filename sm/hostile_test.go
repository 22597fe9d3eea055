package sm_test

import (
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

// lie lets f change every answer of the attribute that a node gives.
func lie(f *smtest.Fabric, node string, attr mad.AttrID, change func(s mad.SMP)) {
	old := f.See
	f.See = func(from *smtest.Port, d *sm.Datagram) {
		if p := d.Packet(); from.Node.Name == node && p.Method() == mad.MethodGetResp && p.Attr() == attr {
			change(d.SMP())
		}
		if old != nil {
			old(from, d)
		}
	}
}

// rewrite decodes, changes and encodes an attribute of an SMP.
func rewrite[T any, P interface {
	*T
	mad.Attribute
}](change func(P)) func(s mad.SMP) {
	return func(s mad.SMP) {
		a := P(new(T))
		mad.Decode(a, s.Data())
		change(a)
		mad.Encode(a, s.Data())
	}
}

// notes are the texts of what a manager found worth telling.
func notes(m *sm.Manager) string {
	var l []string
	for _, e := range m.Status().Errors {
		l = append(l, e.Text)
	}
	return strings.Join(l, "\n")
}

// TestLiars: whatever H3, or the switch L2, says, the manager comes to an end,
// and those that do not lie reach each other if the liar leaves them a way.
func TestLiars(t *testing.T) {
	node := func(change func(*mad.NodeInfo)) func(mad.SMP) { return rewrite(change) }
	port := func(change func(*mad.PortInfo)) func(mad.SMP) { return rewrite(change) }
	for _, x := range []struct {
		name, who string
		attr      mad.AttrID
		change    func(mad.SMP)
		errors    string // that is noted
	}{
		{"a CA of 255 ports", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NumPorts = 255 }), "no usable answer to NodeInfo"},
		{"a CA of 254 ports", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NumPorts = 254 }), ""},
		{"a CA without ports", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NumPorts = 0 }), "no usable answer to NodeInfo"},
		{"a CA that is asked at port 9 of 1", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.LocalPortNum = 9 }), "no usable answer to NodeInfo"},
		{"node GUID 0", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NodeGUID = 0 }), "no usable answer to NodeInfo"},
		{"port GUID 0", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.PortGUID = 0 }), ""},
		{"the manager's GUIDs", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NodeGUID, n.PortGUID = 0x100000, 0x100001 }), "duplicate GUID"},
		{"the leaf's GUID", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NodeGUID = 0x200000 }), "duplicate GUID"},
		{"a CA that says it is a switch", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NodeType, n.NumPorts = mad.NodeSwitch, 200 }), "no answer to SwitchInfo"},
		{"a node of no known type", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NodeType = 77 }), ""},
		{"a switch of 254 ports", "L2", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NumPorts = 254 }), "PortInfo"},
		{"a switch of 255 ports", "L2", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NumPorts = 255 }), "no usable answer to NodeInfo"},
		{"a switch that is a CA", "L2", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.NodeType = mad.NodeCA }), ""},
		{"a switch that always comes in by port 1", "L2", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.LocalPortNum = 1 }), ""},
		{"a switch without a forwarding table", "L2", mad.AttrSwitchInfo, rewrite(func(s *mad.SwitchInfo) { s.LinearFDBCap = 0 }), ""},
		{"a forwarding table of 3 LIDs", "L2", mad.AttrSwitchInfo, rewrite(func(s *mad.SwitchInfo) { s.LinearFDBCap, s.LinearFDBTop = 3, 60000 }), "forwards LIDs below 3"},
		{"huge capabilities", "L2", mad.AttrSwitchInfo, rewrite(func(s *mad.SwitchInfo) {
			s.LinearFDBCap, s.MulticastFDBCap, s.PartitionEnforcementCap, s.EnhancedPort0 = 0xffff, 0xffff, 0xffff, true
		}), ""},
		{"all ports are active", "L2", mad.AttrPortInfo, port(func(p *mad.PortInfo) { p.PortState = mad.PortActive }), ""},
		{"all ports are down", "L2", mad.AttrPortInfo, port(func(p *mad.PortInfo) { p.PortState = mad.PortDown }), ""},
		{"port states that do not exist", "H3", mad.AttrPortInfo, port(func(p *mad.PortInfo) { p.PortState = 15 }), ""},
		{"everybody's LID", "H3", mad.AttrPortInfo, port(func(p *mad.PortInfo) { p.LID, p.LMC, p.MasterSMLID = 1, 7, 1 }), ""},
		{"a multicast LID", "H3", mad.AttrPortInfo, port(func(p *mad.PortInfo) { p.LID = 0xc001 }), ""},
		{"MTU, lanes, width and speed that do not exist", "H3", mad.AttrPortInfo, port(func(p *mad.PortInfo) {
			p.MTUCap, p.VLCap, p.LinkWidthActive, p.LinkSpeedActive, p.LinkSpeedExtActive = 15, 15, 255, 15, 15
			p.VLArbitrationHighCap, p.VLArbitrationLowCap, p.GUIDCap = 255, 255, 255
		}), ""},
		{"a P_Key table of 65535 entries", "H3", mad.AttrNodeInfo, node(func(n *mad.NodeInfo) { n.PartitionCap = 65535 }), "P_KeyTable"},
		{"answers of another attribute", "H3", mad.AttrPortInfo, func(s mad.SMP) { s.Packet().SetAttr(mad.AttrNodeInfo) }, "no answer to PortInfo"},
		{"wrong TIDs", "H3", mad.AttrPortInfo, func(s mad.SMP) { s.Packet().SetTID(s.Packet().TID() ^ 1) }, "no answer to PortInfo"},
		{"another modifier", "H3", mad.AttrPortInfo, func(s mad.SMP) { s.Packet().SetModifier(7) }, "no answer to PortInfo"},
		{"errors", "H3", mad.AttrPortInfo, func(s mad.SMP) { s.Packet().SetStatus(mad.StatusBusy) }, "no answer to PortInfo"},
		{"an SM that is everybody's master", "H3", mad.AttrPortInfo, port(func(p *mad.PortInfo) { p.CapabilityMask |= mad.CapIsSM }), ""},
	} {
		f := smtest.FT2x2x8(sim.NewEngine(1))
		lie(f, x.who, x.attr, x.change)
		m := f.Manage(f.Node("H1").Ports[1], sm.Config{QoS: sm.DefaultQoS(), Timeout: 10 * sim.Millisecond})
		m.Start()
		f.Run(40 * sim.Second)
		if m.State() != mad.SMMaster || m.Subnet() == nil {
			t.Errorf("%s: %v, %s, %v", x.name, m.State(), m.Status().Sweeping, m.Status().Errors)
			continue
		}
		if text := notes(m); !strings.Contains(text, x.errors) {
			t.Errorf("%s: no error %q in %q", x.name, x.errors, text)
		}
		if _, err := f.Hops(f.Node("H2").Ports[1], f.Node("H4").Ports[1].Info.LID); err != nil && x.who == "H3" {
			t.Errorf("%s: %v", x.name, err)
		}
		if s := m.Status(); s.Stats.Nodes < 6 || s.Stats.SMPs > 600_000 {
			t.Errorf("%s: %d nodes, %d SMPs", x.name, s.Stats.Nodes, s.Stats.SMPs)
		}
		// With the truth everything is as it should be.
		f.See = nil
		f.Run(10 * sim.Second)
		m.Heavy()
		f.Run(10 * sim.Second)
		m.Heavy()
		f.Run(sim.Second)
		if s := m.Status(); s.Stats.SweepErrors > 0 || s.Stats.Nodes != 12 {
			t.Errorf("%s: with the truth %d nodes, errors %v", x.name, s.Stats.Nodes, s.Errors)
		}
		reach(t, f)
	}
}

// later delivers answers as events of their own.
type later struct {
	proc  *sim.Proc
	to    *smtest.Endpoint
	queue []sm.Datagram
}

// HandleEvent implements sim.Handler.
func (l *later) HandleEvent(sim.Time, uint32, uint64) {
	d := l.queue[0]
	l.queue = l.queue[1:]
	l.to.SMP(&d)
}

// TestInventor: a host that answers for switches behind it that do not exist,
// as many as it is asked for, each with a GUID of its own.
func TestInventor(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	next := wire.GUID(1 << 40)
	// Directed routes end at H3, which is no switch: what goes on is lost in the
	// fabric, so the answers are made where the requests are sent.
	self := f.Node("H1").Ports[1]
	back := &later{proc: f.Eng.NewProc(), to: self.Endpoint()}
	f.Drop = func(from *smtest.Port, d *sm.Datagram) bool {
		s := d.SMP()
		path := s.Path()
		if from != self || s.Packet().Method() == mad.MethodGetResp || len(path) < 3 || path[0] != 1 || path[1] != 3 {
			return false
		}
		switch s.Packet().Attr() {
		case mad.AttrNodeInfo:
			next++
			mad.Encode(&mad.NodeInfo{BaseVersion: 1, ClassVersion: 1, NodeType: mad.NodeSwitch, NumPorts: 254, NodeGUID: next, PortGUID: next, LocalPortNum: 1}, s.Data())
		case mad.AttrSwitchInfo:
			mad.Encode(&mad.SwitchInfo{LinearFDBCap: 0xbfff}, s.Data())
		case mad.AttrPortInfo:
			mad.Encode(&mad.PortInfo{PortState: mad.PortInit, MTUCap: mad.MTU2048, VLCap: mad.VL0}, s.Data())
		}
		s.Packet().SetMethod(mad.MethodGetResp)
		back.queue = append(back.queue, *d)
		back.proc.At(f.Eng.Now()+sim.Microsecond, back, 0, 0)
		return true
	}
	lie(f, "H3", mad.AttrNodeInfo, rewrite(func(n *mad.NodeInfo) { n.NodeType, n.NumPorts, n.LocalPortNum = mad.NodeSwitch, 254, 1 }))
	lie(f, "H3", mad.AttrSwitchInfo, func(s mad.SMP) { s.Packet().SetStatus(0); mad.Encode(&mad.SwitchInfo{LinearFDBCap: 0xbfff}, s.Data()) })
	lie(f, "H3", mad.AttrPortInfo, func(s mad.SMP) {
		s.Packet().SetStatus(0)
		mad.Encode(&mad.PortInfo{PortState: mad.PortInit, MTUCap: mad.MTU2048, VLCap: mad.VL0}, s.Data())
	})
	m := f.Manage(self, sm.Config{Timeout: sim.Millisecond, Retries: -1})
	m.Start()
	for n := 0; n < 2000 && !strings.Contains(notes(m), "the rest is left out"); n++ {
		f.Run(sim.Millisecond)
	}
	if s := m.Status(); !strings.Contains(notes(m), "there are more than 49151 nodes or 524288 ports; the rest is left out") {
		t.Errorf("%s, %d SMPs, %v", s.Sweeping, s.Stats.SMPs, s.Errors)
	}
}

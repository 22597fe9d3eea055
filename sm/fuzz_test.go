package sm_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

// FuzzAnswers damages answers on their way to the manager: of each five bytes
// the first two say which one from now on, the others what to write where.
// Whatever comes, it does not panic, does not send without end, and mends the
// subnet when answers are right again.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{0, 3, 64 + 3, 255, 0}, true)                 // 255 ports
	f.Add([]byte{0, 1, 66, 2, 0, 0, 5, 67, 254, 0}, false)    // a switch of 254 ports
	f.Add([]byte{0, 0, 7, 1, 0, 0, 0, 64, 9, 9}, true)        // hop counts
	f.Add([]byte{0, 9, 96, 0x44, 3, 0, 9, 97, 0x11, 3}, true) // states and speeds
	f.Fuzz(func(t *testing.T, script []byte, qos bool) {
		net := smtest.FT2x2x8(sim.NewEngine(1))
		self, left := net.Node("H1").Ports[1], -1
		next := func() {
			if left = -1; len(script) >= 5 {
				left = int(script[0])<<8 | int(script[1])
			}
		}
		next()
		net.See = func(from *smtest.Port, d *sm.Datagram) {
			if from == self || left < 0 {
				return
			}
			if left--; left >= 0 {
				return
			}
			for i := range 1 + int(script[4])%4 {
				d.MAD[(int(script[2])+i)%mad.PacketLen] = script[3] + byte(i)
			}
			script = script[5:]
			next()
		}
		cfg := sm.Config{Timeout: sim.Millisecond, Retries: 1}
		if qos {
			cfg.QoS = sm.DefaultQoS()
		}
		m := net.Manage(self, cfg)
		m.Start()
		net.Run(200 * sim.Millisecond)
		if n := m.Status().Stats.SMPs; n > 200_000 {
			t.Errorf("%d SMPs in 200 ms", n)
		}
		s := m.Status()
		s.Lines()
		m.Subnet().Verify()
		net.See = nil
		net.Run(12 * sim.Second)
		m.Heavy()
		net.Run(2 * sim.Second)
		if s := m.Status(); m.State() != mad.SMMaster || s.Stats.Nodes != 12 || s.Stats.SweepErrors > 0 {
			t.Fatalf("%v, %d nodes, %v", m.State(), s.Stats.Nodes, s.Errors)
		}
		for _, n := range net.Nodes {
			if p := n.Ports[1]; p.Info.PortState != mad.PortActive {
				t.Errorf("%s is %v", n.Name, p.Info.PortState)
			}
		}
	})
}

// FuzzReceive gives a manager at rest datagrams of any content.
func FuzzReceive(f *testing.F) {
	for _, m := range []struct {
		class  mad.Class
		method mad.Method
		attr   mad.AttrID
	}{{mad.ClassSubnLID, mad.MethodTrap, mad.AttrNotice}, {mad.ClassSubnLID, mad.MethodSet, mad.AttrSMInfo}, {mad.ClassSubnDirected, mad.MethodGet, mad.AttrSMInfo}, {mad.ClassSubnDirected, mad.MethodGetResp, mad.AttrNodeInfo}} {
		p := make(mad.Packet, mad.PacketLen)
		(&mad.Header{Class: m.class, Method: m.method, Attr: m.attr, TID: 9, Modifier: 1}).Encode(p)
		f.Add([]byte(p), uint16(5), uint16(1))
	}
	net := smtest.FT2x2x8(sim.NewEngine(1))
	m := net.Manage(net.Node("H1").Ports[1], sm.Config{})
	m.Start()
	net.Run(sim.Second)
	f.Fuzz(func(t *testing.T, b []byte, slid, dlid uint16) {
		d := sm.Datagram{SLID: wire.LID(slid), DLID: wire.LID(dlid)}
		copy(d.MAD[:], b)
		m.Receive(&d)
		net.Run(100 * sim.Millisecond)
		if m.Subnet() == nil || len(m.Subnet().Nodes) != 12 {
			t.Errorf("%v", m.Status())
		}
	})
}

package hca_test

import (
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/switch/ib"
)

// overIB makes newPair and newPeer those of InfiniBand: the tables of the
// transport are the same on both fabrics.
var overIB bool

// ibnet is channel adapters behind switches, brought up by a subnet manager at
// the first adapter.
type ibnet struct {
	testing.TB
	e    *sim.Engine
	pool *frame.Pool
	b    *hca.Batch
	sw   []*ib.Switch
	ca   []*hca.CA
	port ibport.Config // of every port
	conf hca.Config
	m    *sm.Manager
	mads *smPort
}

func newIBNet(t testing.TB, seed uint64) *ibnet {
	return &ibnet{TB: t, e: sim.NewEngine(seed), pool: &frame.Pool{}, port: ibport.Config{SpeedsExt: mad.SpeedEDR}}
}

func (n *ibnet) run(d sim.Time) { n.e.RunUntil(n.e.Now() + d) }

func (n *ibnet) addSwitch(ports int) *ib.Switch {
	k := len(n.sw) + 1
	s := must[*ib.Switch](n)(ib.New(n.e, n.pool, ib.Config{Name: fmt.Sprintf("s%d", k), GUID: wire.GUID(0x200000 + k), Ports: ports, Port: n.port}))
	n.sw = append(n.sw, s)
	return s
}

// addCA makes an adapter with a port for each cable, given as a port of a
// switch.
func (n *ibnet) addCA(to ...*ibport.Port) *hca.CA {
	n.Helper()
	k := len(n.ca) + 1
	cfg := hca.CAConfig{Desc: fmt.Sprintf("h%d mlx5_0", k), Info: mad.NodeInfo{NodeGUID: wire.GUID(0x100000 + 16*k), SystemImageGUID: wire.GUID(0x100000 + 16*k)}}
	for i := range to {
		pc := hca.CAPortConfig{Config: n.conf, Port: n.port}
		pc.Name, pc.Port.Name = fmt.Sprintf("mlx5_%d", i), fmt.Sprintf("h%d:%d", k, i+1)
		pc.KeySeed[0], pc.KeySeed[1] = byte(k), byte(i)
		cfg.Ports = append(cfg.Ports, pc)
	}
	c := must[*hca.CA](n)(hca.NewCA(n.e, n.pool, n.b, cfg))
	for i, p := range to {
		if p != nil {
			n.connect(c.Port(i+1), p)
		}
	}
	n.ca = append(n.ca, c)
	return c
}

func (n *ibnet) connect(a, b *ibport.Port) {
	n.Helper()
	if err := ibport.Connect(a, b, 300*sim.Nanosecond); err != nil {
		n.Fatal(err)
	}
}

// star is a switch with k adapters, number i at its port i+1.
func (n *ibnet) star(k int) {
	s := n.addSwitch(k)
	for i := range k {
		n.addCA(s.Port(i + 1))
	}
}

// smPort joins a manager to a device: it is sm.MADPort and hca.MADSink.
type smPort struct {
	d   *hca.Device
	m   *sm.Manager
	gsi func(*sm.Datagram)
	in  sm.Datagram
	bad error
}

// Send implements sm.MADPort.
func (p *smPort) Send(d *sm.Datagram) {
	qp := uint32(wire.QP0)
	if !d.Packet().Class().Subn() {
		qp = wire.QP1
	}
	to := hca.MADAddress{QPN: d.QP, QKey: d.QKey, LID: d.DLID, SL: d.SL, PKeyIndex: d.PKeyIndex, GRH: d.HasGRH, GID: hca.GID(d.DGID), HopLimit: 1}
	if err := p.d.SendMAD(qp, &to, d.MAD[:]); err != nil {
		p.bad = err
	}
}

// ReceiveMAD implements hca.MADSink.
func (p *smPort) ReceiveMAD(qp uint32, from *hca.MADAddress, m mad.Packet) {
	d := &p.in
	*d = sm.Datagram{QP: qp, SrcQP: from.QPN, QKey: from.QKey, SLID: from.LID, DLID: p.d.IB().LID(), SL: from.SL, PKeyIndex: from.PKeyIndex}
	if from.LID == wire.LIDPermissive {
		d.DLID = wire.LIDPermissive
	}
	copy(d.MAD[:], m)
	if qp == wire.QP0 {
		p.m.Receive(d)
	} else if p.gsi != nil {
		p.gsi(d)
	}
}

// up trains the links and lets the manager make the ports active.
func (n *ibnet) up(c sm.Config) {
	n.Helper()
	n.run(5 * sim.Millisecond)
	d := n.ca[0].Device(1)
	n.mads = &smPort{d: d}
	c.Proc, c.Port, c.GUID = n.e.NewProc(), n.mads, d.IB().GUID()
	if c.Timeout == 0 {
		c.Timeout = 2 * sim.Millisecond
	}
	n.m = sm.New(c)
	n.mads.m = n.m
	d.SetMADSink(n.mads)
	d.IB().SetCapMask(mad.CapIsSM, mad.CapIsSM)
	d.IB().Watch(func(from, to mad.PortState) {
		if from == mad.PortDown && to == mad.PortInit { // nobody else can tell it
			n.m.Heavy()
		}
	})
	n.m.Start()
	n.settle()
}

// settle waits until every port that has a cable is active.
func (n *ibnet) settle() {
	n.Helper()
	for range 1000 {
		n.run(100 * sim.Microsecond)
		if n.active() {
			n.run(100 * sim.Microsecond)
			return
		}
	}
	n.Fatalf("the ports did not become active; manager %v, %v", n.m.State(), n.mads.bad)
}

func (n *ibnet) active() bool {
	for _, c := range n.ca {
		for i := range c.NumPorts() {
			if p := c.Port(i + 1); p.PhysState() == mad.PhysLinkUp && p.State() != mad.PortActive {
				return false
			}
		}
	}
	for _, s := range n.sw {
		for i := range s.NumPorts() {
			if p := s.Port(i + 1); p.PhysState() == mad.PhysLinkUp && p.State() != mad.PortActive {
				return false
			}
		}
	}
	return n.m.State() == mad.SMMaster
}

// pairOf is two adapters as a pair.
func (n *ibnet) pairOf(a, b int) *pair {
	p := &pair{t: n.TB, e: n.e, pool: n.pool, net: n}
	for i, k := range []int{a, b} {
		d := n.ca[k].Device(1)
		p.dev[i], p.port[i] = d, &port{Port: d.IB().Link(), dev: d}
	}
	return p
}

// newIBPair is newPair over InfiniBand: two adapters behind a switch.
func newIBPair(t testing.TB, seed uint64, b *hca.Batch, c hca.Config) *pair {
	n := newIBNet(t, seed)
	n.b, n.conf = b, c
	n.star(2)
	n.up(sm.Config{})
	return n.pairOf(0, 1)
}

// idle checks that nothing is left in any buffer: every port has given back
// what it held, and its peer has all credits.
func (n *ibnet) idle() {
	n.Helper()
	check := func(p *ibport.Port) {
		for vl := range uint8(p.VLs()) {
			if held, _ := p.Held(vl); held != 0 {
				n.Errorf("%s VL %d holds %d blocks", p.Name(), vl, held)
			}
		}
	}
	for _, c := range n.ca {
		for i := range c.NumPorts() {
			check(c.Port(i + 1))
		}
	}
	for _, s := range n.sw {
		for i := range s.NumPorts() {
			check(s.Port(i + 1))
		}
	}
	if k := n.pool.Live(); k != 0 {
		n.Errorf("%d frames are alive at rest", k)
	}
}

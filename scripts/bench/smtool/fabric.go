package main

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibagent"
	"cnuas/internal/ibagent/catest"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/switch/ib"
)

// network is the InfiniBand part of a topology: real switches, ports and
// agents, and adapters with nothing behind their agents.
type network struct {
	eng   *sim.Engine
	pool  *frame.Pool
	ports []*ibport.Port // with a link
	cas   map[string]*catest.CA
}

// build makes the devices, and lets the links train. All ports can do what
// ibsim's can.
func build(spec *topology.Spec) *network {
	n := &network{eng: sim.NewEngine(spec.Seed), pool: &frame.Pool{}, cas: map[string]*catest.CA{}}
	port := ibport.Config{Widths: mad.Width1X | mad.Width4X, Speeds: mad.SpeedSDR, MTU: mad.MTU2048, VLs: mad.VL0to7, PKeys: 64}
	ends := make([][]*ibport.Port, len(spec.Links))
	for i := range spec.Switches {
		x := &spec.Switches[i]
		s, err := ib.New(n.eng, n.pool, ib.Config{Name: x.Name, Desc: x.IB.Desc, GUID: wire.GUID(x.IB.GUID), SystemGUID: wire.GUID(x.IB.SystemGUID),
			Ports: x.IB.NumPorts, Port: port, LFTCap: 0x7800, MCastCap: 0x400})
		if err != nil {
			fail("%v", err)
		}
		for _, p := range x.Ports {
			ends[p.Link] = append(ends[p.Link], s.Port(p.Number))
		}
	}
	for i := range spec.Nodes {
		x := &spec.Nodes[i]
		c := port
		c.Name = x.Name
		if i == spec.SMs[0].Node {
			c.CapMask |= mad.CapIsSM
		}
		ca := catest.New(n.eng, n.pool, c, wire.GUID(x.HCAs[0].GUID))
		n.cas[x.Name] = ca
		ends[x.IBPorts[0].Link] = append(ends[x.IBPorts[0].Link], ca.P)
	}
	for i, e := range ends {
		if err := ibport.Connect(e[0], e[1], spec.Links[i].Delay); err != nil {
			fail("%v", err)
		}
		n.ports = append(n.ports, e...)
	}
	n.eng.RunUntil(10 * sim.Millisecond)
	return n
}

// inactive counts linked ports that are not active.
func (n *network) inactive() (c int) {
	for _, p := range n.ports {
		if p.State() != mad.PortActive {
			c++
		}
	}
	return c
}

// manage makes a subnet manager at a host.
func (n *network) manage(host string, cfg sm.Config) *sm.Manager {
	ca := n.cas[host]
	cfg.Proc, cfg.GUID, cfg.Port = n.eng.NewProc(), ca.P.GUID(), &end{ca, n.pool}
	m := sm.New(cfg)
	var d sm.Datagram
	ca.Hook = func(p mad.Packet, f *frame.Frame) bool {
		copy(d.MAD[:], p)
		d.SLID, d.DLID, d.SL = f.Meta.IB.SLID, f.Meta.IB.DLID, f.Meta.IB.SL
		n.pool.Put(f)
		m.Receive(&d)
		return true
	}
	return m
}

// end sends a manager's SMPs.
type end struct {
	ca   *catest.CA
	pool *frame.Pool
}

// Send implements sm.MADPort.
func (e *end) Send(d *sm.Datagram) {
	f, p := ibagent.NewMAD(e.pool, true)
	copy(p, d.MAD[:])
	slid := d.SLID
	if slid == 0 {
		slid = e.ca.P.LID()
	}
	ibagent.Address(f, slid, d.DLID, d.SL)
	e.ca.Agent.Send(1, f)
}

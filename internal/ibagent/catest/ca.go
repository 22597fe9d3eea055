// Package catest is a channel adapter for tests: one port with the agents of
// internal/ibagent and nothing behind them, and a client that sends MADs and
// keeps what comes back.
package catest

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/ibagent"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// CA is the adapter. It implements ibport.Owner, ibagent.Node and
// ibagent.Client.
type CA struct {
	P     *ibport.Port
	Agent *ibagent.Agent
	Got   []mad.Packet // copies of the MADs for the client
	LRH   []wire.LRHFields
	Data  uint64 // packets received that are no MADs
	Hook  func(m mad.Packet, f *frame.Frame) bool

	e     *sim.Engine
	pool  *frame.Pool
	queue [16]frame.FIFO
	tid   uint64
}

// New returns an adapter whose port is number 1.
func New(e *sim.Engine, pool *frame.Pool, cfg ibport.Config, guid wire.GUID) *CA {
	c := &CA{e: e, pool: pool}
	cfg.Num, cfg.Node, cfg.GUID = 1, mad.NodeCA, guid+1
	cfg.CapMask |= mad.CapTrap | mad.CapSLMapping
	p, err := ibport.New(e, pool, c, cfg)
	if err != nil {
		panic(err)
	}
	c.P = p
	info := mad.NodeInfo{NodeType: mad.NodeCA, NumPorts: 1, NodeGUID: guid, SystemImageGUID: guid, PartitionCap: uint16(len(p.PKeys()))}
	c.Agent = ibagent.New(e, pool, c, ibagent.Config{Info: info, Desc: cfg.Name})
	c.Agent.SetClient(c)
	return c
}

// Port implements ibagent.Node.
func (c *CA) Port(n int) *ibport.Port {
	if n == 1 {
		return c.P
	}
	return nil
}

// SendVL15 implements ibagent.Node.
func (c *CA) SendVL15(_ int, f *frame.Frame) { c.send(wire.VL15, f) }

// SendLID implements ibagent.Node.
func (c *CA) SendLID(_ int, f *frame.Frame) {
	if f.Meta.IB.VL == wire.VL15 {
		c.send(wire.VL15, f)
	} else {
		c.send(c.P.VLOf(0, f.Meta.IB.SL), f)
	}
}

func (c *CA) send(vl uint8, f *frame.Frame) {
	if !c.P.Accepts(f) {
		c.pool.Put(f)
		return
	}
	c.queue[vl].Push(f)
	c.P.Offer(vl)
}

// Head implements ibport.Owner.
func (c *CA) Head(_ *ibport.Port, vl uint8) *frame.Frame { return c.queue[vl].Peek() }

// Take implements ibport.Owner.
func (c *CA) Take(_ *ibport.Port, vl uint8) *frame.Frame { return c.queue[vl].Pop() }

// Arrive implements ibport.Owner.
func (c *CA) Arrive(p *ibport.Port, f *frame.Frame) {
	m := &f.Meta.IB
	if m.VL == wire.VL15 || m.BTH != 0 && wire.BTH(f.Data[m.BTH:]).DestQP() == wire.QP1 {
		c.Agent.Arrive(p, f)
		return
	}
	c.Data++
	p.Release(f)
	c.pool.Put(f)
}

// StateChanged implements ibport.Owner.
func (c *CA) StateChanged(_ *ibport.Port, _, to mad.PortState) {
	for vl := range c.queue {
		for to == mad.PortDown && c.queue[vl].Len() > 0 {
			c.pool.Put(c.queue[vl].Pop())
		}
	}
}

// PortEvent implements ibport.Owner.
func (c *CA) PortEvent(p *ibport.Port, e ibport.Event) {
	if c.Agent != nil {
		c.Agent.PortEvent(p, e)
	}
}

// ReceiveMAD implements ibagent.Client.
func (c *CA) ReceiveMAD(_ int, f *frame.Frame) {
	m := ibtest.MAD(f)
	if c.Hook != nil && c.Hook(m, f) {
		return
	}
	c.Got = append(c.Got, append(mad.Packet(nil), m...))
	c.LRH = append(c.LRH, wire.LRH(f.Data).Fields())
	c.pool.Put(f)
}

// Ask is one request.
type Ask struct {
	Class  mad.Class // default: directed route if Path is set, else by LID
	Method mad.Method
	Attr   mad.AttrID
	Mod    uint32
	MKey   uint64
	Path   []uint8  // ports of a directed route; empty but not nil: to the own node
	DLID   wire.LID // of a LID-routed one
	SL     uint8
	Data   mad.Attribute
	Change func(m mad.Packet) // last
}

// Send sends a request and returns its TID.
func (c *CA) Send(a Ask) uint64 {
	if a.Class == 0 {
		a.Class = mad.ClassSubnLID
		if a.Path != nil {
			a.Class = mad.ClassSubnDirected
		}
	}
	c.tid++
	f, m := ibagent.NewMAD(c.pool, a.Class.Subn())
	(&mad.Header{Class: a.Class, Method: a.Method, TID: c.tid, Attr: a.Attr, Modifier: a.Mod}).Encode(m)
	slid, dlid := c.P.LID(), a.DLID
	if a.Class.Subn() {
		mad.SMP(m).SetMKey(a.MKey)
	}
	if a.Class == mad.ClassSubnDirected {
		mad.SMP(m).SetPath(a.Path...)
		if dlid == 0 {
			slid, dlid = wire.LIDPermissive, wire.LIDPermissive
		}
	}
	if a.Data != nil {
		mad.Encode(a.Data, m.Data())
	}
	if a.Change != nil {
		a.Change(m)
	}
	ibagent.Address(f, slid, dlid, a.SL)
	c.Agent.Send(1, f)
	return c.tid
}

// Do sends a request and lets time pass until its answer is there, which it
// decodes into out unless that is nil; after a millisecond without one the
// error says so, as it does for a status other than 0.
func (c *CA) Do(a Ask, out mad.Attribute) error {
	tid := c.Send(a)
	for end := c.e.Now() + sim.Millisecond; c.e.Now() < end; {
		c.e.RunUntil(c.e.Now() + sim.Microsecond)
		for _, m := range c.Got {
			if m.TID() != tid || !m.Method().IsResponse() {
				continue
			}
			if out != nil {
				mad.Decode(out, m.Data())
			}
			if st := m.Status(); st != 0 {
				return fmt.Errorf("status %v", st)
			}
			return nil
		}
	}
	return fmt.Errorf("no answer")
}

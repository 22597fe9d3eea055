package hca

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/ibagent"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// CAConfig describes an InfiniBand channel adapter.
type CAConfig struct {
	Info  mad.NodeInfo // NumPorts and PartitionCap are filled in
	Desc  string       // NodeDescription, at most 63 bytes
	Ports []CAPortConfig
}

// CAPortConfig describes a port and the device that programs see in it. Of
// Config those fields count that are not RoCE's.
type CAPortConfig struct {
	Config
	Port ibport.Config // Num and Node are filled in; GUID 0: the node's plus the number
}

// CA is an InfiniBand channel adapter: ports that share the agents of subnet
// and performance management. Each port is a Device of its own to programs, as
// with adapters of the ConnectX line.
type CA struct {
	pool  *frame.Pool
	agent *ibagent.Agent
	dev   []*Device // by number, from 1 on
}

// NewCA makes an adapter whose ports are not connected. batch is that of New.
// The error names what in the configuration of a port is wrong.
func NewCA(e *sim.Engine, pool *frame.Pool, batch *Batch, cfg CAConfig) (*CA, error) {
	if len(cfg.Ports) < 1 || len(cfg.Ports) > 254 {
		return nil, fmt.Errorf("channel adapter %s: %d ports: use 1 to 254", cfg.Desc, len(cfg.Ports))
	}
	c := &CA{pool: pool}
	for i := range cfg.Ports {
		pc := &cfg.Ports[i]
		pc.Port.Num, pc.Port.Node = uint8(i+1), mad.NodeCA
		pc.Port.CapMask |= mad.CapTrap | mad.CapSLMapping
		pc.Port.CutThrough = false // a packet is judged by its ICRC, behind its last byte
		if pc.Port.GUID == 0 {
			pc.Port.GUID = cfg.Info.NodeGUID + wire.GUID(i+1)
		}
		p, err := ibport.New(e, pool, c, pc.Port)
		if err != nil {
			return nil, err
		}
		d := New(e, pool, batch, pc.Config)
		d.ib = &ibSide{ca: c, port: p}
		d.up = false
		d.kick = d.offer
		d.syncGIDs()
		c.dev = append(c.dev, d)
		cfg.Info.PartitionCap = uint16(len(p.PKeys()))
	}
	cfg.Info.NodeType, cfg.Info.NumPorts = mad.NodeCA, uint8(len(c.dev))
	c.agent = ibagent.New(e, pool, c, ibagent.Config{Info: cfg.Info, Desc: cfg.Desc})
	c.agent.SetClient(c)
	return c, nil
}

// NumPorts is the number of ports, which are counted from 1.
func (c *CA) NumPorts() int { return len(c.dev) }

// Device is what programs see of a port; nil if there is none of that number.
func (c *CA) Device(n int) *Device {
	if n < 1 || n > len(c.dev) {
		return nil
	}
	return c.dev[n-1]
}

// Port returns a port; nil if there is none of that number.
func (c *CA) Port(n int) *ibport.Port {
	if d := c.Device(n); d != nil {
		return d.ib.port
	}
	return nil
}

// Agent is the adapter's agents.
func (c *CA) Agent() *ibagent.Agent { return c.agent }

func (c *CA) of(p *ibport.Port) *Device { return c.dev[p.Num()-1] }

// SendVL15 implements ibagent.Node.
func (c *CA) SendVL15(port int, f *frame.Frame) { c.send(port, wire.VL15, f) }

// SendLID implements ibagent.Node.
func (c *CA) SendLID(port int, f *frame.Frame) {
	vl := uint8(wire.VL15)
	if d := c.Device(port); d != nil && f.Meta.IB.VL != wire.VL15 {
		if vl = d.lane(f.Meta.IB.SL); vl == laneNone {
			d.ib.port.CountDiscard(1)
			c.pool.Put(f)
			return
		}
	}
	c.send(port, vl, f)
}

// maxWaiting bounds the packets of agents that wait on a lane.
const maxWaiting = 4096

func (c *CA) send(port int, vl uint8, f *frame.Frame) {
	d := c.Device(port)
	if d == nil || !d.ib.port.Accepts(f) {
		c.pool.Put(f)
		return
	}
	if d.ib.queue[vl].Len() >= maxWaiting {
		d.ctr.OwnDropped++
		c.pool.Put(f)
		return
	}
	d.ib.queue[vl].Push(f)
	d.ib.port.Offer(vl)
}

// Arrive implements ibport.Owner: what is for QP0 or QP1 goes to the agents,
// the rest to the device, which takes it out of the port's buffer at once: what
// waits in a batch is in the program's memory as far as the fabric can tell.
func (c *CA) Arrive(p *ibport.Port, f *frame.Frame) {
	m := &f.Meta.IB
	d := c.of(p)
	if m.VL == wire.VL15 || m.BTH != 0 && wire.BTH(f.Data[m.BTH:]).DestQP() == wire.QP1 {
		if r, ok := d.wholeMAD(f); !ok {
			p.Release(f)
			d.drop(r)
			c.pool.Put(f)
			return
		}
		c.agent.Arrive(p, f)
		return
	}
	p.Release(f)
	d.Receive(f)
}

// StateChanged implements ibport.Owner.
func (c *CA) StateChanged(p *ibport.Port, from, to mad.PortState) {
	if c.agent == nil {
		return
	}
	d := c.of(p)
	if from == mad.PortActive || to == mad.PortDown {
		d.dropWaiting(to == mad.PortDown)
	}
	d.LinkChanged(to == mad.PortActive)
	d.changed()
	c.agent.PortChanged(p)
}

// PortEvent implements ibport.Owner: programs that watch the device are told,
// and the subnet manager by the agents.
func (c *CA) PortEvent(p *ibport.Port, e ibport.Event) {
	if c.agent == nil {
		return
	}
	d := c.of(p)
	d.enter()
	switch e {
	case ibport.EventLID:
		d.refreshLoops()
		d.broadcast(Event{Type: EventLIDChange, Port: 1})
	case ibport.EventSM:
		d.broadcast(Event{Type: EventSMChange, Port: 1})
	case ibport.EventReregister:
		d.broadcast(Event{Type: EventClientReregister, Port: 1})
	case ibport.EventPKeys:
		d.broadcast(Event{Type: EventPKeyChange, Port: 1})
	case ibport.EventGUIDs:
		d.syncGIDs()
	case ibport.EventVLs:
		d.relist()
	}
	d.leave()
	d.changed()
	c.agent.PortEvent(p, e)
}

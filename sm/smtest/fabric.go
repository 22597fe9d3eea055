package smtest

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Fabric is a set of nodes on an engine.
type Fabric struct {
	Eng   *sim.Engine
	Nodes []*Node

	HopDelay   sim.Time // of a link with what forwards
	AgentDelay sim.Time // until an agent answers
	Loss       float64  // chance that a datagram vanishes, 0 to 1
	LossQP1    float64  // the same for datagrams to QP 1
	TrapEvery  sim.Time // between repetitions of a trap
	TrapTries  int
	// See is called for every datagram that is sent, before it can get lost.
	See func(from *Port, d *sm.Datagram)
	// Drop decides on single datagrams, if set: true loses it.
	Drop func(from *Port, d *sm.Datagram) bool

	Lost      uint64 // by chance, or by Drop
	Discarded uint64 // for want of a route

	proc   *sim.Proc
	rng    *sim.Rand
	byName map[string]*Node
	packs  []*packet
	free   []uint32
	tid    uint64
}

// packet is a datagram under way.
type packet struct {
	d     sm.Datagram
	node  *Node // where it arrives
	in    uint8 // by which port
	agent bool  // for the node's agent
}

// New returns an empty fabric.
func New(eng *sim.Engine) *Fabric {
	f := &Fabric{
		Eng: eng, HopDelay: 250 * sim.Nanosecond, AgentDelay: 2 * sim.Microsecond,
		TrapEvery: 100 * sim.Millisecond, TrapTries: 20,
		proc: eng.NewProc(), byName: map[string]*Node{}, tid: 1 << 40,
	}
	f.rng = f.proc.NewRand(1)
	return f
}

// Node returns the node with the name; nil if there is none.
func (f *Fabric) Node(name string) *Node { return f.byName[name] }

// Run lets time pass.
func (f *Fabric) Run(d sim.Time) { f.Eng.RunUntil(f.Eng.Now() + d) }

// Events of a Fabric.
const (
	opArrive uint32 = iota
	opTrap
)

// HandleEvent implements sim.Handler; only the engine calls it.
func (f *Fabric) HandleEvent(now sim.Time, op uint32, arg uint64) {
	switch op {
	case opTrap:
		f.Nodes[arg].sendTrap()
	case opArrive:
		p := f.packs[arg]
		if p.agent {
			p.node.agent(p)
		} else if e := p.node.endpoint(p.in); e != nil {
			e.receive(&p.d)
		}
		f.free = append(f.free, uint32(arg))
	}
}

// send begins a datagram's way at an end port.
func (f *Fabric) send(from *Port, d *sm.Datagram) {
	if f.See != nil {
		f.See(from, d)
	}
	loss := f.Loss
	if d.QP == wire.QP1 {
		loss = f.LossQP1
	}
	if f.rng.Chance(loss) || f.Drop != nil && f.Drop(from, d) {
		f.Lost++
		return
	}
	var i uint32
	if n := len(f.free); n > 0 {
		i = f.free[n-1]
		f.free = f.free[:n-1]
	} else {
		i = uint32(len(f.packs))
		f.packs = append(f.packs, new(packet))
	}
	p := f.packs[i]
	*p = packet{d: *d, node: from.Node}
	if p.d.SLID == 0 {
		p.d.SLID = from.lid()
	}
	hops, ok := f.walk(from, p)
	if !ok {
		f.Discarded++
		f.free = append(f.free, i)
		return
	}
	f.proc.At(f.Eng.Now()+f.AgentDelay+sim.Time(hops)*f.HopDelay, f, opArrive, uint64(i))
}

// walk takes a packet from a port's node to where it arrives: p.node and p.in.
func (f *Fabric) walk(from *Port, p *packet) (hops int, ok bool) {
	s := p.d.SMP()
	if !s.Packet().Valid() {
		return 0, false
	}
	if mad.Class(s[1]) != mad.ClassSubnDirected {
		hops, ok = p.byLID(from, p.d.DLID, p.d.QP != 0)
		p.agent = mad.Class(s[1]) == mad.ClassSubnLID
		return hops, ok
	}
	in := uint8(0)
	if !s.Returning() && s.DrSLID() != wire.LIDPermissive && p.d.DLID != wire.LIDPermissive {
		// Combined: by LID to where the directed part begins.
		if hops, ok = p.byLID(from, p.d.DLID, false); !ok {
			return hops, false
		}
		in = p.in
	}
	for {
		action, out := s.Step(in)
		switch action {
		case mad.DRForward:
			if in != 0 && p.node.Type != mad.NodeSwitch {
				return hops, false
			}
			o := p.node.Port(out)
			if o == nil || !o.up() {
				return hops, false
			}
			p.node, in = o.Peer.Node, o.Peer.Num
			hops++
		case mad.DRLocal, mad.DRSource:
			p.in, p.agent = in, action == mad.DRLocal
			if in == 0 {
				p.in = from.Num
				if p.node != from.Node {
					p.in = 0
				}
			}
			return hops, true
		case mad.DRRouteLID:
			to := s.DrDLID()
			if s.Returning() {
				to = s.DrSLID()
			}
			at := from
			if p.node.Type == mad.NodeSwitch {
				at = p.node.Ports[0]
			}
			n, ok := p.byLID(at, to, false)
			p.agent = !s.Returning()
			return hops + n, ok
		default:
			return hops, false
		}
	}
}

// byLID takes a packet from an end port to the port that has a LID.
func (p *packet) byLID(from *Port, to wire.LID, data bool) (hops int, ok bool) {
	p.node, p.in = from.Node, from.Num
	for ; hops < 64; hops++ {
		n := p.node
		if n.Type != mad.NodeSwitch {
			end := n.Ports[p.in]
			if end.has(to) {
				return hops, true
			}
			if hops > 0 || !end.open(data) {
				return hops, false
			}
			p.node, p.in = end.Peer.Node, end.Peer.Num
			continue
		}
		out, ok := n.forward(to)
		if !ok {
			return hops, false
		}
		if out == 0 {
			if hops == 0 {
				p.in = 0
			}
			return hops, true
		}
		o := n.Port(out)
		if o == nil || !o.open(data) {
			return hops, false
		}
		p.node, p.in = o.Peer.Node, o.Peer.Num
	}
	return hops, false
}

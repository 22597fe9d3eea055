package sm

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm/route"
)

// Subnet is what a sweep found, and what the manager has set in it. Other
// packages read it and change nothing.
type Subnet struct {
	Nodes  []*Node // in the order of discovery, the manager's own first
	MaxLID wire.LID

	ports    int // of all nodes
	byGUID   map[wire.GUID]*Node
	byPort   map[wire.GUID]*Port // end ports
	byLID    []*Port
	tables   *route.Tables // nil before routing
	fabric   *route.Subnet
	switches []*Node // by index in fabric
	fallback string  // why the engine that was wanted did not make tables
	verified *Verification
}

// Node is a channel adapter, switch or router.
type Node struct {
	Info   mad.NodeInfo
	Desc   mad.NodeDescription
	Ports  []*Port // by number; nil for ports that were not seen, and 0 of a CA
	Switch *Switch // nil for what is no switch
	Path   []uint8 // directed route from the manager

	entered uint8 // port by which it was found first
	index   int   // of a switch in route.Subnet
}

// Port is a port of a node.
type Port struct {
	Node  *Node
	Num   uint8
	GUID  wire.GUID // 0 for external ports of switches
	Info  mad.PortInfo
	LID   wire.LID // of an end port
	LMC   uint8
	Peer  *Port    // nil: nothing is connected
	PKeys []uint16 // the whole table, as read or set

	end    int32    // index of an end node's port in route.Subnet
	known  bool     // Info was read
	want   []uint16 // P_Keys that an end port is to have
	index0 uint16   // which of them is entry 0, without the bit of membership
	failed bool     // was sent something and did not answer
	owed   bool     // is to be told by ClientReregister that it was forgotten, and has not acknowledged it
	sl2vl  map[uint8]mad.SLtoVL
	vlarb  map[uint8]mad.VLArbitration
}

// Switch is what a switch has besides.
type Switch struct {
	Info mad.SwitchInfo
	// LFT is what is programmed: whole blocks, as far as LinearFDBTop.
	LFT []uint8

	valid []bool // blocks of LFT that were acknowledged
	mft   map[mftKey]mad.MulticastForwarding
	known bool
}

// Self is the manager's own port; nil as long as nothing is known.
func (s *Subnet) Self() *Port {
	if s == nil || len(s.Nodes) == 0 {
		return nil
	}
	n := s.Nodes[0]
	if int(n.entered) < len(n.Ports) {
		return n.Ports[n.entered]
	}
	return nil
}

// Node returns the node with the GUID, or nil.
func (s *Subnet) Node(g wire.GUID) *Node { return s.byGUID[g] }

// PortByGUID returns the end port with the GUID, or nil.
func (s *Subnet) PortByGUID(g wire.GUID) *Port { return s.byPort[g] }

// PortByLID returns the end port that has the LID, or nil.
func (s *Subnet) PortByLID(l wire.LID) *Port {
	if int(l) < len(s.byLID) {
		return s.byLID[l]
	}
	return nil
}

// IsSwitch tells a switch from an end node.
func (n *Node) IsSwitch() bool { return n.Switch != nil }

// Port returns the port of a number, or nil.
func (n *Node) Port(num uint8) *Port {
	if int(num) < len(n.Ports) {
		return n.Ports[num]
	}
	return nil
}

// End is the end port that stands for p: port 0 of a switch, else p itself.
func (p *Port) End() *Port {
	if p.Node.IsSwitch() {
		return p.Node.Ports[0]
	}
	return p
}

// IsEnd tells whether the port has LIDs.
func (p *Port) IsEnd() bool { return !p.Node.IsSwitch() || p.Num == 0 }

// Linked tells whether the port has a cable to a port that is known, and the
// link is not down.
func (p *Port) Linked() bool { return p.Peer != nil && p.known && p.Info.PortState > mad.PortDown }

// EndPorts calls f for every end port in the order of discovery.
func (s *Subnet) EndPorts(f func(*Port)) {
	for _, n := range s.Nodes {
		if n.IsSwitch() {
			f(n.Ports[0])
			continue
		}
		for _, p := range n.Ports {
			if p != nil {
				f(p)
			}
		}
	}
}

func newSubnet() *Subnet {
	return &Subnet{byGUID: map[wire.GUID]*Node{}, byPort: map[wire.GUID]*Port{}}
}

// port returns the port of a number, made if need be.
func (n *Node) port(num uint8) *Port {
	if int(num) >= len(n.Ports) {
		return nil
	}
	if n.Ports[num] == nil {
		n.Ports[num] = &Port{Node: n, Num: num}
	}
	return n.Ports[num]
}

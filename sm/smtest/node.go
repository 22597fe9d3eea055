package smtest

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Node is a channel adapter or a switch.
type Node struct {
	Name  string
	Type  mad.NodeType
	Info  mad.NodeInfo
	Desc  mad.NodeDescription
	Ports []*Port // by number; 0 is nil at an adapter
	SI    mad.SwitchInfo
	LFT   []uint8
	MFT   map[uint32]mad.MulticastForwarding // by AttributeModifier
	SL2VL map[uint32]mad.SLtoVL              // by AttributeModifier
	Dead  bool                               // the agent does not answer

	f     *Fabric
	index int
	traps []trap
}

// Port is a port of a node.
type Port struct {
	Node  *Node
	Num   uint8
	GUID  wire.GUID
	Info  mad.PortInfo
	Peer  *Port // at the other end of the cable; nil: no cable
	PKeys []uint16
	VLArb [5]mad.VLArbitration // by block, from 1
	// Reregister counts Sets of ClientReregister.
	Reregister int

	endpoint *Endpoint
}

// Profile is what nodes say they can do.
type Profile struct {
	CapCA, CapSwitch   mad.CapMask
	MTU                mad.MTU
	VLs                mad.VLs
	Width              mad.LinkWidth
	Speed              mad.LinkSpeed
	SpeedExt           mad.LinkSpeedExt
	LFTCap, MCastCap   uint16
	PKeys, SwitchPKeys uint16 // entries: of end ports, of external ports
	Port0PKeys         uint16 // entries of port 0
	EnforcePKeys       bool
	VLArbCap           uint8
}

// IBSim is what ibsim's nodes say.
func IBSim() Profile {
	return Profile{
		CapCA: 0x0050c048, CapSwitch: 0xc048, MTU: mad.MTU2048, VLs: mad.VL0to7, Width: mad.Width4X, Speed: mad.SpeedSDR,
		LFTCap: 0x7800, MCastCap: 0x400, PKeys: 64, SwitchPKeys: 64, Port0PKeys: 8, VLArbCap: 8,
	}
}

// EDR is a fabric of 100 Gb/s.
func EDR() Profile {
	return Profile{
		CapCA: 0x02514868, CapSwitch: mad.CapTrap | mad.CapSLMapping | mad.CapExtendedSpeeds | mad.CapMulticastFDBTop, MTU: mad.MTU4096,
		VLs: mad.VL0to7, Width: mad.Width4X, Speed: mad.SpeedQDR, SpeedExt: mad.SpeedEDR,
		LFTCap: 0xc000, MCastCap: 4096, PKeys: 128, SwitchPKeys: 32, Port0PKeys: 32, EnforcePKeys: true, VLArbCap: 8,
	}
}

// Add adds a node. Ports of a channel adapter have the GUIDs after the node's.
func (f *Fabric) Add(t mad.NodeType, name string, guid wire.GUID, ports int, pr *Profile) *Node {
	n := &Node{Name: name, Type: t, f: f, index: len(f.Nodes), Ports: make([]*Port, ports+1)}
	n.Info = mad.NodeInfo{BaseVersion: 1, ClassVersion: 1, NodeType: t, NumPorts: uint8(ports), SystemImageGUID: guid,
		NodeGUID: guid, PartitionCap: pr.PKeys, Revision: 0xa1}
	n.Desc.SetString(name)
	if t == mad.NodeSwitch {
		n.Info.PartitionCap = pr.Port0PKeys
		n.SI = mad.SwitchInfo{LinearFDBCap: pr.LFTCap, MulticastFDBCap: pr.MCastCap, PartitionEnforcementCap: pr.SwitchPKeys,
			InboundEnforcementCap: pr.EnforcePKeys, OutboundEnforcementCap: pr.EnforcePKeys, LifeTimeValue: 0}
		n.MFT, n.SL2VL = map[uint32]mad.MulticastForwarding{}, map[uint32]mad.SLtoVL{}
	} else {
		n.SL2VL = map[uint32]mad.SLtoVL{}
	}
	for i := range n.Ports {
		if i == 0 && t != mad.NodeSwitch {
			continue
		}
		p := &Port{Node: n, Num: uint8(i), GUID: guid + wire.GUID(i)}
		if t == mad.NodeSwitch {
			p.GUID = guid
		}
		p.Info = mad.PortInfo{
			LinkWidthEnabled: pr.Width, LinkWidthSupported: pr.Width | mad.Width1X, LinkWidthActive: pr.Width,
			LinkSpeedSupported: 7, LinkSpeedActive: pr.Speed, LinkSpeedEnabled: pr.Speed,
			LinkSpeedExtActive: pr.SpeedExt, LinkSpeedExtSupported: pr.SpeedExt, LinkSpeedExtEnabled: pr.SpeedExt,
			PortState: mad.PortDown, PortPhysicalState: mad.PhysPolling, LinkDownDefaultState: mad.PhysPolling,
			NeighborMTU: pr.MTU, MTUCap: pr.MTU, VLCap: pr.VLs, OperationalVLs: pr.VLs,
			VLArbitrationHighCap: pr.VLArbCap, VLArbitrationLowCap: pr.VLArbCap,
		}
		entries := pr.PKeys
		switch {
		case t != mad.NodeSwitch:
			p.Info.CapabilityMask, p.Info.SubnetTimeOut, p.Info.GUIDCap = pr.CapCA, 31, 32
		case i == 0:
			entries = pr.Port0PKeys
			p.Info.CapabilityMask, p.Info.SubnetTimeOut, p.Info.GUIDCap = pr.CapSwitch, 31, 8
			p.Info.PortState, p.Info.PortPhysicalState, p.Info.NeighborMTU, p.Info.VLCap = mad.PortActive, mad.PhysLinkUp, mad.MTU256, mad.VL0
			p.Info.MTUCap = min(pr.MTU, mad.MTU1024) // as ibsim has it
		default:
			entries = pr.SwitchPKeys
		}
		p.PKeys = make([]uint16, (entries+31)/32*32)
		if len(p.PKeys) > 0 {
			p.PKeys[0] = 0xffff
		}
		n.Ports[i] = p
	}
	f.Nodes = append(f.Nodes, n)
	f.byName[name] = n
	return n
}

// Port returns the port of a number, or nil.
func (n *Node) Port(num uint8) *Port {
	if int(num) < len(n.Ports) {
		return n.Ports[num]
	}
	return nil
}

// Reboot makes a node forget what was set in it, and its links train anew.
func (n *Node) Reboot() {
	n.LFT, n.MFT, n.SL2VL = nil, map[uint32]mad.MulticastForwarding{}, map[uint32]mad.SLtoVL{}
	n.SI.LinearFDBTop, n.SI.LifeTimeValue, n.SI.MulticastFDBTop, n.traps = 0, 0, 0, nil
	for _, p := range n.Ports {
		if p == nil {
			continue
		}
		p.Info.LID, p.Info.MasterSMLID, p.Info.LMC, p.Info.GIDPrefix, p.Info.SubnetTimeOut = 0, 0, 0, 0, 31
		clear(p.PKeys)
		p.PKeys[0] = 0xffff
		if o := p.Peer; o != nil && p.up() {
			p.setState(mad.PortDown)
			o.setState(mad.PortDown)
			p.setState(mad.PortInit)
			o.setState(mad.PortInit)
		}
	}
}

func (p *Port) up() bool { return p.Peer != nil && p.Info.PortState > mad.PortDown }

// open tells whether the port sends: data only while it is active.
func (p *Port) open(data bool) bool {
	return p.up() && (!data || p.Info.PortState == mad.PortActive && p.Peer.Info.PortState >= mad.PortArmed)
}

func (p *Port) lid() wire.LID {
	if p.Node.Type == mad.NodeSwitch {
		return p.Node.Ports[0].Info.LID
	}
	return p.Info.LID
}

func (p *Port) has(l wire.LID) bool {
	return p.Info.LID != 0 && l>>p.Info.LMC == p.Info.LID>>p.Info.LMC
}

// forward is the port to which a switch forwards a unicast LID, 0 for its own.
func (n *Node) forward(l wire.LID) (uint8, bool) {
	if n.Ports[0].has(l) {
		return 0, true
	}
	if !l.Unicast() || uint16(l) > n.SI.LinearFDBTop || int(l) >= len(n.LFT) || n.LFT[l] == 0xff {
		return 0, false
	}
	return n.LFT[l], true
}

package ibagent

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire/mad"
)

// subnet handles an SMP that is for this node, its hops over (IBTA vol. 1
// §14.3).
func (a *Agent) subnet(f *frame.Frame, s mad.SMP) {
	m := s.Packet()
	switch m.Method() {
	case mad.MethodGet, mad.MethodSet:
	case mad.MethodTrapRepress:
		if !a.repress(m) {
			a.toClient(f)
			return
		}
		a.pool.Put(f)
		return
	default: // responses and traps, for a subnet manager
		if m.Method().IsResponse() || m.Method() == mad.MethodTrap {
			a.toClient(f)
		} else {
			a.respond(f, s, mad.StatusBadMethod)
		}
		return
	}
	p := a.agentPort(f)
	if p == nil {
		a.discard(f)
		return
	}
	if m.ClassVersion() != 1 {
		a.respond(f, s, mad.StatusBadVersion)
		return
	}
	if m.Attr() == mad.AttrSMInfo && a.client != nil && p.CapMask()&mad.CapIsSM != 0 {
		a.client.ReceiveMAD(int(f.Meta.InPort), f)
		return
	}
	ok, show := a.checkMKey(p, f, s)
	if !ok {
		a.discard(f)
		return
	}
	a.respond(f, s, a.attribute(s, int(f.Meta.InPort), show))
}

// attribute does what a Get or Set asks, in the data of s.
func (a *Agent) attribute(s mad.SMP, in int, show bool) mad.Status {
	m := s.Packet()
	set, mod, d := m.Method() == mad.MethodSet, m.Modifier(), s.Data()
	switch m.Attr() {
	case mad.AttrNodeDescription:
		return a.nodeDescription(set, d)
	case mad.AttrNodeInfo:
		if set {
			return mad.StatusBadMethodAttr
		}
		a.nodeInfo(in, d)
		return mad.StatusOK
	case mad.AttrSwitchInfo:
		return a.switchInfo(set, d)
	case mad.AttrGUIDInfo:
		return a.guidInfo(a.endPort(in), set, int(mod), d)
	case mad.AttrPortInfo:
		return a.portInfo(set, int(mod&0xff), in, d, show)
	case mad.AttrPKeyTable:
		return a.pkeyTable(set, mod, in, d)
	case mad.AttrSLtoVL:
		return a.slToVL(set, mod, in, d)
	case mad.AttrVLArbitration:
		return a.vlArb(set, mod, in, d)
	case mad.AttrLinearForwarding:
		return a.lft(set, mod, d)
	case mad.AttrMulticastForwarding:
		return a.mft(set, mod, d)
	}
	return mad.StatusBadMethodAttr
}

// endPort is the port that has a node's end settings.
func (a *Agent) endPort(in int) *ibport.Port {
	if a.cfg.Switch != nil {
		in = 0
	}
	return a.node.Port(in)
}

func (a *Agent) nodeDescription(set bool, d []byte) mad.Status {
	if set {
		if p := a.endPort(1); p == nil || p.Info().CapabilityMask2&mad.Cap2SetNodeDescription == 0 {
			return mad.StatusBadMethodAttr
		}
		mad.Decode(&a.desc, d)
		a.changed(mad.TrapChangeData{OtherLocalChanges: true, ChangeFlags: 1})
	}
	mad.Encode(&a.desc, d)
	return mad.StatusOK
}

func (a *Agent) nodeInfo(in int, d []byte) {
	n := a.cfg.Info
	n.BaseVersion, n.ClassVersion = mad.BaseVersion, 1
	n.LocalPortNum = uint8(in)
	n.PortGUID = n.NodeGUID
	if p := a.node.Port(in); p != nil && a.cfg.Switch == nil {
		n.PortGUID = p.GUID()
	}
	mad.Encode(&n, d)
}

func (a *Agent) guidInfo(p *ibport.Port, set bool, block int, d []byte) mad.Status {
	var g mad.GUIDInfo
	if p == nil || !p.GUIDBlock(block, &g) {
		return mad.StatusInvalidField
	}
	if set {
		mad.Decode(&g, d)
		p.SetGUIDBlock(block, &g)
		p.GUIDBlock(block, &g)
	}
	mad.Encode(&g, d)
	return mad.StatusOK
}

// portInfo answers for a port. Bit 31 of the modifier, by which a manager says
// that it knows extended speeds, is not part of the number.
func (a *Agent) portInfo(set bool, n, in int, d []byte, show bool) mad.Status {
	if a.cfg.Switch == nil && n == 0 {
		n = in
	}
	p := a.node.Port(n)
	if p == nil {
		return mad.StatusInvalidField
	}
	st := mad.StatusOK
	if set {
		var i mad.PortInfo
		mad.Decode(&i, d)
		st = p.Set(&i)
	}
	i := p.Info()
	i.LocalPortNum = uint8(in)
	switch {
	case a.cfg.Switch != nil && n != 0: // what only port 0 has
		i.MKey, i.GIDPrefix, i.LID, i.MasterSMLID, i.MKeyProtectBits, i.LMC, i.MasterSMSL = 0, 0, 0, 0, 0, 0, 0
		i.CapabilityMask, i.MKeyLeasePeriod, i.GUIDCap, i.SubnetTimeOut = 0, 0, 0, 0
	case !show:
		i.MKey = 0
	}
	mad.Encode(&i, d)
	return st
}

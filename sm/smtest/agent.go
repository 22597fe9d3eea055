package smtest

import (
	"cnuas/internal/wire/mad"
)

// agent takes a MAD of subnet management that arrived at the node.
func (n *Node) agent(p *packet) {
	s := p.d.SMP()
	pk := s.Packet()
	port := n.Port(p.in)
	if n.Type == mad.NodeSwitch {
		port = n.Ports[0]
	}
	if port == nil || n.Dead {
		return
	}
	e := port.endpoint
	switch m := pk.Method(); {
	case m == mad.MethodTrapRepress:
		n.repressed(pk.TID())
		return
	case m == mad.MethodTrap, m.IsResponse():
		if e != nil && e.SMP != nil {
			e.SMP(&p.d)
		}
		return
	case pk.Attr() == mad.AttrSMInfo && port.Info.CapabilityMask&mad.CapIsSM != 0:
		if e != nil && e.SMP != nil {
			e.SMP(&p.d)
		}
		return
	case m != mad.MethodGet && m != mad.MethodSet:
		return
	}
	if !n.mayManage(port, s) {
		return
	}
	st := n.attribute(port, p.in, s)
	if s.Directed() {
		s.Respond(st)
	} else {
		pk.SetMethod(mad.MethodGetResp)
		pk.SetStatus(st)
		p.d.SLID, p.d.DLID = port.Info.LID, p.d.SLID
	}
	n.f.send(port, &p.d)
}

// mayManage checks the M_Key (IBTA vol. 1 §14.2.4).
func (n *Node) mayManage(p *Port, s mad.SMP) bool {
	if p.Info.MKey == 0 || s.MKey() == p.Info.MKey {
		return true
	}
	if s.Packet().Method() == mad.MethodGet && p.Info.MKeyProtectBits < 2 {
		return true
	}
	p.Info.MKeyViolations++
	var d mad.Notice
	mad.Encode(&mad.TrapMKeyData{LID: p.lid(), Method: s.Packet().Method(), AttributeID: s.Packet().Attr(),
		AttributeModifier: s.Packet().Modifier(), MKey: s.MKey()}, d.DataDetails[:])
	n.Trap(p, mad.TrapBadMKey, &d)
	return false
}

// attribute does a Get or Set in place.
func (n *Node) attribute(port *Port, in uint8, s mad.SMP) mad.Status {
	pk, data := s.Packet(), s.Data()
	mod, set := pk.Modifier(), pk.Method() == mad.MethodSet
	sw := n.Type == mad.NodeSwitch
	switch pk.Attr() {
	case mad.AttrNodeInfo:
		ni := n.Info
		ni.LocalPortNum, ni.PortGUID = in, port.GUID
		mad.Encode(&ni, data)
	case mad.AttrNodeDescription:
		mad.Encode(&n.Desc, data)
	case mad.AttrPortInfo:
		return n.portInfo(port, in, s)
	case mad.AttrSwitchInfo:
		if !sw {
			return mad.StatusBadMethodAttr
		}
		if set {
			n.setSwitchInfo(data)
		}
		mad.Encode(&n.SI, data)
	case mad.AttrGUIDInfo:
		if mod*8 >= uint32(port.Info.GUIDCap) {
			return mad.StatusInvalidField
		}
		var g mad.GUIDInfo
		if mod == 0 {
			g.GUID[0] = port.GUID
		}
		mad.Encode(&g, data)
	case mad.AttrPKeyTable:
		return n.pkeys(port, s)
	case mad.AttrSLtoVL:
		var v mad.SLtoVL
		if set {
			mad.Decode(&v, data)
			n.SL2VL[mod] = v
		}
		v = n.SL2VL[mod]
		clear(data)
		mad.Encode(&v, data)
	case mad.AttrVLArbitration:
		p, b := port, mod>>16
		if sw {
			p = n.Port(uint8(mod))
		}
		if p == nil || b < 1 || b > 4 {
			return mad.StatusInvalidField
		}
		if set {
			mad.Decode(&p.VLArb[b], data)
		}
		mad.Encode(&p.VLArb[b], data)
	case mad.AttrLinearForwarding, mad.AttrMulticastForwarding:
		if !sw {
			return mad.StatusBadMethodAttr
		}
		return n.tables(s)
	default:
		return mad.StatusBadMethodAttr
	}
	return mad.StatusOK
}

func (n *Node) setSwitchInfo(data []byte) {
	var si mad.SwitchInfo
	mad.Decode(&si, data)
	n.SI.LinearFDBTop = min(si.LinearFDBTop, n.SI.LinearFDBCap-1)
	n.SI.LifeTimeValue, n.SI.DefaultPort = si.LifeTimeValue, si.DefaultPort
	n.SI.MulticastFDBTop = si.MulticastFDBTop
	if si.PortStateChange {
		n.SI.PortStateChange = false
	}
}

func (n *Node) pkeys(port *Port, s mad.SMP) mad.Status {
	mod := s.Packet().Modifier()
	p := port
	if n.Type == mad.NodeSwitch {
		p = n.Port(uint8(mod >> 16))
	}
	b := int(mod & 0xffff)
	if p == nil || 32*b >= len(p.PKeys) {
		return mad.StatusInvalidField
	}
	var t mad.PKeyTable
	if s.Packet().Method() == mad.MethodSet {
		mad.Decode(&t, s.Data())
		copy(p.PKeys[32*b:], t.PKey[:])
	}
	copy(t.PKey[:], p.PKeys[32*b:])
	mad.Encode(&t, s.Data())
	return mad.StatusOK
}

func (n *Node) tables(s mad.SMP) mad.Status {
	mod, data, set := s.Packet().Modifier(), s.Data(), s.Packet().Method() == mad.MethodSet
	if s.Packet().Attr() == mad.AttrMulticastForwarding {
		if 32*(mod&0x1ff) >= uint32(n.SI.MulticastFDBCap) || mod>>28 > uint32(n.Info.NumPorts)/16 {
			return mad.StatusInvalidField
		}
		var t mad.MulticastForwarding
		if set {
			mad.Decode(&t, data)
			n.MFT[mod] = t
		}
		t = n.MFT[mod]
		mad.Encode(&t, data)
		return mad.StatusOK
	}
	if 64*mod >= uint32(n.SI.LinearFDBCap) {
		return mad.StatusInvalidField
	}
	for len(n.LFT) < int(64*mod)+64 {
		n.LFT = append(n.LFT, 0xff)
	}
	if set {
		copy(n.LFT[64*mod:], data)
	}
	copy(data, n.LFT[64*mod:64*mod+64])
	return mad.StatusOK
}

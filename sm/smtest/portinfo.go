package smtest

import (
	"cnuas/internal/wire/mad"
)

// portInfo does a Get or Set of PortInfo (IBTA vol. 1 §14.2.5.6).
func (n *Node) portInfo(port *Port, in uint8, s mad.SMP) mad.Status {
	num := uint8(s.Packet().Modifier())
	p := port
	switch {
	case n.Type == mad.NodeSwitch:
		p = n.Port(num)
	case num != 0:
		p = n.Port(num)
	}
	if p == nil {
		return mad.StatusInvalidField
	}
	st := mad.StatusOK
	if s.Packet().Method() == mad.MethodSet {
		var pi mad.PortInfo
		mad.Decode(&pi, s.Data())
		st = p.set(&pi)
	}
	pi := p.Info
	pi.LocalPortNum = in
	mad.Encode(&pi, s.Data())
	return st
}

// set sets what a subnet manager may, all or nothing.
func (p *Port) set(v *mad.PortInfo) mad.Status {
	pi := p.Info
	if p.Num == 0 || p.Node.Type != mad.NodeSwitch {
		if v.LID != 0 && !v.LID.Unicast() || v.LMC > 7 {
			return mad.StatusInvalidField
		}
		pi.LID, pi.LMC, pi.MasterSMLID, pi.MasterSMSL, pi.GIDPrefix = v.LID, v.LMC, v.MasterSMLID, v.MasterSMSL, v.GIDPrefix
		pi.MKey, pi.MKeyProtectBits, pi.MKeyLeasePeriod, pi.SubnetTimeOut = v.MKey, v.MKeyProtectBits, v.MKeyLeasePeriod, v.SubnetTimeOut
	}
	if v.NeighborMTU > pi.MTUCap || v.OperationalVLs > pi.VLCap {
		if p.Num != 0 || p.Node.Type != mad.NodeSwitch {
			return mad.StatusInvalidField
		}
	}
	pi.NeighborMTU, pi.VLStallCount, pi.HOQLife, pi.VLHighLimit = v.NeighborMTU, v.VLStallCount, v.HOQLife, v.VLHighLimit
	if v.OperationalVLs != 0 {
		pi.OperationalVLs = v.OperationalVLs
	}
	pi.PartitionEnforcementInbound, pi.PartitionEnforcementOutbound = v.PartitionEnforcementInbound, v.PartitionEnforcementOutbound
	if v.LinkWidthEnabled != 0 {
		pi.LinkWidthEnabled = v.LinkWidthEnabled
	}
	switch v.PortState {
	case mad.PortNoChange:
	case mad.PortArmed:
		if pi.PortState != mad.PortInit && pi.PortState != mad.PortArmed {
			return mad.StatusInvalidField
		}
		pi.PortState = mad.PortArmed
	case mad.PortActive:
		if pi.PortState != mad.PortArmed && pi.PortState != mad.PortActive {
			return mad.StatusInvalidField
		}
		pi.PortState = mad.PortActive
	case mad.PortDown:
		if p.up() { // trains again at once
			p.Info = pi
			o := p.Peer
			p.setState(mad.PortDown)
			o.setState(mad.PortDown)
			p.setState(mad.PortInit)
			o.setState(mad.PortInit)
			return mad.StatusOK
		}
	default:
		return mad.StatusInvalidField
	}
	p.Info = pi
	if v.ClientReregister {
		p.Reregister++
		if e := p.endpoint; e != nil && e.Reregistered != nil {
			e.Reregistered()
		}
	}
	return mad.StatusOK
}

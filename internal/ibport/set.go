package ibport

import (
	"cnuas/internal/wire/mad"
)

// Set does what a SubnSet of PortInfo asks (IBTA vol. 1 §14.2.5.6). Read-only
// components are ignored; if one of the others is invalid nothing is changed
// and the status says so. Of an external port of a switch LID, M_Key and the like
// mean nothing and are ignored.
func (p *Port) Set(a *mad.PortInfo) mad.Status {
	if !p.validSet(a) {
		return mad.StatusInvalidField
	}
	s := &p.set
	if p.cfg.Node != mad.NodeSwitch || p.link == nil {
		p.setEnd(a)
	}
	if v := a.LinkWidthEnabled; v == mad.WidthAllSupported {
		s.widths = p.cfg.Widths
	} else if v != 0 {
		s.widths = v
	}
	if v := a.LinkSpeedEnabled; v == mad.SpeedAllSupported {
		s.speeds = p.cfg.Speeds
	} else if v != 0 {
		s.speeds = v
	}
	switch v := a.LinkSpeedExtEnabled; v {
	case 0:
	case mad.SpeedExtAllSupported:
		s.exts = p.cfg.SpeedsExt
	case mad.SpeedExtNone:
		s.exts = 0
	default:
		s.exts = v
	}
	if a.LinkDownDefaultState != 0 {
		s.downDefault = a.LinkDownDefaultState
	}
	if a.NeighborMTU != 0 {
		p.setMTU(a.NeighborMTU)
	}
	if a.OperationalVLs != 0 && a.OperationalVLs != s.operVLs {
		p.setVLs(a.OperationalVLs)
		p.owner.PortEvent(p, EventVLs)
	}
	p.arb.limit = a.VLHighLimit
	s.stallCount, s.hoqLife = a.VLStallCount, a.HOQLife
	s.pkeyIn, s.pkeyOut = a.PartitionEnforcementInbound, a.PartitionEnforcementOutbound
	s.filterIn, s.filterOut = a.FilterRawInbound, a.FilterRawOutbound
	s.phyErrors, s.overruns = a.LocalPhyErrors, a.OverrunErrors
	if p.link != nil {
		p.setStates(a)
	}
	return mad.StatusOK
}

// validSet checks what Set is going to write.
func (p *Port) validSet(a *mad.PortInfo) bool {
	c := &p.cfg
	switch {
	case a.LinkWidthEnabled != mad.WidthAllSupported && a.LinkWidthEnabled&^c.Widths != 0,
		a.LinkSpeedEnabled != mad.SpeedAllSupported && a.LinkSpeedEnabled&^c.Speeds != 0,
		a.LinkSpeedExtEnabled < mad.SpeedExtNone && a.LinkSpeedExtEnabled&^c.SpeedsExt != 0,
		a.LinkDownDefaultState > mad.PhysPolling,
		a.NeighborMTU > c.MTU,
		a.OperationalVLs > c.VLs,
		a.PortPhysicalState > mad.PhysDisabled:
		return false
	}
	if (c.Node != mad.NodeSwitch || p.link == nil) &&
		(a.LID != 0 && !a.LID.Unicast() || a.MasterSMLID != 0 && !a.MasterSMLID.Unicast()) {
		return false
	}
	if p.link == nil {
		return a.PortState != mad.PortInit && a.PortState <= mad.PortActive
	}
	return p.legal(a.PortState, a.PortPhysicalState)
}

// legal tells whether the states of a Set can be reached (IBTA vol. 1 §7.2.7,
// table of PortState). The physical state is set first, and one that is set
// takes the port down.
func (p *Port) legal(s mad.PortState, phys mad.PhysState) bool {
	now := p.state
	if phys != mad.PhysNoChange {
		now = mad.PortDown
	}
	switch s {
	case mad.PortNoChange, mad.PortDown:
		return true
	case mad.PortArmed:
		return now == mad.PortInit || now == mad.PortArmed
	case mad.PortActive:
		return now == mad.PortArmed || now == mad.PortActive
	}
	return false
}

func (p *Port) setStates(a *mad.PortInfo) {
	if a.PortPhysicalState != mad.PhysNoChange {
		if u := p.phys.state; u == mad.PhysLinkUp || u == mad.PhysRecovery {
			p.count.linkDowned++
		}
		p.enter(a.PortPhysicalState)
	}
	switch a.PortState {
	case mad.PortDown:
		if a.PortPhysicalState == mad.PhysNoChange {
			p.Down()
		}
	case mad.PortArmed:
		p.arm()
	case mad.PortActive:
		p.activate()
	}
}

// setEnd writes what only an end of paths has.
func (p *Port) setEnd(a *mad.PortInfo) {
	s := &p.set
	s.mkey, s.mkeyProtect, s.mkeyLease = a.MKey, a.MKeyProtectBits, a.MKeyLeasePeriod
	if a.GIDPrefix != 0 && a.GIDPrefix != s.prefix {
		s.prefix = a.GIDPrefix
		p.owner.PortEvent(p, EventGUIDs)
	}
	lid := a.LID != s.lid || a.LMC != s.lmc
	sm := a.MasterSMLID != s.smLID || a.MasterSMSL != s.smSL
	s.lid, s.lmc, s.smLID, s.smSL = a.LID, a.LMC, a.MasterSMLID, a.MasterSMSL
	s.subnetTime, s.mcastPKey = a.SubnetTimeOut, a.McastPKeyTrapSuppression
	s.mkeyViolations = cleared(s.mkeyViolations, a.MKeyViolations)
	s.pkeyViolations = cleared(s.pkeyViolations, a.PKeyViolations)
	s.qkeyViolations = cleared(s.qkeyViolations, a.QKeyViolations)
	s.reregister = a.ClientReregister
	if lid {
		p.owner.PortEvent(p, EventLID)
	}
	if sm {
		p.owner.PortEvent(p, EventSM)
	}
	if a.ClientReregister {
		p.owner.PortEvent(p, EventReregister)
	}
}

// cleared is a violation counter after a Set: 0 clears it, anything else leaves
// it alone.
func cleared(v, set uint16) uint16 {
	if set == 0 {
		return 0
	}
	return v
}

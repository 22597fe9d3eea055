package sm

import (
	"cnuas/internal/wire/mad"
)

// prepare programs what has to be there before routes: it clears
// PortStateChange, so that what changes from now on is seen, and sets P_Key
// tables, LIDs and the settings of ports.
func (m *Manager) prepare() {
	m.inherit()
	for _, n := range m.work.Nodes {
		if n.IsSwitch() && n.Switch.known && n.Switch.Info.PortStateChange {
			si := n.Switch.Info // with PortStateChange: a Set of 1 clears it
			m.set(n, nil, mad.AttrSwitchInfo, 0, &si, (*Manager).didClear)
		}
	}
	m.assignLIDs()
	m.members()
	for _, n := range m.work.Nodes {
		for _, p := range n.Ports {
			if p == nil || !p.known {
				continue
			}
			m.programPKeys(p)
			m.configure(p)
		}
	}
}

// inherit takes over what the sweep before has programmed in switches that
// still are as they were left, so that it is not sent again.
func (m *Manager) inherit() {
	if m.sub == nil {
		return
	}
	for _, n := range m.work.Nodes {
		o := m.sub.byGUID[n.Info.NodeGUID]
		if o == nil || o.IsSwitch() != n.IsSwitch() {
			continue
		}
		for i, p := range n.Ports {
			if q := o.Port(uint8(i)); p != nil && q != nil && !q.failed {
				p.sl2vl, p.vlarb = q.sl2vl, q.vlarb
			}
		}
		if !n.IsSwitch() {
			if p, q := n.Port(n.entered), o.Port(n.entered); p != nil && q != nil && p.Info.LID != q.LID {
				p.sl2vl, p.vlarb = nil, nil
			}
			continue
		}
		// A switch that began anew has lost its LID or its tables' extent.
		if n.Switch.Info.LinearFDBTop == o.Switch.Info.LinearFDBTop && n.Ports[0].Info.LID == o.Ports[0].LID {
			n.Switch.LFT, n.Switch.valid, n.Switch.mft = o.Switch.LFT, o.Switch.valid, o.Switch.mft
			continue
		}
		for _, p := range n.Ports {
			p.sl2vl, p.vlarb = nil, nil
		}
	}
}

func (m *Manager) didSwitchInfo(q *request, r *reply) {
	if !r.good() || !mad.Decode(&q.node.Switch.Info, r.data) {
		m.fail("route %s: SwitchInfo cannot be set", drPath(q.path))
	}
}

// didClear takes the answer to the Set that cleared PortStateChange. What
// happened at a port between the reading of its PortInfo and this told nobody:
// ports that were down, or active, are asked once more. Those between, the
// manager is about to move itself.
func (m *Manager) didClear(q *request, r *reply) {
	m.didSwitchInfo(q, r)
	if !r.good() {
		return
	}
	for _, p := range q.node.Ports[1:] {
		if p.known && (p.Info.PortState <= mad.PortDown || p.Info.PortState == mad.PortActive) {
			m.get(q.node, p, mad.AttrPortInfo, uint32(p.Num), (*Manager).gotSame).arg = int(p.Info.PortState)
		}
	}
}

func (m *Manager) gotSame(q *request, r *reply) {
	var pi mad.PortInfo
	if !r.good() || !mad.Decode(&pi, r.data) || int(pi.PortState) != q.arg {
		m.sweep.again = true
	}
}

// wanted is what PortInfo of a port is to be, whatever it says now of what the
// manager decides (IBTA vol. 1 §14.2.5.6).
func (m *Manager) wanted(p *Port) mad.PortInfo {
	pi := p.Info
	c := &m.cfg
	if p.IsEnd() {
		pi.LID, pi.LMC, pi.GIDPrefix = p.LID, p.LMC, c.Prefix
		pi.MKey, pi.MKeyProtectBits, pi.MKeyLeasePeriod = c.MKey, c.MKeyBits, c.MKeyLease
		if self := m.work.Self(); self != nil {
			pi.MasterSMLID = self.LID
		}
		pi.MasterSMSL, pi.SubnetTimeOut = c.MasterSL, c.SubnetTimeout
	}
	if p.Linked() && p.Num != 0 {
		m.configureLink(p, &pi)
	}
	pi.ClientReregister = false
	return pi
}

// configure sets in a port what is not as it should be.
func (m *Manager) configure(p *Port) {
	if p.IsEnd() && p.LID == 0 {
		return
	}
	pi := m.wanted(p)
	same := pi == clean(p.Info)
	did := (*Manager).didPortInfo
	if p.owed = m.forgot(p); p.owed {
		pi.ClientReregister, same, did = true, false, (*Manager).didReregister
	}
	if same {
		return
	}
	pi.PortState, pi.PortPhysicalState = mad.PortNoChange, mad.PhysNoChange
	m.set(p.Node, p, mad.AttrPortInfo, m.portMod(p), &pi, did).path = m.pathOf(p)
}

// forgot tells whether a port's clients have to register anew: subnet
// administration begins when the manager becomes master, and forgets ports that
// are out of reach. Those may return with their own link Active all the time.
func (m *Manager) forgot(p *Port) bool {
	if !p.IsEnd() || p.Node.IsSwitch() || p.Info.CapabilityMask&mad.CapClientReregistration == 0 {
		return false
	}
	if m.fresh || m.sub == nil || p.Info.PortState == mad.PortInit {
		return true
	}
	before := m.sub.byPort[p.GUID]
	return before == nil || before.owed
}

func (m *Manager) didReregister(q *request, r *reply) {
	m.didPortInfo(q, r)
	q.port.owed = !r.good()
}

// clean is pi without what a Get cannot tell.
func clean(pi mad.PortInfo) mad.PortInfo {
	pi.ClientReregister = false
	return pi
}

// configureLink sets what both ends of a link have to agree in, and how long
// packets may wait at it.
func (m *Manager) configureLink(p *Port, pi *mad.PortInfo) {
	c, peer := &m.cfg, &p.Peer.Info
	if mtu := min(p.Info.MTUCap, peer.MTUCap); mtu != 0 {
		pi.NeighborMTU = mtu
	}
	if vls := min(p.Info.VLCap, peer.VLCap, c.MaxVLs); vls != 0 {
		pi.OperationalVLs = vls
	}
	pi.VLStallCount = c.VLStall
	if c.QoS != nil {
		pi.VLHighLimit = c.QoS.HighLimit
	}
	if !p.Node.IsSwitch() {
		return
	}
	pi.HOQLife = c.HOQLife
	if !p.Peer.Node.IsSwitch() {
		pi.HOQLife = c.LeafHOQLife
		si := &p.Node.Switch.Info
		pi.PartitionEnforcementInbound = si.InboundEnforcementCap
		pi.PartitionEnforcementOutbound = si.OutboundEnforcementCap
	}
}

// portMod is the AttributeModifier for a Set of PortInfo: bit 31 says that the
// manager knows extended speeds, which an agent without them ignores.
func (m *Manager) portMod(p *Port) uint32 {
	if p.Info.CapabilityMask&mad.CapExtendedSpeeds != 0 || p.Info.LinkSpeedExtSupported != 0 {
		return uint32(p.Num) | 1<<31
	}
	return uint32(p.Num)
}

// pathOf is the route to a port: the one to its node, but to the second port of
// an end node the one to that port.
func (m *Manager) pathOf(p *Port) []uint8 {
	n := p.Node
	if n.IsSwitch() || p.Num == n.entered || p.Peer == nil || len(p.Peer.Node.Path) >= mad.MaxHops {
		return n.Path
	}
	return p.Peer.pathTo()
}

func (m *Manager) didPortInfo(q *request, r *reply) {
	var pi mad.PortInfo
	if !r.good() || !mad.Decode(&pi, r.data) {
		q.port.failed = true
		if end := q.port.End(); !r.ok && end.foreign(m.cfg.MKey) {
			m.fail("route %s: PortInfo of port %d cannot be set (no answer; %v has the M_Key of another)", drPath(q.path), q.port.Num, end.GUID)
			return
		}
		m.fail("route %s: PortInfo of port %d cannot be set (%v)", drPath(q.path), q.port.Num, why(r))
		return
	}
	q.port.Info = clean(pi)
}

// foreign tells whether an end port has an M_Key that is not the given one. At
// protect level 1 a port does not show its key to who has not got it (IBTA
// vol. 1 §14.2.4).
func (p *Port) foreign(key uint64) bool {
	i := &p.Info
	return p.known && i.MKey != key && (i.MKey != 0 || i.MKeyProtectBits != 0)
}

// why says what was wrong with a reply.
func why(r *reply) string {
	if !r.ok {
		return "no answer"
	}
	return r.status.String()
}

// moveLinks sets the state of every port that has a link and is in the state
// before. Both ends of a link are set in the same phase, those between switches
// first: an end port asks for groups and paths as soon as it is Active, and what
// it sends is dropped where a link on the way is only Armed.
func (m *Manager) moveLinks(to mad.PortState) {
	for _, inside := range []bool{true, false} {
		for _, n := range m.work.Nodes {
			for _, p := range n.Ports {
				if p == nil || p.Num == 0 || !p.Linked() || p.failed || p.Info.PortState != to-1 || p.IsEnd() && p.LID == 0 {
					continue
				}
				if (n.IsSwitch() && p.Peer.Node.IsSwitch()) != inside {
					continue
				}
				pi := m.wanted(p)
				pi.PortState, pi.PortPhysicalState = to, mad.PhysNoChange
				q := m.set(n, p, mad.AttrPortInfo, m.portMod(p), &pi, (*Manager).movedLink)
				q.path, q.arg = m.pathOf(p), int(to)
			}
		}
	}
}

func (m *Manager) movedLink(q *request, r *reply) {
	m.didPortInfo(q, r)
	if r.good() && q.port.Info.PortState < mad.PortState(q.arg) {
		m.fail("route %s: port %d is %v and not %v", drPath(q.path), q.port.Num, q.port.Info.PortState, mad.PortState(q.arg))
	}
}

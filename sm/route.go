package sm

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm/route"
)

// routes is the subnet in work as the routing engines want it. Only links of
// which both ends are known and not down are in it.
func (m *Manager) routes() *route.Subnet {
	w, s := m.work, &route.Subnet{}
	w.fabric, w.switches = s, nil
	for _, n := range w.Nodes {
		if n.IsSwitch() {
			w.switches = append(w.switches, n)
			n.index = s.AddSwitch(uint64(n.Info.NodeGUID), uint16(n.Ports[0].LID), n.Ports[0].LMC, int(n.Info.NumPorts))
		}
	}
	for _, n := range w.Nodes {
		for _, p := range n.Ports {
			if p == nil || p.Num == 0 && n.IsSwitch() {
				continue
			}
			if !n.IsSwitch() {
				e := s.AddEnd(uint64(p.GUID), uint16(p.LID), p.LMC)
				p.end = int32(e)
				if p.Linked() && p.Peer.Linked() && p.Peer.Node.IsSwitch() {
					s.JoinEnd(e, p.Peer.Node.index, int(p.Peer.Num), rateOf(p))
				}
			} else if p.Linked() && p.Peer.Linked() && p.Peer.Node.IsSwitch() && !s.Link(n.index, int(p.Num)).Up() {
				s.JoinSwitches(n.index, int(p.Num), p.Peer.Node.index, int(p.Peer.Num), rateOf(p))
			}
		}
	}
	return s
}

func rateOf(p *Port) uint32 {
	return route.LinkRate(uint8(p.Info.LinkWidthActive), uint8(p.Info.LinkSpeedActive), uint8(p.Info.LinkSpeedExtActive))
}

// route computes the forwarding tables and sends what changed of them.
func (m *Manager) route() {
	m.compute()
	w := m.work
	if w.tables != nil {
		for _, n := range w.Nodes {
			if n.IsSwitch() && n.Switch.known {
				m.programSwitch(n)
			}
		}
	}
	m.programQoS()
	m.programMulticast(w)
}

// compute runs the routing engine, and minhop if it refuses.
func (m *Manager) compute() {
	w, s := m.work, m.routes()
	m.stats.Engine, w.fallback = string(m.cfg.Engine), ""
	if len(s.Switches) == 0 {
		return
	}
	t, err := route.Compute(m.cfg.Engine, s, m.options())
	if err != nil && !m.cfg.Strict && m.cfg.Engine != route.EngineMinHop {
		m.note("routing engine %s: %v; minhop does instead", m.cfg.Engine, err)
		m.stats.Engine, w.fallback = string(route.EngineMinHop), err.Error()
		t, err = route.MinHop(s, route.Options{})
	}
	if err != nil {
		m.fail("routing engine %s: %v", m.cfg.Engine, err)
		w.fallback = err.Error()
		return
	}
	for i, x := range t.Warnings {
		if i < 4 {
			m.note("routing engine %s: %s", m.stats.Engine, x)
		}
	}
	w.tables = t
}

func (m *Manager) options() (o route.Options) {
	for _, g := range m.cfg.Roots {
		if n := m.work.byGUID[g]; n != nil && n.IsSwitch() {
			o.Roots = append(o.Roots, n.index)
		}
	}
	for _, n := range m.work.Nodes {
		for _, p := range n.Ports {
			if p != nil && n.IsSwitch() && p.Num != 0 && p.Linked() && p.Peer.Node.IsSwitch() {
				if vls := min(p.Info.VLCap, p.Peer.Info.VLCap, m.cfg.MaxVLs).Count(); o.VLs == 0 || vls < o.VLs {
					o.VLs = vls
				}
			}
		}
	}
	return o
}

// programSwitch sets what SwitchInfo says of the tables, then the blocks of the
// linear forwarding table that are not as wanted.
func (m *Manager) programSwitch(n *Node) {
	sw, t := n.Switch, m.work.tables
	si := sw.Info
	si.PortStateChange = false // a Set of 0 changes nothing
	top := min(t.TopLID, uint16(m.work.MaxLID))
	if si.LinearFDBCap != 0 && top >= si.LinearFDBCap {
		m.fail("%v forwards LIDs below %d, and the subnet has LID %d", n.Info.NodeGUID, si.LinearFDBCap, top)
		top = si.LinearFDBCap - 1
	}
	si.LinearFDBTop, si.LifeTimeValue = top, m.cfg.PacketLife
	if n.Ports[0].Info.CapabilityMask&mad.CapMulticastFDBTop != 0 {
		si.MulticastFDBTop = m.topMLID()
	}
	now := sw.Info
	now.PortStateChange = false
	if si != now {
		m.set(n, nil, mad.AttrSwitchInfo, 0, &si, (*Manager).didTop)
	}
	lft := t.LFT[n.index]
	blocks := int(top)/route.BlockSize + 1
	for len(sw.valid) < blocks {
		sw.valid = append(sw.valid, false)
		sw.LFT = append(sw.LFT, none[:]...)
	}
	sw.valid, sw.LFT = sw.valid[:blocks], sw.LFT[:blocks*route.BlockSize]
	for b := range blocks {
		want := lft[b*route.BlockSize : (b+1)*route.BlockSize]
		if sw.valid[b] && string(want) == string(sw.LFT[b*route.BlockSize:(b+1)*route.BlockSize]) {
			continue
		}
		sw.valid[b] = false
		q := m.get(n, nil, mad.AttrLinearForwarding, uint32(b), (*Manager).didLFT)
		q.method, q.arg = mad.MethodSet, b
		copy(q.data[:], want)
	}
}

var none = func() (b [route.BlockSize]uint8) {
	for i := range b {
		b[i] = route.NoRoute
	}
	return b
}()

// didTop takes the answer to a Set that did not mean PortStateChange: a change
// that it tells of leads to another sweep.
func (m *Manager) didTop(q *request, r *reply) {
	m.didSwitchInfo(q, r)
	if q.node.Switch.Info.PortStateChange {
		m.sweep.again = true
	}
}

func (m *Manager) didLFT(q *request, r *reply) {
	sw := q.node.Switch
	if !r.good() {
		m.fail("route %s: block %d of the forwarding table cannot be set (%v)", drPath(q.path), q.arg, why(r))
		return
	}
	copy(sw.LFT[q.arg*route.BlockSize:], q.data[:])
	sw.valid[q.arg] = true
}

// SL is the service level of packets from one end port to a LID.
func (s *Subnet) SL(src *Port, dlid wire.LID) uint8 {
	n := src.Node
	if !n.IsSwitch() {
		if src.Peer == nil || !src.Peer.Node.IsSwitch() {
			return 0
		}
		n = src.Peer.Node
	}
	if s.tables == nil || n.index < 0 || n.index >= len(s.tables.LFT) {
		return 0
	}
	return s.tables.SL(n.index, uint16(dlid))
}

// RoutesBySL tells whether service levels are the routing engine's to give.
func (s *Subnet) RoutesBySL() bool { return s.tables != nil && s.tables.VLs > 1 }

// NextPort is the port by which a switch forwards packets to a LID.
func (sw *Switch) NextPort(l wire.LID) (port uint8, ok bool) {
	if int(l) >= len(sw.LFT) || sw.LFT[l] == route.NoRoute {
		return 0, false
	}
	return sw.LFT[l], true
}

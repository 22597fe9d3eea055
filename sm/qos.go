package sm

import (
	"cnuas/internal/wire/mad"
	"cnuas/sm/route"
)

// QoS are the settings of virtual lanes: the same for all ports (IBTA vol. 1
// §7.6.6, §7.6.9).
type QoS struct {
	SL2VL     []uint8 // up to 16; lanes that a link has not are taken modulo. nil: what the routing engine needs
	High, Low []mad.VLArbEntry
	HighLimit uint8
}

// DefaultQoS has lane n for service level n, and equal weights.
func DefaultQoS() *QoS {
	q := &QoS{}
	for vl := range uint8(15) {
		q.Low = append(q.Low, mad.VLArbEntry{VL: vl, Weight: 4})
		w := uint8(0)
		if vl == 0 {
			w = 4
		}
		q.High = append(q.High, mad.VLArbEntry{VL: vl, Weight: w})
	}
	return q
}

// lanes of the data that a port's link has.
func (m *Manager) lanes(p *Port) int {
	return max(1, min(p.Info.VLCap, p.Peer.Info.VLCap, m.cfg.MaxVLs).Count())
}

// programQoS sets SL2VL and VL arbitration of the ports that have links.
func (m *Manager) programQoS() {
	if m.cfg.QoS == nil {
		if t := m.work.tables; t != nil && t.VLs > 1 {
			m.note("routing engine %s needs %d virtual lanes, and QoS is off", t.Engine, t.VLs)
		}
		return
	}
	for _, n := range m.work.Nodes {
		for _, p := range n.Ports {
			if p == nil || p.Num == 0 || !p.Linked() {
				continue
			}
			m.programSL2VL(p)
			m.programVLArb(p)
		}
	}
}

func (m *Manager) programSL2VL(p *Port) {
	if p.Info.CapabilityMask&mad.CapSLMapping == 0 && !p.Node.IsSwitch() || p.Info.VLCap <= mad.VL0 && !p.Node.IsSwitch() {
		return
	}
	var v mad.SLtoVL
	lanes := m.lanes(p)
	if t := m.work.tables; m.cfg.QoS.SL2VL == nil && t != nil {
		var err error
		if v.VL, err = t.SL2VL(lanes); err != nil {
			m.fail("port %d of %v: %v", p.Num, p.Node.Info.NodeGUID, err)
			return
		}
	} else {
		for sl := range v.VL {
			vl := sl
			if l := m.cfg.QoS.SL2VL; sl < len(l) {
				vl = int(l[sl])
			}
			v.VL[sl] = uint8(vl % lanes)
		}
	}
	if p.sl2vl == nil {
		p.sl2vl = map[uint8]mad.SLtoVL{}
	}
	in := 1 // of a CA: one table
	if p.Node.IsSwitch() {
		in = len(p.Node.Ports)
	}
	for i := range in {
		if have, ok := p.sl2vl[uint8(i)]; ok && have == v {
			continue
		}
		mod := uint32(0)
		if p.Node.IsSwitch() {
			mod = uint32(i)<<8 | uint32(p.Num)
		}
		delete(p.sl2vl, uint8(i))
		q := m.set(p.Node, p, mad.AttrSLtoVL, mod, &v, (*Manager).didSL2VL)
		q.path, q.arg = m.pathOf(p), i
	}
}

func (m *Manager) didSL2VL(q *request, r *reply) {
	var v mad.SLtoVL
	if !r.good() || !mad.Decode(&v, r.data) {
		m.fail("route %s: SL2VL of port %d cannot be set (%v)", drPath(q.path), q.port.Num, why(r))
		return
	}
	q.port.sl2vl[uint8(q.arg)] = v
}

func (m *Manager) programVLArb(p *Port) {
	q := m.cfg.QoS
	if p.vlarb == nil {
		p.vlarb = map[uint8]mad.VLArbitration{}
	}
	lanes := m.lanes(p)
	part := func(block uint8, list []mad.VLArbEntry, capacity uint8, from int) {
		n := min(int(capacity)-from, 32)
		if n <= 0 {
			return
		}
		var a mad.VLArbitration
		for i := range n {
			if from+i < len(list) && int(list[from+i].VL) < lanes {
				a.Entry[i] = list[from+i]
			}
		}
		if have, ok := p.vlarb[block]; ok && have == a {
			return
		}
		delete(p.vlarb, block)
		x := m.set(p.Node, p, mad.AttrVLArbitration, uint32(block)<<16|uint32(p.Num), &a, (*Manager).didVLArb)
		x.path, x.arg = m.pathOf(p), int(block)
	}
	part(mad.VLArbLowFirst, q.Low, p.Info.VLArbitrationLowCap, 0)
	part(mad.VLArbLowSecond, q.Low, p.Info.VLArbitrationLowCap, 32)
	part(mad.VLArbHighFirst, q.High, p.Info.VLArbitrationHighCap, 0)
	part(mad.VLArbHighSecond, q.High, p.Info.VLArbitrationHighCap, 32)
}

func (m *Manager) didVLArb(q *request, r *reply) {
	var v mad.VLArbitration
	if !r.good() || !mad.Decode(&v, r.data) {
		m.fail("route %s: VL arbitration of port %d cannot be set (%v)", drPath(q.path), q.port.Num, why(r))
		return
	}
	q.port.vlarb[uint8(q.arg)] = v
}

// SL2VL is what is programmed at a port for packets that came in by in, 0 at an
// end node.
func (p *Port) SL2VL(in uint8) (mad.SLtoVL, bool) {
	v, ok := p.sl2vl[in]
	return v, ok
}

// VLArb is a block of the arbitration table that is programmed, from 1 to 4.
func (p *Port) VLArb(block uint8) (mad.VLArbitration, bool) {
	v, ok := p.vlarb[block]
	return v, ok
}

// Tables are the routes that were computed; nil without switches.
func (s *Subnet) Tables() *route.Tables { return s.tables }

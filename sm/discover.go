package sm

import (
	"fmt"
	"strings"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Discovery (IBTA vol. 1 §14.4.3): NodeInfo of what is behind every port that
// has a link, but for the port by which a switch was found first. A link
// between switches is so seen from both of its ends, which tells cables that
// moved meanwhile and GUIDs that are there twice.

// drPath prints a directed route as the diagnostics do.
func drPath(path []uint8) string {
	var s strings.Builder
	s.WriteString("0")
	for _, p := range path {
		fmt.Fprintf(&s, ",%d", p)
	}
	return s.String()
}

// probe asks who is behind a port of a node; with nil who is the manager's own.
func (m *Manager) probe(n *Node, p *Port) {
	q := m.request()
	q.method, q.attr, q.node, q.port, q.gen, q.done = mad.MethodGet, mad.AttrNodeInfo, n, p, m.sweep.gen, (*Manager).gotNodeInfo
	if n != nil {
		if len(n.Path) >= mad.MaxHops {
			m.fail("route %s: more than %d hops", drPath(n.Path), mad.MaxHops)
			return
		}
		q.path = append(append(make([]uint8, 0, len(n.Path)+1), n.Path...), p.Num)
	}
	m.enqueue(q)
}

func (m *Manager) gotNodeInfo(q *request, r *reply) {
	var ni mad.NodeInfo
	if !r.good() || !mad.Decode(&ni, r.data) || ni.NodeGUID == 0 || ni.NumPorts == 0 || ni.NumPorts == 255 ||
		ni.LocalPortNum > ni.NumPorts || ni.LocalPortNum == 0 && ni.NodeType != mad.NodeSwitch {
		m.fail("route %s: no usable answer to NodeInfo", drPath(q.path))
		return
	}
	w := m.work
	n := w.byGUID[ni.NodeGUID]
	if n == nil && (len(w.Nodes) >= maxNodes || w.ports+int(ni.NumPorts) > maxPorts) {
		m.fail("there are more than %d nodes or %d ports; the rest is left out", maxNodes, maxPorts)
		return
	}
	if n == nil {
		n = m.addNode(&ni, q.path)
	} else if n.Info.NodeType != ni.NodeType || n.Info.NumPorts != ni.NumPorts {
		m.note("duplicate GUID %v: a %v by route %s and a %v by route %s", ni.NodeGUID, n.Info.NodeType, drPath(n.Path), ni.NodeType, drPath(q.path))
		return
	}
	if q.port == nil {
		return // the manager's own
	}
	p := n.port(ni.LocalPortNum)
	if !n.IsSwitch() && !p.known && p.GUID == 0 {
		m.addEndPort(p, &ni, q.path)
	}
	m.join(q.port, p)
}

// maxNodes and maxPorts bound what a sweep takes in: every node needs a LID, and
// a device that invents others behind it must not take all memory.
const (
	maxNodes = int(wire.LIDUnicastMax)
	maxPorts = 1 << 19
)

// addNode notes a node that was not known, and asks what is of interest.
func (m *Manager) addNode(ni *mad.NodeInfo, path []uint8) *Node {
	w := m.work
	n := &Node{Info: *ni, Path: path, entered: ni.LocalPortNum, index: -1, Ports: make([]*Port, int(ni.NumPorts)+1)}
	w.Nodes = append(w.Nodes, n)
	w.ports += int(ni.NumPorts) + 1
	w.byGUID[ni.NodeGUID] = n
	m.get(n, nil, mad.AttrNodeDescription, 0, (*Manager).gotNodeDesc)
	if ni.NodeType != mad.NodeSwitch {
		m.addEndPort(n.port(ni.LocalPortNum), ni, path)
		return n
	}
	n.Switch = &Switch{}
	block := make([]Port, len(n.Ports))
	for i := range block {
		block[i] = Port{Node: n, Num: uint8(i)}
		n.Ports[i] = &block[i]
	}
	n.Ports[0].GUID = ni.PortGUID
	m.addPortGUID(n.Ports[0], path)
	m.get(n, nil, mad.AttrSwitchInfo, 0, (*Manager).gotSwitchInfo)
	return n
}

// addEndPort notes a port of an end node.
func (m *Manager) addEndPort(p *Port, ni *mad.NodeInfo, path []uint8) {
	p.GUID = ni.PortGUID
	if !m.addPortGUID(p, path) {
		return
	}
	q := m.get(p.Node, p, mad.AttrPortInfo, uint32(p.Num), (*Manager).gotPortInfo)
	q.path = path
}

func (m *Manager) addPortGUID(p *Port, path []uint8) bool {
	if o := m.work.byPort[p.GUID]; o != nil {
		m.note("duplicate GUID %v of a port: by route %s and by route %s", p.GUID, drPath(o.Node.Path), drPath(path))
		return false
	}
	m.work.byPort[p.GUID] = p
	return true
}

func (m *Manager) gotNodeDesc(q *request, r *reply) {
	if !r.good() || !mad.Decode(&q.node.Desc, r.data) {
		m.fail("route %s: no answer to NodeDescription", drPath(q.path))
	}
}

func (m *Manager) gotSwitchInfo(q *request, r *reply) {
	sw := q.node.Switch
	if !r.good() || !mad.Decode(&sw.Info, r.data) {
		m.fail("route %s: no answer to SwitchInfo", drPath(q.path))
		return
	}
	sw.known = true
	for _, p := range q.node.Ports {
		m.get(q.node, p, mad.AttrPortInfo, uint32(p.Num), (*Manager).gotPortInfo)
	}
}

func (m *Manager) gotPortInfo(q *request, r *reply) {
	p, n := q.port, q.node
	if !r.good() || !mad.Decode(&p.Info, r.data) {
		m.fail("route %s: no answer to PortInfo of port %d", drPath(q.path), p.Num)
		return
	}
	p.known = true
	external := n.IsSwitch() && p.Num != 0
	if p.Info.PortState > mad.PortDown && (external && p.Num != n.entered || len(n.Path) == 0 && p.Num == n.entered) {
		m.probe(n, p)
	}
	entries := int(n.Info.PartitionCap)
	if external {
		entries = int(n.Switch.Info.PartitionEnforcementCap)
		if p.Info.PortState <= mad.PortDown {
			return // nothing is there that a table would keep out
		}
	}
	p.PKeys = make([]uint16, (entries+31)/32*32)
	for b := 0; b < len(p.PKeys)/32; b++ {
		mod := uint32(b)
		if external {
			mod |= uint32(p.Num) << 16
		}
		x := m.get(n, p, mad.AttrPKeyTable, mod, (*Manager).gotPKeys)
		x.path, x.arg = q.path, b
	}
}

func (m *Manager) gotPKeys(q *request, r *reply) {
	var t mad.PKeyTable
	if !r.good() || !mad.Decode(&t, r.data) {
		m.fail("route %s: no answer to P_KeyTable of port %d", drPath(q.path), q.port.Num)
		return
	}
	copy(q.port.PKeys[32*q.arg:], t.PKey[:])
}

// join notes that the port behind a is b.
func (m *Manager) join(a, b *Port) {
	switch {
	case a.Peer == b && b.Peer == a:
	case a.Peer == nil && b.Peer == nil && (!b.known || b.Info.PortState > mad.PortDown):
		a.Peer, b.Peer = b, a
	default:
		m.sweep.conflicts = append(m.sweep.conflicts, conflict{from: a, to: b})
	}
}

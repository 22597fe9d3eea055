package sm

import (
	"sort"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm/route"
)

// Multicast forwarding (IBTA vol. 1 §10.5, §14.2.5.12): package route makes a
// tree for each group, and what it wants of each switch is sent where it is not
// there yet.

// mcastDelay is how long joins are collected before tables are sent.
const mcastDelay = sim.Millisecond

// group is a multicast LID, the ports that are to have its packets, and those
// that only send to it.
type group struct {
	mlid             wire.LID
	members, senders []wire.GUID
}

// mftKey is a block of a multicast table: 32 MLIDs and 16 ports.
type mftKey struct {
	block uint16
	pos   uint8
}

// SetGroup says which end ports receive the packets of a multicast LID, and
// which only send to it; none takes it out of the tables.
func (m *Manager) SetGroup(mlid wire.LID, members, senders []wire.GUID) {
	if !mlid.Multicast() {
		return
	}
	i := sort.Search(len(m.groups), func(i int) bool { return m.groups[i].mlid >= mlid })
	found := i < len(m.groups) && m.groups[i].mlid == mlid
	switch {
	case len(members)+len(senders) == 0 && found:
		m.groups = append(m.groups[:i], m.groups[i+1:]...)
	case len(members)+len(senders) == 0:
		return
	case !found:
		m.groups = append(m.groups, group{})
		copy(m.groups[i+1:], m.groups[i:])
		m.groups[i] = group{mlid: mlid}
		fallthrough
	default:
		m.groups[i].members = append(m.groups[i].members[:0], members...)
		m.groups[i].senders = append(m.groups[i].senders[:0], senders...)
	}
	m.mDirty = true
	if m.run && !m.mcastTimer.Armed() {
		m.mcastTimer.Reset(m.cfg.Proc.Now() + mcastDelay)
	}
}

// MaxGroups is how many multicast LIDs all switches can forward.
func (s *Subnet) MaxGroups() int {
	n := int(wire.LIDMulticastMax-wire.LIDMulticastMin) + 1
	for _, x := range s.Nodes {
		if x.IsSwitch() && x.Switch.known {
			n = min(n, int(x.Switch.Info.MulticastFDBCap))
		}
	}
	return n
}

func (m *Manager) topMLID() uint16 {
	if n := len(m.groups); n > 0 {
		return uint16(m.groups[n-1].mlid)
	}
	return uint16(wire.LIDMulticastMin - 1)
}

// programGroups sends tables between sweeps.
func (m *Manager) programGroups() {
	switch {
	case m.state != mad.SMMaster || !m.mDirty:
	case m.sweep.phase != phaseNone && m.sweep.phase != phaseLight:
		if m.sweep.phase >= phaseRoute { // too late for it
			m.mcastTimer.Reset(m.cfg.Proc.Now() + mcastDelay)
		}
	case m.sub != nil:
		m.programMulticast(m.sub)
	}
}

// programMulticast sends the blocks of multicast tables that are not as wanted.
func (m *Manager) programMulticast(w *Subnet) {
	m.mDirty = false
	want := m.growTrees(w)
	for _, n := range w.Nodes {
		if !n.IsSwitch() || !n.Switch.known || len(want[n]) == 0 && len(n.Switch.mft) == 0 {
			continue
		}
		m.programMFT(n, want[n])
	}
}

// growTrees is what the multicast tables are to be, by switch.
func (m *Manager) growTrees(w *Subnet) map[*Node]map[mftKey]*mad.MulticastForwarding {
	if w.fabric == nil || len(w.fabric.Switches) == 0 || len(m.groups) == 0 {
		return nil
	}
	l := make([]route.Group, 0, len(m.groups))
	find := func(of []wire.GUID) (l []route.Member) {
		for _, g := range of {
			p := w.byPort[g]
			switch {
			case p == nil:
			case p.Node.IsSwitch():
				l = append(l, route.Member{End: route.None, Switch: int32(p.Node.index)})
			case p.Linked():
				l = append(l, route.Member{End: p.end, Switch: route.None})
			}
		}
		return l
	}
	for i := range m.groups {
		g := &m.groups[i]
		l = append(l, route.Group{MLID: uint16(g.mlid), Members: find(g.members), Senders: find(g.senders)})
	}
	trees, err := route.Multicast(w.fabric, l)
	if err != nil {
		m.note("multicast: %v", err)
		return nil
	}
	want := map[*Node]map[mftKey]*mad.MulticastForwarding{}
	for i := range trees {
		entry := wire.LID(trees[i].MLID) - wire.LIDMulticastMin
		for k := range trees[i].Ports {
			x := &trees[i].Ports[k]
			n := w.switches[x.Switch]
			for pos := range uint8(16) {
				mask := x.Mask.Position(int(pos))
				if mask == 0 {
					continue
				}
				if want[n] == nil {
					want[n] = map[mftKey]*mad.MulticastForwarding{}
				}
				key := mftKey{uint16(entry / 32), pos}
				if want[n][key] == nil {
					want[n][key] = &mad.MulticastForwarding{}
				}
				want[n][key].PortMask[entry%32] = mask
			}
		}
	}
	return want
}

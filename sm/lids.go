package sm

import (
	"sort"

	"cnuas/internal/wire"
)

// LIDs (IBTA vol. 1 §4.1.3, §14.4.4.3): a port keeps the LID that the manager
// remembers, else the one that the port has, else it is given the first free
// ones. What a GUID had is kept for it while it is away, as long as there are
// others.

// lidTable remembers LIDs of GUIDs.
type lidTable struct {
	of map[wire.GUID]wire.LID
}

func (t *lidTable) load(l []GUIDLID) {
	t.of = make(map[wire.GUID]wire.LID, len(l))
	for _, x := range l {
		if x.LID.Unicast() && x.GUID != 0 {
			t.of[x.GUID] = x.LID
		}
	}
}

// LIDs returns the LID of every GUID that has had one, by GUID: what
// Config.LIDs of the next life is.
func (m *Manager) LIDs() []GUIDLID {
	l := make([]GUIDLID, 0, len(m.lids.of))
	for g, lid := range m.lids.of {
		l = append(l, GUIDLID{g, lid})
	}
	sort.Slice(l, func(i, j int) bool { return l[i].GUID < l[j].GUID })
	return l
}

// lmcOf is how many LIDs an end port gets, as a power of two: the basic
// port 0 of a switch has one.
func (m *Manager) lmcOf(p *Port) uint8 {
	if n := p.Node; n.IsSwitch() && !n.Switch.Info.EnhancedPort0 {
		return 0
	}
	return m.cfg.LMC
}

// assignLIDs gives LIDs to all end ports of the subnet in work.
func (m *Manager) assignLIDs() {
	w := m.work
	w.byLID = make([]*Port, 1, len(w.byPort)+1)
	var wait []*Port
	keep := func(p *Port, l wire.LID) bool { return p.LID == 0 && m.claim(p, l) }
	w.EndPorts(func(p *Port) {
		p.LMC = m.lmcOf(p)
		keep(p, m.lids.of[p.GUID])
	})
	w.EndPorts(func(p *Port) {
		if p.known {
			keep(p, p.Info.LID)
		}
		if p.LID == 0 {
			wait = append(wait, p)
		}
	})
	if len(wait) > 0 {
		m.giveLIDs(wait)
	}
	for len(w.byLID) > 1 && w.byLID[len(w.byLID)-1] == nil {
		w.byLID = w.byLID[:len(w.byLID)-1]
	}
	w.MaxLID = wire.LID(len(w.byLID) - 1)
}

// claim gives a port the LIDs from l on if they are free and aligned.
func (m *Manager) claim(p *Port, l wire.LID) bool {
	n := wire.LID(1) << p.LMC
	if !l.Unicast() || l&(n-1) != 0 || l+n-1 > wire.LIDUnicastMax {
		return false
	}
	w := m.work
	for i := l; i < l+n && int(i) < len(w.byLID); i++ {
		if w.byLID[i] != nil {
			return false
		}
	}
	for len(w.byLID) < int(l+n) {
		w.byLID = append(w.byLID, nil)
	}
	for i := l; i < l+n; i++ {
		w.byLID[i] = p
	}
	p.LID = l
	if p.GUID != 0 {
		m.lids.of[p.GUID] = l
	}
	return true
}

// giveLIDs gives the ports that have none the first that are free, at first
// without those of ports that are away.
func (m *Manager) giveLIDs(wait []*Port) {
	away := map[wire.LID]bool{}
	for g, l := range m.lids.of {
		if m.work.byPort[g] == nil {
			for i := range wire.LID(1) << m.cfg.LMC {
				away[l+i] = true
			}
		}
	}
	next := wire.LIDUnicastMin
	for _, p := range wait {
		for p.LID == 0 && next <= wire.LIDUnicastMax {
			if n := wire.LID(1) << p.LMC; next&(n-1) != 0 {
				next += n - next&(n-1)
				continue
			}
			if away[next] || p.LMC > 0 && away[next+1<<p.LMC-1] || !m.claim(p, next) {
				next++
			}
		}
		if p.LID == 0 && len(away) > 0 { // take those of ports that are away
			clear(away)
			for g := range m.lids.of {
				if m.work.byPort[g] == nil {
					delete(m.lids.of, g)
				}
			}
			next = wire.LIDUnicastMin
			m.giveLIDs([]*Port{p})
		}
		if p.LID == 0 {
			m.fail("%v: no LID is left", p.GUID)
		}
	}
}

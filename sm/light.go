package sm

import (
	"cnuas/internal/wire/mad"
)

// periodic begins the sweep that the timer is for.
func (m *Manager) periodic() {
	switch {
	case m.sweep.phase != phaseNone: // it sets the timer when it ends
	case m.state == mad.SMDiscovering:
		m.discover()
	case m.state != mad.SMMaster:
	case m.sub == nil || m.sweep.again:
		m.discover()
	default:
		m.light()
	}
}

// Light begins a light sweep now, if the manager is a master at rest.
func (m *Manager) Light() {
	if m.state == mad.SMMaster && m.sub != nil && m.sweep.phase == phaseNone {
		m.light()
		m.advance()
	}
}

// Heavy begins a heavy sweep now, or after the one that runs.
func (m *Manager) Heavy() {
	if m.run && m.state == mad.SMMaster {
		m.pause = 0
		m.heavy()
		m.advance()
	}
}

// light asks every switch whether a port changed state, the manager's own port
// whether it is still as it was, and other managers what they are.
func (m *Manager) light() {
	s := &m.sweep
	s.phase, s.begin = phaseLight, m.cfg.Proc.Now()
	m.stats.Light++
	if self := m.sub.Self(); self != nil {
		m.get(self.Node, self, mad.AttrPortInfo, uint32(self.Num), (*Manager).gotOwnPort)
	}
	for _, n := range m.sub.Nodes {
		if n.IsSwitch() {
			m.get(n, nil, mad.AttrSwitchInfo, 0, (*Manager).gotState)
		}
	}
	for i := range m.remote {
		m.askSM(m.remote[i].path, i)
	}
}

func (m *Manager) gotOwnPort(q *request, r *reply) {
	var pi mad.PortInfo
	if !r.good() || !mad.Decode(&pi, r.data) || pi.LID != q.port.LID || pi.PortState != q.port.Info.PortState {
		m.sweep.again = true
	}
}

func (m *Manager) gotState(q *request, r *reply) {
	var si mad.SwitchInfo
	if !r.good() || !mad.Decode(&si, r.data) || si.PortStateChange || si.LinearFDBTop != q.node.Switch.Info.LinearFDBTop {
		m.sweep.again = true
	}
}

// lightDone ends a light sweep, or goes on with a heavy one.
func (m *Manager) lightDone() {
	again := m.sweep.again
	for _, r := range m.remote {
		// The heavy sweep decides who is to be master.
		again = again || r.Info.SMState == mad.SMMaster || r.Info.SMState == mad.SMStandby && m.higher(&r.Info) && !m.refuses(r.GUID)
	}
	m.stats.LastLight = m.cfg.Proc.Now() - m.sweep.begin
	m.endSweep()
	if again {
		m.discover()
	} else {
		m.schedule()
	}
}

package sm

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// refusal remembers a manager that was to take over and did not, as one with
// another SM_Key: the subnet must not wait for it.
type refusal struct {
	guid  wire.GUID
	until sim.Time
}

// refusalPolls is how many times PollTime pass before it is asked again.
const refusalPolls = 10

func (m *Manager) refuse(g wire.GUID) {
	at := 0
	for i := range m.refused {
		if m.refused[i].guid == g {
			at = i
			break
		}
		if m.refused[i].until < m.refused[at].until {
			at = i
		}
	}
	m.refused[at] = refusal{g, m.cfg.Proc.Now() + refusalPolls*m.cfg.PollTime}
}

func (m *Manager) refuses(g wire.GUID) bool {
	for i := range m.refused {
		if m.refused[i].guid == g && m.cfg.Proc.Now() < m.refused[i].until {
			return true
		}
	}
	return false
}

// handOver gives the subnet to another manager, and stays master if it does
// not answer.
func (m *Manager) handOver(to *RemoteSM) {
	target := *to
	m.endSweep()
	m.handing = &target
	m.stats.HandoversOut++
	m.sendControl(mad.SMHandover, &address{path: target.path}, (*Manager).handedOver)
}

func (m *Manager) handedOver(q *request, r *reply) {
	to := m.handing
	m.handing = nil
	if to == nil || m.state != mad.SMMaster {
		return
	}
	if !r.good() {
		m.note("subnet manager %v does not take over (%s)", to.GUID, why(r))
		m.refuse(to.GUID)
		m.sweep.again = true
		m.sweepTimer.Reset(m.cfg.Proc.Now() + m.cfg.RetryTime)
		return
	}
	to.Info.SMState = mad.SMDiscovering
	m.standby(to)
}

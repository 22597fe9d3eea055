package sm

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// poll is how a standby watches the master (IBTA vol. 1 §14.4.1).
type poll struct {
	of     RemoteSM
	misses int
	asked  bool
}

// standby leaves the subnet to another manager.
func (m *Manager) standby(to *RemoteSM) {
	target := *to
	if self := m.work.Self(); self != nil && target.LID == 0 {
		target.LID = self.Info.MasterSMLID
	}
	m.endSweep()
	m.sweepTimer.Stop()
	m.setState(mad.SMStandby)
	m.startPolling(&target)
}

func (m *Manager) startPolling(of *RemoteSM) {
	m.poll = poll{of: *of}
	m.pollTimer.Reset(m.cfg.Proc.Now() + m.cfg.PollTime)
}

// askMaster asks the manager that is watched whether it is master.
func (m *Manager) askMaster() {
	if m.state != mad.SMStandby {
		return
	}
	m.stats.Polls++
	m.pollTimer.Reset(m.cfg.Proc.Now() + m.cfg.PollTime)
	if m.poll.asked { // the last one is not given up yet
		m.missed()
		return
	}
	m.poll.asked = true
	to := address{path: m.poll.of.path}
	if m.poll.of.path == nil || m.poll.misses&1 == 1 && m.poll.of.LID.Unicast() {
		// A cable of the directed route may be gone: every other time by LID.
		to = address{lid: m.poll.of.LID}
	}
	if to.path == nil && to.lid == 0 {
		m.poll.asked = false
		m.missed()
		return
	}
	m.askSMInfo(to, 0, 0, (*Manager).gotPoll)
}

func (m *Manager) gotPoll(q *request, r *reply) {
	m.poll.asked = false
	if m.state != mad.SMStandby {
		return
	}
	var x mad.SMInfo
	if r.good() && mad.Decode(&x, r.data) && (x.SMState == mad.SMMaster || x.SMState == mad.SMDiscovering) && x.GUID == m.poll.of.GUID {
		m.poll.of.Info, m.poll.misses = x, 0
		return
	}
	m.missed()
}

// missed counts a poll without the right answer, and takes over after too many.
func (m *Manager) missed() {
	m.poll.misses++
	m.stats.PollMisses++
	if m.poll.misses > m.cfg.PollRetries {
		m.note("subnet manager %v is silent", m.poll.of.GUID)
		m.stats.Takeovers++
		m.discover()
	}
}

// MasterLID is where the master is, as far as this manager knows; 0 if it does
// not.
func (m *Manager) MasterLID() wire.LID {
	switch m.state {
	case mad.SMMaster:
		if p := m.sub.Self(); p != nil {
			return p.LID
		}
	case mad.SMStandby:
		return m.poll.of.LID
	}
	return 0
}

package sm

import (
	"cnuas/internal/wire/mad"
)

// Who is master (IBTA vol. 1 §14.4.1): the highest priority, then the lowest
// GUID. A manager that comes later leaves a master its place; the master hands
// over when it has seen who is there.

// askSMs asks all ports that say that a subnet manager is at them.
func (m *Manager) askSMs() {
	m.remote = m.remote[:0:0]
	self := m.work.Self()
	m.work.EndPorts(func(p *Port) {
		if p == self || !p.known || p.Info.CapabilityMask&mad.CapIsSM == 0 || len(m.remote) >= maxRemotes {
			return
		}
		m.remote = append(m.remote, RemoteSM{GUID: p.GUID, LID: p.Info.LID, path: m.pathOf(p)})
		m.askSM(m.pathOf(p), len(m.remote)-1)
	})
}

// maxRemotes bounds the other managers that one knows.
const maxRemotes = 64

func (m *Manager) askSM(path []uint8, i int) {
	m.askSMInfo(address{path: path}, m.sweep.gen, i, (*Manager).gotSMInfo)
}

func (m *Manager) gotSMInfo(q *request, r *reply) {
	if q.arg >= len(m.remote) {
		return
	}
	o := &m.remote[q.arg]
	o.ok = r.good() && mad.Decode(&o.Info, r.data)
	if o.ok && o.Info.SMKey != 0 && o.Info.SMKey != m.cfg.SMKey {
		m.note("subnet manager %v has another SM_Key", o.GUID)
	}
	if !o.ok {
		o.Info = mad.SMInfo{} // not active
	}
}

// elect decides, at the end of discovery, whether the sweep goes on.
func (m *Manager) elect() bool {
	if self := m.work.Self(); self == nil || !self.known {
		m.alone()
		return false
	}
	var master, best *RemoteSM
	for i := range m.remote {
		o := &m.remote[i]
		if !o.ok || o.Info.SMState == mad.SMNotActive {
			continue
		}
		if o.Info.SMState == mad.SMMaster && (master == nil || before(&o.Info, &master.Info)) {
			master = o
		}
		if (best == nil || before(&o.Info, &best.Info)) && !(m.state == mad.SMMaster && m.refuses(o.GUID)) {
			best = o
		}
	}
	if m.state == mad.SMMaster {
		return m.stayMaster(master, best)
	}
	switch {
	case master != nil:
		m.standby(master)
		return false
	case best != nil && m.higher(&best.Info):
		if best.Info.SMState == mad.SMStandby {
			m.sendControl(mad.SMDiscover, &address{path: best.path}, nil)
		}
		m.standby(best)
		return false
	}
	m.setState(mad.SMMaster)
	m.fresh = true
	m.waits = 0
	return true
}

// alone is for a manager whose own port does not answer: there is nothing that
// it could be master of. A master keeps what it has; all try again later.
func (m *Manager) alone() {
	m.stats.SweepErrors = m.sweep.errors
	m.endSweep()
	m.sweep.again = true
	m.sweepTimer.Reset(m.cfg.Proc.Now() + m.cfg.RetryTime)
}

func before(a, b *mad.SMInfo) bool {
	return a.Priority > b.Priority || a.Priority == b.Priority && a.GUID < b.GUID
}

// stayMaster decides for one that is master already.
func (m *Manager) stayMaster(master, best *RemoteSM) bool {
	switch {
	case master != nil && m.higher(&master.Info) && !m.refuses(master.GUID):
		m.handOver(master)
		return false
	case best != nil && best.Info.SMState == mad.SMStandby && m.higher(&best.Info):
		m.handOver(best)
		return false
	case master != nil && m.waits < m.cfg.PollRetries:
		// A lower one: it hands over as soon as it knows. Two masters that write
		// would undo each other's work.
		m.waits++
		m.endSweep()
		m.sweep.again = true
		m.sweepTimer.Reset(m.cfg.Proc.Now() + m.cfg.RetryTime)
		return false
	case master != nil:
		m.note("subnet manager %v stays master beside this one", master.GUID)
	}
	m.waits = 0
	return true
}

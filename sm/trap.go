package sm

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Traps (IBTA vol. 1 §13.4.9, §14.3): the master answers each with TrapRepress.
// What changes the subnet leads to a heavy sweep, the others are told on.

// trapMemory is how long a trap with the TID of an earlier one is a repetition.
const trapMemory = 5 * sim.Second

type trapID struct {
	lid  wire.LID
	tid  uint64
	trap mad.Trap
	at   sim.Time
}

func (m *Manager) trap(d *Datagram) {
	var n mad.Notice
	p := d.SMP()
	if m.state != mad.SMMaster || !mad.Decode(&n, p.Data()) {
		return
	}
	now := m.cfg.Proc.Now()
	m.stats.Traps++
	id := trapID{d.SLID, p.Packet().TID(), n.TrapNumber, now}
	if p.Directed() || d.SLID.Unicast() {
		m.repress(d)
	}
	for i := range m.recent {
		if r := &m.recent[i]; r.lid == id.lid && r.tid == id.tid && r.trap == id.trap && now-r.at < trapMemory && r.at != 0 {
			m.stats.TrapsAgain++
			return
		}
	}
	m.recent[m.recentAt] = id
	m.recentAt = (m.recentAt + 1) % len(m.recent)
	if n.IsGeneric {
		m.countTrap(n.TrapNumber)
		switch n.TrapNumber {
		case mad.TrapLinkState, mad.TrapCapabilityChange, mad.TrapSystemImageGUID:
			m.stats.LastTrap = now
			m.heavy()
		case mad.TrapLinkIntegrity, mad.TrapBufferOverrun, mad.TrapFlowControlTimeout:
			var t mad.TrapPortData
			mad.Decode(&t, n.DataDetails[:])
			m.note("trap %v: LID %d port %d", n.TrapNumber, t.LID, t.PortNum)
		case mad.TrapBadMKey, mad.TrapBadPKey, mad.TrapBadQKey, mad.TrapBadPKeySwitch:
			m.note("trap %v from LID %d", n.TrapNumber, n.IssuerLID)
		}
	}
	if m.cfg.Observer != nil {
		m.cfg.Observer.Notice(now, &n)
	}
}

// repress answers a trap: the same MAD with another method.
func (m *Manager) repress(d *Datagram) {
	out := *d
	p := out.SMP()
	if p.Directed() {
		p.Respond(mad.StatusOK)
	}
	p.Packet().SetMethod(mad.MethodTrapRepress)
	p.Packet().SetStatus(mad.StatusOK)
	p.SetMKey(m.cfg.MKey)
	out.Answer()
	m.stats.Represses++
	m.cfg.Port.Send(&out)
}

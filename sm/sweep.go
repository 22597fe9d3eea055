package sm

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// phase of a sweep: see the package's documentation.
type phase uint8

const (
	phaseNone phase = iota
	phaseDiscover
	phaseVerify
	phaseElect
	phasePrepare
	phaseRoute
	phaseArm
	phaseActivate
	phaseLight
)

var phaseNames = [...]string{"idle", "discover", "verify", "elect", "prepare", "route", "arm", "activate", "light sweep"}

// String names the phase.
func (p phase) String() string { return phaseNames[p] }

type sweep struct {
	phase     phase
	gen       uint32 // of the requests that belong to it
	pending   int    // of those that wait or are outstanding
	again     bool   // something happened: a heavy sweep has to follow
	errors    int
	begin     sim.Time
	conflicts []conflict
}

// maxHurry is how many heavy sweeps may follow each other at once; then there is
// a pause of RetryTime, so that a device which changes all the time, or lies,
// does not keep the manager busy for ever.
const maxHurry = 8

// heavy begins a heavy sweep, or has one follow the sweep that runs or the
// pause.
func (m *Manager) heavy() {
	if m.sweep.phase != phaseNone && m.sweep.phase != phaseLight || m.cfg.Proc.Now() < m.pause {
		m.sweep.again = true
		return
	}
	m.discover()
}

// hurry begins a heavy sweep behind another, or makes a pause.
func (m *Manager) hurry() {
	if m.hurried++; m.hurried < maxHurry {
		m.discover()
		return
	}
	m.hurried = 0
	m.pause = m.cfg.Proc.Now() + m.cfg.RetryTime
	m.sweep.again = true
	m.sweepTimer.Reset(m.pause)
}

// discover begins a heavy sweep in the states that have them.
func (m *Manager) discover() {
	m.endSweep()
	if m.state != mad.SMMaster {
		m.setState(mad.SMDiscovering)
	}
	s := &m.sweep
	s.phase, s.begin, s.conflicts = phaseDiscover, m.cfg.Proc.Now(), nil
	m.sweepTimer.Stop()
	m.stats.Heavy++
	m.work = newSubnet()
	m.probe(nil, nil)
	m.pump()
}

// endSweep forgets the sweep that runs: its answers will count for nothing.
func (m *Manager) endSweep() {
	s := &m.sweep
	*s = sweep{gen: s.gen + 1}
	if s.gen == 0 {
		s.gen++
	}
	m.work = nil
}

// advance sends what waits and begins the next phases of the sweep when
// nothing of the one before is left.
func (m *Manager) advance() {
	m.pump()
	for m.run && m.sweep.phase != phaseNone && m.sweep.pending == 0 {
		m.next()
		m.pump()
	}
}

func (m *Manager) next() {
	s := &m.sweep
	switch s.phase {
	case phaseDiscover:
		s.phase = phaseVerify
		m.verify()
	case phaseVerify:
		s.phase = phaseElect
		m.settleConflicts()
		m.askSMs()
	case phaseElect:
		if m.elect() {
			s.phase = phasePrepare
			m.prepare()
		}
	case phasePrepare:
		s.phase = phaseRoute
		m.route()
	case phaseRoute:
		s.phase = phaseArm
		m.moveLinks(mad.PortArmed)
	case phaseArm:
		s.phase = phaseActivate
		m.moveLinks(mad.PortActive)
	case phaseActivate:
		m.subnetUp()
	case phaseLight:
		m.lightDone()
	}
}

// subnetUp ends a heavy sweep.
func (m *Manager) subnetUp() {
	now := m.cfg.Proc.Now()
	old, w := m.sub, m.work
	m.sub = w
	errors, again := m.sweep.errors, m.sweep.again
	m.stats.SweepErrors = errors
	if errors > maxNotes {
		m.note("a sweep had %d errors more", errors-maxNotes)
	}
	m.stats.LastHeavy = now - m.sweep.begin
	m.stats.LastUp = now
	if m.stats.FirstUp == 0 {
		m.stats.FirstUp = now
	}
	m.stats.Nodes, m.stats.Switches, m.stats.MaxLID = len(w.Nodes), 0, w.MaxLID
	for _, n := range w.Nodes {
		if n.IsSwitch() {
			m.stats.Switches++
		}
	}
	if errors == 0 {
		m.fresh = false
	}
	m.endSweep()
	if m.cfg.Observer != nil {
		in, out := changes(old, w)
		m.cfg.Observer.SubnetUp(now, in, out)
	}
	switch {
	case again:
		m.hurry()
	case errors > 0 || !w.Self().Linked(): // nobody will tell when the own link comes up
		m.sweep.again = true // at the next
		m.sweepTimer.Reset(now + m.cfg.RetryTime)
	default:
		m.hurried = 0
		m.schedule()
	}
}

// changes lists end ports that are only in b, and only in a.
func changes(a, b *Subnet) (in, out []EndPort) {
	diff := func(x, y *Subnet) (l []EndPort) {
		if x == nil {
			return nil
		}
		x.EndPorts(func(p *Port) {
			if p.LID != 0 && (y == nil || y.byPort[p.GUID] == nil) {
				l = append(l, EndPort{p.GUID, p.LID, p.LMC, p.want})
			}
		})
		return l
	}
	return diff(b, a), diff(a, b)
}

// schedule sets the timer of the next light sweep.
func (m *Manager) schedule() {
	if m.cfg.Sweep > 0 && m.state == mad.SMMaster {
		m.sweepTimer.Reset(m.cfg.Proc.Now() + m.cfg.Sweep)
	}
}

// maxNotes bounds the errors of one sweep that are noted one by one.
const maxNotes = maxLog / 2

// fail notes an error of the sweep, which another sweep may mend.
func (m *Manager) fail(format string, args ...any) {
	if m.sweep.errors++; m.sweep.errors <= maxNotes {
		m.note(format, args...)
	}
}

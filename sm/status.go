package sm

import (
	"fmt"
	"sort"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Stats are counters of a manager, and figures of its last sweeps.
type Stats struct {
	SMPs         uint64 // sent, without repetitions: requests
	Timeouts     uint64
	Retries      uint64 // repetitions sent
	GaveUp       uint64 // requests without any answer
	Stale        uint64 // answers that nothing waited for
	Heavy, Light uint64 // sweeps begun
	SweepErrors  int    // of the last heavy sweep
	Conflicts    uint64 // ports that seemed to be in two places
	Traps        uint64
	TrapsAgain   uint64 // of them repetitions
	Represses    uint64
	Controls     uint64 // Sets of SMInfo that came
	HandoversIn  uint64
	HandoversOut uint64
	Acknowledged uint64
	Polls        uint64 // of the master, as a standby
	PollMisses   uint64
	Takeovers    uint64
	StateChanges uint64

	Since     sim.Time // of the state
	LastHeavy sim.Time // how long the last one took
	LastLight sim.Time
	LastTrap  sim.Time // when one came that led to a sweep
	FirstUp   sim.Time // when the subnet came up first
	LastUp    sim.Time // when the last heavy sweep ended

	Engine          string // that made the routes
	Nodes, Switches int
	MaxLID          wire.LID
}

// AttrCount counts SMPs of an attribute.
type AttrCount struct {
	Attr     mad.AttrID
	Name     string
	Get, Set uint64
}

// LogEntry is something worth telling.
type LogEntry struct {
	At   sim.Time
	Text string
	Seen int // how often, the last time at At
}

// Status is what there is to know of a manager, as plain data.
type Status struct {
	GUID       wire.GUID
	Priority   uint8
	State      string
	Sweeping   string    // phase of the sweep that runs, "idle" without one
	MasterGUID wire.GUID // 0: not known
	MasterLID  wire.LID
	Stats      Stats
	Attributes []AttrCount // SMPs sent by attribute, in the order of attributes
	TrapCounts []TrapCount
	Errors     []LogEntry // the last ones, the oldest first
	Remotes    []RemoteSM // other subnet managers, as the last sweep of a master found them
	Routing    Routing    // zero before the first sweep
	Now        sim.Time
}

// TrapCount counts traps that came.
type TrapCount struct {
	Trap  mad.Trap
	Count uint64
}

// maxLog bounds what is remembered.
const maxLog = 32

type errorLog struct {
	list  []LogEntry
	attrs map[mad.AttrID]*AttrCount
	traps map[mad.Trap]uint64
}

// count counts an SMP that is sent.
func (m *Manager) count(q *request) {
	if q.tries > 0 {
		return
	}
	m.stats.SMPs++
	a := m.log.attrs[q.attr]
	if a == nil {
		if m.log.attrs == nil {
			m.log.attrs = map[mad.AttrID]*AttrCount{}
		}
		a = &AttrCount{Attr: q.attr, Name: mad.AttrName(mad.ClassSubnLID, q.attr)}
		m.log.attrs[q.attr] = a
	}
	if q.method == mad.MethodSet {
		a.Set++
	} else {
		a.Get++
	}
}

func (m *Manager) countTrap(t mad.Trap) {
	if m.log.traps == nil {
		m.log.traps = map[mad.Trap]uint64{}
	}
	if _, ok := m.log.traps[t]; ok || len(m.log.traps) < maxLog {
		m.log.traps[t]++
	}
}

// note remembers something worth telling.
func (m *Manager) note(format string, args ...any) {
	e := LogEntry{At: m.cfg.Proc.Now(), Text: fmt.Sprintf(format, args...), Seen: 1}
	l := &m.log.list
	for i := range *l {
		if (*l)[i].Text == e.Text {
			e.Seen += (*l)[i].Seen
			*l = append((*l)[:i], (*l)[i+1:]...)
			break
		}
	}
	if *l = append(*l, e); len(*l) > maxLog {
		*l = append((*l)[:0], (*l)[1:]...)
	}
}

// Status returns the state of the manager.
func (m *Manager) Status() Status {
	s := Status{
		GUID: m.cfg.GUID, Priority: m.cfg.Priority, State: m.state.String(), Sweeping: m.sweep.phase.String(),
		MasterLID: m.MasterLID(), Stats: m.stats, Now: m.cfg.Proc.Now(),
		Errors: append([]LogEntry(nil), m.log.list...), Routing: m.routing(), Remotes: append([]RemoteSM(nil), m.remote...),
	}
	switch m.state {
	case mad.SMMaster:
		s.MasterGUID = m.cfg.GUID
	case mad.SMStandby:
		s.MasterGUID = m.poll.of.GUID
	}
	for _, a := range m.log.attrs {
		s.Attributes = append(s.Attributes, *a)
	}
	sort.Slice(s.Attributes, func(i, j int) bool { return s.Attributes[i].Attr < s.Attributes[j].Attr })
	for t, n := range m.log.traps {
		s.TrapCounts = append(s.TrapCounts, TrapCount{t, n})
	}
	sort.Slice(s.TrapCounts, func(i, j int) bool { return s.TrapCounts[i].Trap < s.TrapCounts[j].Trap })
	return s
}

package sm

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// Manager is a subnet manager.
type Manager struct {
	cfg   Config
	state mad.SMState
	run   bool

	tr    transactions
	sweep sweep
	stats Stats
	log   errorLog

	sub  *Subnet // of the last complete sweep; nil before
	work *Subnet // of the sweep that runs

	hurried int      // heavy sweeps that followed each other at once
	pause   sim.Time // until when none begins by itself

	lids    lidTable
	fresh   bool // this life's first sweep as master is still to come
	waits   int  // sweeps that waited for another master to hand over
	asking  bool // another manager what it is, because it asked
	handing *RemoteSM
	refused [16]refusal // managers that did not take over

	remote   []RemoteSM
	poll     poll
	actCount uint32

	recent   [64]trapID
	recentAt int

	groups []group // multicast, by MLID
	mDirty bool

	sweepTimer sim.Timer
	pollTimer  sim.Timer
	mcastTimer sim.Timer
}

// Events of a Manager.
const (
	opTimeout uint32 = iota
	opSweep
	opPoll
	opMulticast
)

// New returns a manager that does nothing before Start.
func New(cfg Config) *Manager {
	cfg.fill()
	m := &Manager{cfg: cfg, state: mad.SMNotActive}
	m.initTransactions()
	m.lids.load(cfg.LIDs)
	m.sweepTimer.Init(cfg.Proc, m, opSweep, 0)
	m.pollTimer.Init(cfg.Proc, m, opPoll, 0)
	m.mcastTimer.Init(cfg.Proc, m, opMulticast, 0)
	return m
}

// Start makes the manager begin: it discovers, and becomes master or standby.
func (m *Manager) Start() {
	if m.run {
		return
	}
	m.run = true
	m.discover()
}

// Stop makes the manager silent, as if its process had ended: it answers and
// sends nothing. Start begins anew, with the LIDs that it knows.
func (m *Manager) Stop() {
	m.run = false
	m.setState(mad.SMNotActive)
	m.endSweep()
	m.drop()
	m.sub, m.work, m.remote, m.handing, m.asking, m.poll = nil, nil, nil, nil, false, poll{}
	m.hurried, m.pause = 0, 0
	m.sweepTimer.Stop()
	m.pollTimer.Stop()
	m.mcastTimer.Stop()
}

// Subnet is what the last complete sweep of a master found; nil before the
// first. It stays as it is while a sweep runs.
func (m *Manager) Subnet() *Subnet { return m.sub }

// State is the manager's state.
func (m *Manager) State() mad.SMState { return m.state }

// Since is when the manager came into its state: what subnet administration
// knows from an earlier time as master is no longer so.
func (m *Manager) Since() sim.Time { return m.stats.Since }

// Config is what the manager was made of, with defaults filled in.
func (m *Manager) Config() *Config { return &m.cfg }

// HandleEvent implements sim.Handler; only the engine calls it.
func (m *Manager) HandleEvent(now sim.Time, op uint32, arg uint64) {
	if !m.run {
		return
	}
	switch op {
	case opTimeout:
		m.timeout(int(arg))
	case opSweep:
		m.periodic()
	case opPoll:
		m.askMaster()
	case opMulticast:
		m.programGroups()
	}
	m.advance()
}

// Receive takes a datagram that arrived at QP 0 of the manager's port: answers
// to it, traps, and SMInfo for a subnet manager. What is not for a subnet
// manager is ignored. It may change d.
func (m *Manager) Receive(d *Datagram) {
	p := d.SMP()
	if !m.run || !p.Valid() || p[0] != mad.BaseVersion || p[2] != 1 {
		return
	}
	switch pk := p.Packet(); {
	case pk.Method().IsResponse() && pk.Method() != mad.MethodTrapRepress:
		m.response(d)
	case pk.Method() == mad.MethodTrap && pk.Attr() == mad.AttrNotice:
		m.trap(d)
	case pk.Attr() == mad.AttrSMInfo && (pk.Method() == mad.MethodGet || pk.Method() == mad.MethodSet):
		m.smInfo(d)
	}
	m.advance()
}

func (m *Manager) setState(s mad.SMState) {
	if m.state == s {
		return
	}
	m.state = s
	m.stats.StateChanges++
	m.stats.Since = m.cfg.Proc.Now()
	m.pollTimer.Stop()
}

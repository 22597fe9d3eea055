package sa

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Config is what an Agent is made of. Zero means the default that is named.
type Config struct {
	Proc *sim.Proc
	Port sm.MADPort // of the subnet manager

	MaxGroups      int      // multicast; 0: 4096
	MaxServices    int      // 0: 4096
	MaxSubscribers int      // 0: 16384
	MaxSessions    int      // multi-packet transactions; 0: 256
	MaxAnswer      int      // bytes of one; 0: 16 MiB
	Timeout        sim.Time // for an acknowledgement or ReportResp; 0: 500 ms
	Retries        int      // 0: 3
}

// Agent is subnet administration. It is the Observer of its manager.
type Agent struct {
	cfg Config
	m   *sm.Manager

	groups   []*group // by MGID
	services []service
	subs     []subscriber
	reports  map[uint32]*report // by the low half of their TID
	sessions []*session
	incoming []*receiving
	ready    bool
	since    sim.Time // of the manager's time as master that all this is of
	tid      uint32   // of the last report
	mgids    uint64   // that were given to groups
	out      sm.Datagram
	lease    sim.Timer
	stats    Stats
}

// Stats counts what an agent did.
type Stats struct {
	Requests     uint64
	Errors       uint64 // answers with a status
	Ignored      uint64 // datagrams that are no request, or came to no master
	Records      uint64 // in answers
	Segments     uint64 // of multi-packet answers, repetitions too
	Aborted      uint64 // multi-packet transactions that did not end well
	Busy         uint64 // requests for which there was no room
	Reports      uint64
	ReportsLost  uint64 // nobody answered them, or there was no room
	GroupsMade   uint64
	GroupsEnded  uint64
	LeasesEnded  uint64
	Groups       int // now
	Members      int
	Services     int
	Subscribers  int
	OpenSessions int
}

// Events of an Agent.
const (
	opSession uint32 = iota
	opReceiving
	opReport
	opLease
)

// New returns an agent that answers nobody before Serve.
func New(cfg Config) *Agent {
	cfg.MaxGroups = or(cfg.MaxGroups, 4096)
	cfg.MaxServices = or(cfg.MaxServices, 4096)
	cfg.MaxSubscribers = or(cfg.MaxSubscribers, 16384)
	cfg.MaxSessions = or(cfg.MaxSessions, 256)
	cfg.MaxAnswer = or(cfg.MaxAnswer, 16<<20)
	cfg.Timeout = or(cfg.Timeout, 500*sim.Millisecond)
	cfg.Retries = or(cfg.Retries, 3)
	a := &Agent{cfg: cfg}
	a.sessions = make([]*session, cfg.MaxSessions)
	a.incoming = make([]*receiving, cfg.MaxSessions)
	a.reports = map[uint32]*report{}
	a.lease.Init(cfg.Proc, a, opLease, 0)
	return a
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Serve names the manager whose subnet the agent administers. Its Observer is
// the agent.
func (a *Agent) Serve(m *sm.Manager) { a.m = m }

// Stats returns the counters.
func (a *Agent) Stats() Stats {
	s := a.stats
	s.Groups, s.Services, s.Subscribers = len(a.groups), len(a.services), len(a.subs)
	for _, g := range a.groups {
		s.Members += len(g.members)
	}
	for _, x := range a.sessions {
		if x != nil {
			s.OpenSessions++
		}
	}
	return s
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (a *Agent) HandleEvent(now sim.Time, op uint32, arg uint64) {
	switch op {
	case opSession:
		a.expire(int(arg))
	case opReceiving:
		a.incoming[arg] = nil
		a.stats.Aborted++
	case opReport:
		a.reportAgain(uint32(arg))
	case opLease:
		a.endLeases(now)
	}
}

// subnet is what there is to answer from; nil while the manager is no master.
func (a *Agent) subnet() *sm.Subnet {
	if a.m == nil || a.m.State() != mad.SMMaster {
		return nil
	}
	return a.m.Subnet()
}

// renew begins anew when the manager has become master: ports were told to
// register again (ClientReregister), and what they had before was with another.
func (a *Agent) renew() {
	if a.subnet() == nil || a.ready && a.since == a.m.Since() {
		return
	}
	a.ready, a.since = true, a.m.Since()
	for _, g := range a.groups {
		a.m.SetGroup(g.rec.MLID, nil, nil)
	}
	a.groups, a.services, a.subs = nil, nil, nil
	a.lease.Stop()
	a.makeGroups()
}

// Receive takes a datagram that arrived at QP 1 of the manager's port. It may
// change d.
func (a *Agent) Receive(d *sm.Datagram) {
	a.renew()
	s := mad.SA(d.MAD[:])
	p := s.Packet()
	if !s.Valid() || p.BaseVersion() != mad.BaseVersion || a.subnet() == nil {
		a.stats.Ignored++
		return
	}
	if p.ClassVersion() != mad.ClassSubnAdm.Version() {
		if !p.Method().IsResponse() {
			a.fail(d, mad.StatusBadVersion)
		}
		return
	}
	if r := s.RMPP(); r.Active() && r.Version() != mad.RMPPVersion {
		a.stats.Ignored++
		return
	} else if r.Active() && r.Type() != mad.RMPPData {
		a.acknowledged(d)
		return
	} else if r.Active() && !p.Method().IsResponse() {
		a.segment(d)
		return
	}
	switch {
	case p.Method() == mad.MethodReportResp:
		a.reported(d)
	case p.Method().IsResponse():
		a.stats.Ignored++
	default:
		a.request(d, s.Data())
	}
}

// request does what a complete request asks for. data is its record.
func (a *Agent) request(d *sm.Datagram, data []byte) {
	s := mad.SA(d.MAD[:])
	a.stats.Requests++
	q := &query{
		a: a, sub: a.subnet(), d: d, method: s.Packet().Method(), attr: s.Packet().Attr(), mod: s.Packet().Modifier(),
		mask: s.ComponentMask(), trusted: s.SMKey() == a.m.Config().SMKey, data: data,
	}
	switch q.method {
	case mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodGetMulti, mad.MethodDelete:
	default:
		a.fail(d, mad.StatusBadMethod)
		return
	}
	h, ok := handlers[handlerKey{q.attr, kindOf(q.method)}]
	if !ok {
		a.fail(d, mad.StatusBadMethodAttr)
		return
	}
	h(q)
	q.answer()
	if q.after != nil {
		q.after()
	}
}

// gid is the GID of a port GUID in the subnet.
func (a *Agent) gid(g wire.GUID) wire.GID { return wire.MakeGID(a.m.Config().Prefix, g) }

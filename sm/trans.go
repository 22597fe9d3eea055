package sm

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Transactions of SMPs (IBTA vol. 1 §13.4.6): up to MaxSMPs at a time are
// outstanding, each is repeated with its TID until it is answered or given up.
// What answers no outstanding one is dropped and counted.

// maxSlots bounds MaxSMPs.
const maxSlots = 256

// request is an SMP that was sent or waits to be.
type request struct {
	method mad.Method
	attr   mad.AttrID
	mod    uint32
	path   []uint8  // directed route, unless lid is set
	lid    wire.LID // LID-routed
	node   *Node    // what it is about, for done
	port   *Port
	arg    int
	data   [64]byte
	gen    uint32 // sweep that waits for it; 0: none does
	tries  int
	done   func(m *Manager, q *request, r *reply)
}

// reply is how a transaction ended. ok is false without an answer; then
// nothing else counts.
type reply struct {
	ok     bool
	status mad.Status
	data   []byte // of the answer, until the callback returns
}

// good tells that the answer has no error.
func (r *reply) good() bool { return r.ok && r.status == mad.StatusOK }

type slot struct {
	q     *request
	tid   uint64
	timer sim.Timer
}

type transactions struct {
	slots []slot
	busy  int
	queue []*request
	head  int
	tid   uint32 // of the last request, the low half
	free  []*request
	out   Datagram
}

func (m *Manager) initTransactions() {
	t := &m.tr
	t.slots = make([]slot, m.cfg.MaxSMPs)
	for i := range t.slots {
		t.slots[i].timer.Init(m.cfg.Proc, m, opTimeout, uint64(i))
	}
	// Managers that run one after the other at a port do not take each other's
	// answers for their own.
	t.tid = uint32(m.cfg.Proc.Now()/sim.Microsecond)<<8 | 1
}

// request returns an empty request, from those that were used.
func (m *Manager) request() *request {
	t := &m.tr
	if n := len(t.free); n > 0 {
		q := t.free[n-1]
		t.free = t.free[:n-1]
		*q = request{}
		return q
	}
	return new(request)
}

// enqueue sends q as soon as there is room.
func (m *Manager) enqueue(q *request) {
	if q.gen != 0 {
		m.sweep.pending++
	}
	m.tr.queue = append(m.tr.queue, q)
}

// pump sends what waits and there is room for.
func (m *Manager) pump() {
	t := &m.tr
	for t.busy < len(t.slots) && t.head < len(t.queue) {
		q := t.queue[t.head]
		t.queue[t.head] = nil
		t.head++
		if q.gen != 0 && q.gen != m.sweep.gen { // of a sweep that was ended
			t.free = append(t.free, q)
			continue
		}
		for i := range t.slots {
			if s := &t.slots[i]; s.q == nil {
				t.tid++
				s.q, s.tid = q, uint64(m.cfg.TIDHigh)<<32|uint64(t.tid)
				t.busy++
				m.transmit(s)
				break
			}
		}
	}
	if t.head == len(t.queue) {
		t.queue, t.head = t.queue[:0], 0
	}
}

// transmit sends the SMP of a slot, once more if it was before.
func (m *Manager) transmit(s *slot) {
	q, d := s.q, &m.tr.out
	*d = Datagram{SLID: wire.LIDPermissive, DLID: wire.LIDPermissive}
	p := d.SMP()
	p[0], p[1], p[2] = mad.BaseVersion, byte(mad.ClassSubnLID), 1
	if q.lid != 0 {
		d.SLID, d.DLID = 0, q.lid
	} else {
		p.SetPath(q.path...)
	}
	p.Packet().SetMethod(q.method)
	p.Packet().SetTID(s.tid)
	p.Packet().SetAttr(q.attr)
	p.Packet().SetModifier(q.mod)
	p.SetMKey(m.cfg.MKey)
	copy(p.Data(), q.data[:])
	m.count(q)
	s.timer.Reset(m.cfg.Proc.Now() + m.cfg.Timeout)
	m.cfg.Port.Send(d)
}

// timeout repeats or gives up an SMP.
func (m *Manager) timeout(i int) {
	s := &m.tr.slots[i]
	if s.q == nil {
		return
	}
	m.stats.Timeouts++
	if s.q.tries < m.cfg.Retries && (s.q.gen == 0 || s.q.gen == m.sweep.gen) {
		s.q.tries++
		m.stats.Retries++
		m.transmit(s)
		return
	}
	m.stats.GaveUp++
	m.finish(s, &reply{})
}

// response takes the answer to an SMP.
func (m *Manager) response(d *Datagram) {
	tid := d.Packet().TID()
	for i := range m.tr.slots {
		s := &m.tr.slots[i]
		if s.q == nil || s.tid != tid {
			continue
		}
		if p := d.Packet(); p.Attr() != s.q.attr || p.Modifier() != s.q.mod {
			break // not what was asked
		}
		m.finish(s, &reply{ok: true, status: d.Packet().Status(), data: d.SMP().Data()})
		return
	}
	m.stats.Stale++
}

// finish ends a transaction and goes on.
func (m *Manager) finish(s *slot, r *reply) {
	q := s.q
	s.q = nil
	s.timer.Stop()
	m.tr.busy--
	if q.gen == 0 || q.gen == m.sweep.gen {
		if q.gen != 0 {
			m.sweep.pending--
		}
		if q.done != nil {
			q.done(m, q, r)
		}
	}
	if len(m.tr.free) < 1024 {
		m.tr.free = append(m.tr.free, q)
	}
	m.advance()
}

// drop forgets everything that waits or is outstanding.
func (m *Manager) drop() {
	t := &m.tr
	for i := range t.slots {
		t.slots[i].q = nil
		t.slots[i].timer.Stop()
	}
	t.busy, t.queue, t.head = 0, nil, 0
}

// get asks for an attribute, along the directed route to a node, as part of
// the sweep.
func (m *Manager) get(n *Node, p *Port, attr mad.AttrID, mod uint32, done func(*Manager, *request, *reply)) *request {
	q := m.request()
	q.method, q.attr, q.mod, q.path, q.node, q.port, q.gen, q.done = mad.MethodGet, attr, mod, n.Path, n, p, m.sweep.gen, done
	m.enqueue(q)
	return q
}

// set sets an attribute as get asks for one.
func (m *Manager) set(n *Node, p *Port, attr mad.AttrID, mod uint32, a mad.Attribute, done func(*Manager, *request, *reply)) *request {
	q := m.get(n, p, attr, mod, done)
	q.method = mad.MethodSet
	mad.Encode(a, q.data[:])
	return q
}

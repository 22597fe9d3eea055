package sm

import (
	"cnuas/internal/wire/mad"
)

// Two cables that seem to end at one port: either a cable was moved while the
// sweep ran, or two devices have one GUID. Asking once more along the first of
// the routes tells which.

// maxConflicts bounds what one sweep looks into.
const maxConflicts = 64

// conflict is a port that was reached by from, although it is known to be
// joined with another or to have no link.
type conflict struct {
	from, to *Port
	old      *Port   // by which it was reached before; nil: by no port
	route    []uint8 // to it by the old one
	there    bool    // it answers there
}

// pathTo is the route to what is behind a port.
func (p *Port) pathTo() []uint8 {
	return append(append(make([]uint8, 0, len(p.Node.Path)+1), p.Node.Path...), p.Num)
}

// verify asks along the routes that were taken first.
func (m *Manager) verify() {
	s := &m.sweep
	if len(s.conflicts) > maxConflicts {
		m.fail("%d ports seem to be in two places; looking into %d", len(s.conflicts), maxConflicts)
		s.conflicts = s.conflicts[:maxConflicts]
	}
	for i := range s.conflicts {
		c := &s.conflicts[i]
		c.old = c.to.Peer
		c.route = c.to.Node.Path
		if c.old != nil && len(c.old.Node.Path) < mad.MaxHops {
			c.route = c.old.pathTo()
		}
		q := m.request()
		q.method, q.attr, q.path, q.arg, q.gen, q.done = mad.MethodGet, mad.AttrNodeInfo, c.route, i, s.gen, (*Manager).gotVerified
		if c.old == nil { // its port has no link, or had none when it was asked
			q.attr, q.mod, q.done = mad.AttrPortInfo, uint32(c.to.Num), (*Manager).gotStillDown
		}
		m.enqueue(q)
	}
}

func (m *Manager) gotVerified(q *request, r *reply) {
	c := &m.sweep.conflicts[q.arg]
	var ni mad.NodeInfo
	if !r.good() || !mad.Decode(&ni, r.data) {
		return
	}
	c.there = ni.NodeGUID == c.to.Node.Info.NodeGUID && ni.LocalPortNum == c.to.Num
}

func (m *Manager) gotStillDown(q *request, r *reply) {
	var pi mad.PortInfo
	if r.good() && mad.Decode(&pi, r.data) {
		m.sweep.conflicts[q.arg].there = pi.PortState <= mad.PortDown
	}
}

// settleConflicts says what was found. Of devices with one GUID the first that
// was found stays, the ports that lead to the others have no peer. A moved
// cable is a reason to sweep again.
func (m *Manager) settleConflicts() {
	for i := range m.sweep.conflicts {
		c := &m.sweep.conflicts[i]
		switch {
		case c.old == c.from: // reported twice, or mended by another
		case c.there:
			m.note("duplicate GUID %v: port %d is reached by route %s and by route %s", c.to.Node.Info.NodeGUID, c.to.Num, drPath(c.route), drPath(c.from.pathTo()))
		case c.from.Peer == nil && len(c.from.Node.Path) < mad.MaxHops:
			m.note("port %d of %v has moved from route %s to route %s while the subnet was swept", c.to.Num, c.to.Node.Info.NodeGUID, drPath(c.route), drPath(c.from.pathTo()))
			m.sweep.again = true
		default:
			m.sweep.again = true
		}
	}
	m.stats.Conflicts += uint64(len(m.sweep.conflicts))
}

package cm

import (
	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Statuses of a SIDR_REP (IBTA vol. 1 §12.11.2.2).
const (
	sidrSuccess     = 0
	sidrUnsupported = 1 // service ID not supported
	sidrReject      = 2 // rejected by the service provider
	sidrNoQP        = 3
)

// sidrKey is a query: which, and of whom.
type sidrKey struct {
	id  uint32
	lid wire.LID
	gid hca.GID
}

// Resolve asks which queue pair serves a datagram service (SIDR_REQ). data are
// up to 216 bytes. EventResolved or EventUnreachable follow.
func (m *Manager) Resolve(h Handler, d Dial, data []byte) (*Conn, error) {
	d.setDefaults()
	if len(data) > 216 {
		return nil, hca.ErrInvalid
	}
	c, err := m.newConn(h)
	if err != nil {
		return nil, err
	}
	c.typ, c.service, c.path, c.to = hca.UD, d.ServiceID, d.Path, d.Path.Address()
	c.tid = uint64(m.tidHigh)<<32 | uint64(c.localID)
	q := mad.ServiceIDRequest{RequestID: c.localID, PKey: d.Path.PKey, ServiceID: d.ServiceID}
	copy(q.PrivateData[:], data)
	c.compose(mad.AttrServiceIDRequest, &q)
	c.state = SIDRREQSent
	c.begin(2*sim.Time(d.Path.Lifetime.Picoseconds())+sim.Time(d.ResponseTimeout.Picoseconds()), int(d.Retries))
	return c, nil
}

// onSIDRREQ hands a query to its listener, or repeats the answer.
func (m *Manager) onSIDRREQ(from *hca.MADAddress, p mad.Packet) {
	var q mad.ServiceIDRequest
	if !mad.Decode(&q, p.Data()) {
		m.ctr.Malformed++
		return
	}
	key := sidrKey{id: q.RequestID, lid: from.LID}
	if from.GRH {
		key.gid = from.GID
	}
	if c := m.sidr[key]; c != nil {
		m.ctr.Duplicates++
		if c.state == SIDRAnswered {
			m.send(&c.to, c.msg[:])
		}
		return
	}
	refuse := func(status uint8) {
		m.answer(from, p, mad.AttrServiceIDReply, &mad.ServiceIDReply{RequestID: q.RequestID, Status: status, ServiceID: q.ServiceID})
	}
	s := m.service(q.ServiceID)
	if s == nil {
		refuse(sidrUnsupported)
		return
	}
	c, err := m.newConn(nil)
	if err != nil {
		refuse(sidrNoQP)
		return
	}
	c.state, c.typ, c.sidr, c.service = SIDRREQReceived, hca.UD, key, q.ServiceID
	c.tid, c.remoteID = p.TID(), q.RequestID
	c.to = *from
	c.to.QPN, c.to.QKey = wire.QP1, wire.QP1QKey
	c.path = Path{
		DGID: from.GID, SGIDIndex: from.SGIDIndex, FlowLabel: from.FlowLabel, TrafficClass: from.TrafficClass, HopLimit: from.HopLimit,
		PKey: q.PKey, PKeyIndex: from.PKeyIndex, DLID: from.LID, SL: from.SL, Global: from.GRH, MAC: from.MAC,
	}
	if g := m.port.GIDs(); int(from.SGIDIndex) < len(g) {
		c.path.SGID = g[from.SGIDIndex].GID
	}
	m.sidr[key] = c
	switch v := s.l.Request(c, &Request{ServiceID: q.ServiceID, Datagram: true, From: from, Params: Params{Type: hca.UD, PrivateData: q.PrivateData[:]}}); {
	case v == Pending || c.state != SIDRREQReceived:
	case v == Ignore:
		c.free()
	case v == Verdict(mad.RejectInvalidServiceID):
		c.answerSIDR(&mad.ServiceIDReply{Status: sidrUnsupported})
	default:
		c.answerSIDR(&mad.ServiceIDReply{Status: sidrReject})
	}
}

// Answer tells the peer of a query which queue pair serves, and its Q_Key.
// data are up to 136 bytes. ErrState: there is no query to answer.
func (c *Conn) Answer(qpn, qkey uint32, data []byte) error {
	if c.state != SIDRREQReceived {
		return hca.ErrState
	}
	if len(data) > 136 || qpn>>24 != 0 {
		return hca.ErrInvalid
	}
	r := mad.ServiceIDReply{Status: sidrSuccess, QPN: qpn, QKey: qkey}
	copy(r.PrivateData[:], data)
	c.answerSIDR(&r)
	return nil
}

// Refuse tells the peer of a query that it gets no queue pair.
func (c *Conn) Refuse(data []byte) error {
	if c.state != SIDRREQReceived {
		return hca.ErrState
	}
	if len(data) > 136 {
		return hca.ErrInvalid
	}
	r := mad.ServiceIDReply{Status: sidrReject}
	copy(r.PrivateData[:], data)
	c.answerSIDR(&r)
	return nil
}

// sidrMemory is how long an answer is kept for a peer that did not get it.
const sidrMemory = 30 * sim.Second

func (c *Conn) answerSIDR(r *mad.ServiceIDReply) {
	r.RequestID, r.ServiceID = c.remoteID, c.service
	c.compose(mad.AttrServiceIDReply, r)
	c.m.send(&c.to, c.msg[:])
	c.state, c.h = SIDRAnswered, nil
	c.timer.Reset(c.m.proc.Now() + sidrMemory)
}

func (m *Manager) onSIDRREP(p mad.Packet) {
	var r mad.ServiceIDReply
	if !mad.Decode(&r, p.Data()) {
		m.ctr.Malformed++
		return
	}
	c := m.local[r.RequestID]
	if c == nil || c.state != SIDRREQSent {
		m.ctr.Unmatched++
		return
	}
	c.reset()
	c.remoteQPN = r.QPN
	c.tell(&Event{Type: EventResolved, Status: r.Status, QPN: r.QPN, QKey: r.QKey, PrivateData: r.PrivateData[:]})
}

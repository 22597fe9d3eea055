package cm

import (
	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Defaults of a REQ, as librdmacm's kernel part has them.
const (
	DefaultResponseTimeout mad.Timeout = 20 // 4.3 s for an answer of a manager
	DefaultRetries                     = 15 // of each message
)

// Dial says how to reach a service.
type Dial struct {
	ServiceID uint64
	Path      Path

	ResponseTimeout mad.Timeout // for the managers' answers; 0: DefaultResponseTimeout
	Retries         uint8       // of each message, 1 to 15; 0: DefaultRetries
}

func (d *Dial) setDefaults() {
	if d.ResponseTimeout == 0 {
		d.ResponseTimeout = DefaultResponseTimeout
	}
	if d.Retries == 0 || d.Retries > 15 {
		d.Retries = DefaultRetries
	}
}

// Request is a REQ or a SIDR_REQ as a Listener gets it. The depths of Params
// are from the listener's view: what it may use.
type Request struct {
	ServiceID uint64
	Datagram  bool // SIDR_REQ: the service is a queue pair that takes datagrams
	Params    Params
	From      *hca.MADAddress
}

// transports are codes of Transport Service Type (IBTA vol. 1 §12.7.13).
var transports = [...]hca.QPType{0: hca.RC, 1: hca.UC}

// Connect sends a REQ. Events follow: EventReply, EventRejected or
// EventUnreachable. ErrInvalid: a parameter that a REQ cannot have.
func (m *Manager) Connect(h Handler, d Dial, p *Params) (*Conn, error) {
	d.setDefaults()
	tr := uint8(0)
	if p.Type == hca.UC {
		tr = 1
	}
	if p.Type != transports[tr] || len(p.PrivateData) > 92 || p.QPN>>24 != 0 || p.RetryCount > 7 || p.RNRRetryCount > 7 {
		return nil, hca.ErrInvalid
	}
	c, err := m.newConn(h)
	if err != nil {
		return nil, err
	}
	c.service, c.path, c.to, c.typ = d.ServiceID, d.Path, d.Path.Address(), p.Type
	c.tid = uint64(m.tidHigh)<<32 | uint64(c.localID)
	c.localQPN = p.QPN
	c.initiatorDepth, c.responderResources = p.InitiatorDepth, p.ResponderResources
	c.retryCount, c.rnrRetry = p.RetryCount, p.RNRRetryCount
	c.ackTimeout = ackTimeout(m.cfg.AckDelay, d.Path.Lifetime)
	c.timeout, c.retries = sim.Time(d.ResponseTimeout.Picoseconds()), int(d.Retries)
	if p.StartingPSN != 0 {
		c.psn = p.StartingPSN & 0xffffff
	}
	q := mad.ConnectRequest{
		LocalCommID: c.localID, ServiceID: d.ServiceID, LocalCAGUID: wire.GUID(m.cfg.GUID), LocalQKey: p.QKey, LocalQPN: p.QPN,
		ResponderResources: p.ResponderResources, InitiatorDepth: p.InitiatorDepth,
		RemoteCMResponseTimeout: d.ResponseTimeout, LocalCMResponseTimeout: d.ResponseTimeout, MaxCMRetries: d.Retries,
		TransportServiceType: tr, EndToEndFlowControl: p.FlowControl, StartingPSN: c.psn, RetryCount: p.RetryCount,
		PKey: d.Path.PKey, PathMTU: d.Path.MTU, RNRRetryCount: p.RNRRetryCount, SRQ: p.SRQ,
		PrimaryLocalLID: d.Path.SLID, PrimaryRemoteLID: d.Path.DLID,
		PrimaryLocalGID: wire.GID(d.Path.SGID), PrimaryRemoteGID: wire.GID(d.Path.DGID), PrimaryFlowLabel: d.Path.FlowLabel,
		PrimaryPacketRate: d.Path.Rate, PrimaryTrafficClass: d.Path.TrafficClass, PrimaryHopLimit: d.Path.HopLimit,
		PrimarySL: d.Path.SL, PrimarySubnetLocal: d.Path.local(), PrimaryLocalAckTimeout: c.ackTimeout,
	}
	if m.cfg.RoCE { // there are no LIDs (IBTA vol. 1 annex A16.5.2)
		q.PrimaryLocalLID, q.PrimaryRemoteLID = wire.LIDPermissive, wire.LIDPermissive
	}
	copy(q.PrivateData[:], p.PrivateData)
	c.compose(mad.AttrConnectRequest, &q)
	c.state = REQSent
	c.begin(2*sim.Time(d.Path.Lifetime.Picoseconds())+c.timeout, c.retries)
	return c, nil
}

// onREQ is the passive side's first step (IBTA vol. 1 §12.9.8.3.1).
func (m *Manager) onREQ(from *hca.MADAddress, p mad.Packet) {
	var q mad.ConnectRequest
	if !mad.Decode(&q, p.Data()) {
		m.ctr.Malformed++
		return
	}
	id := remoteKey{q.LocalCAGUID, q.LocalCommID}
	if c := m.remoteID[id]; c != nil {
		c.onDuplicateREQ(from, p, &q)
		return
	}
	qp := remoteKey{q.LocalCAGUID, q.LocalQPN}
	if c := m.remoteQP[qp]; c != nil {
		// The peer has forgotten the connection that this queue pair was in.
		m.rejectREQ(from, p, &q, mad.RejectStaleConnection, nil)
		c.stale()
		return
	}
	s := m.service(q.ServiceID)
	if s == nil {
		m.rejectREQ(from, p, &q, mad.RejectInvalidServiceID, nil)
		return
	}
	if int(q.TransportServiceType) >= len(transports) {
		m.rejectREQ(from, p, &q, mad.RejectInvalidTransport, nil)
		return
	}
	path, reason, ari := m.pathOf(from, &q)
	if reason != 0 {
		m.rejectREQ(from, p, &q, reason, ari)
		return
	}
	c, err := m.newConn(nil)
	if err != nil {
		m.rejectREQ(from, p, &q, mad.RejectNoResources, nil)
		return
	}
	c.accepted(from, p, &q, path)
	m.remoteID[id], m.remoteQP[qp] = c, c
	c.hasID, c.hasQP = true, true
	r := Request{ServiceID: q.ServiceID, From: from, Params: Params{
		Type: c.typ, QPN: q.LocalQPN, QKey: q.LocalQKey, StartingPSN: q.StartingPSN, FlowControl: q.EndToEndFlowControl,
		ResponderResources: q.InitiatorDepth, InitiatorDepth: q.ResponderResources,
		RetryCount: q.RetryCount, RNRRetryCount: q.RNRRetryCount, SRQ: q.SRQ, PrivateData: q.PrivateData[:],
	}}
	c.decide(s.l.Request(c, &r))
}

// decide carries out a listener's verdict, unless it has acted by itself.
func (c *Conn) decide(v Verdict) {
	if v == Pending || c.freed {
		return
	}
	c.h = nil
	if v != Ignore {
		c.sendREJ(mad.RejectReason(v), nil, nil)
	}
	c.free()
}

// accepted takes over what a REQ says.
func (c *Conn) accepted(from *hca.MADAddress, p mad.Packet, q *mad.ConnectRequest, path Path) {
	c.state, c.typ = REQReceived, transports[q.TransportServiceType]
	c.tid, c.service = p.TID(), q.ServiceID
	c.remoteID, c.remoteGUID, c.remoteQPN, c.peerPSN = q.LocalCommID, q.LocalCAGUID, q.LocalQPN, q.StartingPSN
	c.path, c.to = path, path.Address()
	c.to.LID, c.to.SL, c.to.PathBits, c.to.PKeyIndex, c.to.QPN = from.LID, from.SL, from.PathBits, from.PKeyIndex, from.QPN
	c.timeout, c.retries = sim.Time(q.LocalCMResponseTimeout.Picoseconds()), int(q.MaxCMRetries)
	c.initiatorDepth, c.responderResources = q.ResponderResources, q.InitiatorDepth
	c.retryCount, c.rnrRetry, c.ackTimeout = q.RetryCount, q.RNRRetryCount, q.PrimaryLocalAckTimeout
}

// pathOf is the way back to who sent a REQ, or why there is none.
func (m *Manager) pathOf(from *hca.MADAddress, q *mad.ConnectRequest) (p Path, r mad.RejectReason, ari []byte) {
	p = Path{
		SGID: hca.GID(q.PrimaryRemoteGID), DGID: hca.GID(q.PrimaryLocalGID), FlowLabel: q.PrimaryFlowLabel,
		TrafficClass: q.PrimaryTrafficClass, HopLimit: q.PrimaryHopLimit, PKey: q.PKey, MTU: q.PathMTU, Rate: q.PrimaryPacketRate,
		SLID: q.PrimaryRemoteLID, DLID: q.PrimaryLocalLID, SL: q.PrimarySL, Global: m.cfg.RoCE || !q.PrimarySubnetLocal, MAC: from.MAC,
	}
	i, ok := m.gidIndex(p.SGID)
	if !ok {
		if g := m.port.GIDs(); len(g) > 0 && g[0].Valid {
			ari = append(ari, g[0].GID[:]...)
		}
		return p, mad.RejectPrimaryRemoteGID, ari
	}
	p.SGIDIndex = i
	if p.PKeyIndex, ok = m.pkeyIndex(q.PKey); !ok {
		return p, mad.RejectUnsupported, nil
	}
	if mtu := mad.MTU(m.port.ActiveMTU()); q.PathMTU.Bytes() == 0 || q.PathMTU > mtu {
		return p, mad.RejectInvalidMTU, []byte{byte(mtu)} // the largest that goes (§12.6.7.2)
	}
	if m.cfg.RoCE {
		p.SLID, p.DLID = 0, 0
		return p, 0, nil
	}
	base, lmc := m.cfg.LID()
	if p.SLID != wire.LIDPermissive && p.SLID>>lmc != base>>lmc {
		return p, mad.RejectPrimaryRemoteLID, []byte{byte(base >> 8), byte(base)}
	}
	if p.SLID != wire.LIDPermissive {
		p.PathBits = uint8(p.SLID & (1<<lmc - 1))
	}
	if p.DLID == wire.LIDPermissive || !q.PrimarySubnetLocal { // the way to the router is that of the message
		p.DLID, p.SL = from.LID, from.SL
	}
	return p, 0, nil
}

// onDuplicateREQ answers a REQ that came again.
func (c *Conn) onDuplicateREQ(from *hca.MADAddress, p mad.Packet, q *mad.ConnectRequest) {
	c.m.ctr.Duplicates++
	switch c.state {
	case REQReceived:
		if c.mra {
			c.sendMRA(mad.CMMessageREQ)
		}
	case REPSent, REPWait:
		c.m.send(&c.to, c.msg[:]) // the REP got lost; its own timer goes on
	case TimeWait:
		c.m.rejectREQ(from, p, q, mad.RejectStaleConnection, nil)
	}
}

// stale ends a connection that the peer does not know any more.
func (c *Conn) stale() {
	if c.state == Established {
		c.composeDREQ(nil)
		c.m.send(&c.to, c.msg[:])
		c.enterTimeWait()
		c.tell(&Event{Type: EventDisconnected, Timeout: true})
	}
}

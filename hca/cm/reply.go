package cm

import (
	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Accept sends the REP to a REQ. EventEstablished, EventRejected or
// EventUnreachable follow. ErrState: there is no REQ to answer.
func (c *Conn) Accept(p *Params) error {
	if c.state != REQReceived {
		return hca.ErrState
	}
	if len(p.PrivateData) > 196 || p.QPN>>24 != 0 || p.RNRRetryCount > 7 {
		return hca.ErrInvalid
	}
	c.localQPN = p.QPN
	c.initiatorDepth, c.responderResources = p.InitiatorDepth, p.ResponderResources
	if p.StartingPSN != 0 {
		c.psn = p.StartingPSN & 0xffffff
	}
	r := mad.ConnectReply{
		LocalCommID: c.localID, RemoteCommID: c.remoteID, LocalQKey: p.QKey, LocalQPN: p.QPN, StartingPSN: c.psn,
		ResponderResources: p.ResponderResources, InitiatorDepth: p.InitiatorDepth, TargetAckDelay: c.m.cfg.AckDelay,
		EndToEndFlowControl: p.FlowControl, RNRRetryCount: p.RNRRetryCount, SRQ: p.SRQ, LocalCAGUID: wire.GUID(c.m.cfg.GUID),
	}
	copy(r.PrivateData[:], p.PrivateData)
	c.compose(mad.AttrConnectReply, &r)
	c.state = REPSent
	c.begin(c.timeout, c.retries)
	return nil
}

// onREP is the active side's second step (IBTA vol. 1 §12.9.7.1).
func (m *Manager) onREP(from *hca.MADAddress, p mad.Packet) {
	var r mad.ConnectReply
	if !mad.Decode(&r, p.Data()) {
		m.ctr.Malformed++
		return
	}
	c := m.local[r.RemoteCommID]
	if c != nil && (c.state == REQSent || c.state == REQWait) {
		c.onREP(&r)
		return
	}
	if c = m.find(r.RemoteCommID, r.LocalCommID); c == nil || c.remoteGUID != r.LocalCAGUID {
		m.ctr.Unmatched++
		m.rejectREP(from, p, &r, mad.RejectInvalidCommID)
		return
	}
	m.ctr.Duplicates++
	switch c.state {
	case Established:
		if c.notified {
			c.sendRTU(nil)
		}
	case REPReceived:
		if c.mra {
			c.sendMRA(mad.CMMessageREP)
		}
	}
}

func (c *Conn) onREP(r *mad.ConnectReply) {
	m := c.m
	id, qp := remoteKey{r.LocalCAGUID, r.LocalCommID}, remoteKey{r.LocalCAGUID, r.LocalQPN}
	c.remoteID, c.remoteGUID, c.remoteQPN = r.LocalCommID, r.LocalCAGUID, r.LocalQPN
	if old := m.remoteQP[qp]; m.remoteID[id] != nil || old != nil {
		c.state = REPReceived // the message that is rejected
		c.sendREJ(mad.RejectStaleConnection, nil, nil)
		c.reset()
		c.tell(&Event{Type: EventRejected, Reason: mad.RejectStaleConnection})
		if old != nil {
			old.stale()
		}
		return
	}
	m.remoteID[id], m.remoteQP[qp] = c, c
	c.hasID, c.hasQP = true, true
	c.timer.Stop()
	c.state, c.mra = REPReceived, false
	c.peerPSN = r.StartingPSN
	c.initiatorDepth, c.responderResources = r.ResponderResources, r.InitiatorDepth
	c.rnrRetry = r.RNRRetryCount
	c.ackTimeout = ackTimeout(r.TargetAckDelay, c.path.Lifetime)
	c.tell(&Event{Type: EventReply, PrivateData: r.PrivateData[:], Params: &Params{
		Type: c.typ, QPN: r.LocalQPN, QKey: r.LocalQKey, StartingPSN: r.StartingPSN, ResponderResources: r.InitiatorDepth,
		InitiatorDepth: r.ResponderResources, FlowControl: r.EndToEndFlowControl, RNRRetryCount: r.RNRRetryCount, SRQ: r.SRQ,
		PrivateData: r.PrivateData[:],
	}})
}

// Confirm sends the RTU to a REP: the queue pair is ready. data are up to 224
// bytes for the peer. ErrState: there is no REP to confirm.
func (c *Conn) Confirm(data []byte) error {
	if c.state != REPReceived {
		return hca.ErrState
	}
	if len(data) > 224 {
		return hca.ErrInvalid
	}
	c.state, c.notified = Established, true
	c.sendRTU(data)
	return nil
}

// sendRTU sends the RTU, which may be asked for again by a REP.
func (c *Conn) sendRTU(data []byte) {
	r := mad.ReadyToUse{LocalCommID: c.localID, RemoteCommID: c.remoteID}
	copy(r.PrivateData[:], data)
	c.say(mad.AttrReadyToUse, &r)
}

// onRTU is the passive side's last step.
func (m *Manager) onRTU(p mad.Packet) {
	var r mad.ReadyToUse
	if !mad.Decode(&r, p.Data()) {
		m.ctr.Malformed++
		return
	}
	c := m.find(r.RemoteCommID, r.LocalCommID)
	switch {
	case c == nil:
		m.ctr.Unmatched++
	case c.state == REPSent || c.state == REPWait:
		c.establish(r.PrivateData[:])
	default:
		m.ctr.Duplicates++
	}
}

// Notify tells that a packet came to the queue pair (Communication
// Established): the peer is ready even though its RTU is not here.
func (c *Conn) Notify() {
	if c.state == REPSent || c.state == REPWait {
		c.establish(nil)
	}
}

func (c *Conn) establish(data []byte) {
	c.timer.Stop()
	c.state = Established
	c.tell(&Event{Type: EventEstablished, PrivateData: data})
}

// Delay has the peer told to wait, for up to 69 s, when it asks again: the
// consumer may take its time to answer (MRA, IBTA vol. 1 §12.6.6).
func (c *Conn) Delay() { c.mra = c.state == REQReceived || c.state == REPReceived }

// mraTimeout is how long the peer of a consumer that thinks is told to wait.
const mraTimeout mad.Timeout = 24

func (c *Conn) sendMRA(of mad.CMMessage) {
	c.say(mad.AttrMessageReceiptAck, &mad.MessageReceiptAck{
		LocalCommID: c.localID, RemoteCommID: c.remoteID, MessageMRAed: of, ServiceTimeout: mraTimeout,
	})
}

// onMRA makes this side wait longer for its answer.
func (m *Manager) onMRA(p mad.Packet) {
	var r mad.MessageReceiptAck
	if !mad.Decode(&r, p.Data()) {
		m.ctr.Malformed++
		return
	}
	c := m.local[r.RemoteCommID]
	switch {
	case c == nil:
		m.ctr.Unmatched++
		return
	case r.MessageMRAed == mad.CMMessageREQ && c.state == REQSent:
		c.state = REQWait
	case r.MessageMRAed == mad.CMMessageREP && c.state == REPSent && c.remoteID == r.LocalCommID:
		c.state = REPWait
	case r.MessageMRAed == mad.CMMessageREQ && c.state == REQWait, r.MessageMRAed == mad.CMMessageREP && c.state == REPWait:
	default:
		m.ctr.Duplicates++
		return
	}
	c.timer.Reset(m.proc.Now() + c.wait + sim.Time(r.ServiceTimeout.Picoseconds()))
}

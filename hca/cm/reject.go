package cm

import (
	"encoding/binary"

	"cnuas/hca"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Reject sends a REJ instead of a REP or an RTU. data are up to 148 bytes, ari
// up to 72. ErrState: there is nothing to reject.
func (c *Conn) Reject(reason mad.RejectReason, ari, data []byte) error {
	if len(data) > 148 || len(ari) > 72 {
		return hca.ErrInvalid
	}
	switch c.state {
	case REQReceived:
		c.sendREJ(reason, ari, data)
		c.reset()
	case REPReceived, REPSent, REPWait:
		c.timer.Stop()
		c.sendREJ(reason, ari, data)
		c.enterTimeWait()
	default:
		return hca.ErrState
	}
	return nil
}

func (c *Conn) sendREJ(reason mad.RejectReason, ari, data []byte) {
	r := mad.ConnectReject{LocalCommID: c.localID, RemoteCommID: c.remoteID, Reason: reason, RejectInfoLength: uint8(len(ari))}
	switch c.state {
	case REQReceived:
		r.MessageRejected = mad.CMMessageREQ
	case REPReceived:
		r.MessageRejected = mad.CMMessageREP
	default:
		r.MessageRejected = mad.CMMessageOther
	}
	copy(r.ARI[:], ari)
	copy(r.PrivateData[:], data)
	c.say(mad.AttrConnectReject, &r)
}

// rejectREQ rejects a REQ for which no connection is made.
func (m *Manager) rejectREQ(from *hca.MADAddress, p mad.Packet, q *mad.ConnectRequest, reason mad.RejectReason, ari []byte) {
	r := mad.ConnectReject{RemoteCommID: q.LocalCommID, MessageRejected: mad.CMMessageREQ, Reason: reason, RejectInfoLength: uint8(len(ari))}
	copy(r.ARI[:], ari)
	m.answer(from, p, mad.AttrConnectReject, &r)
}

// rejectREP rejects a REP of a connection that is not known.
func (m *Manager) rejectREP(from *hca.MADAddress, p mad.Packet, q *mad.ConnectReply, reason mad.RejectReason) {
	m.answer(from, p, mad.AttrConnectReject, &mad.ConnectReject{
		LocalCommID: q.RemoteCommID, RemoteCommID: q.LocalCommID, MessageRejected: mad.CMMessageREP, Reason: reason,
	})
}

// onREJ ends what the peer refuses.
func (m *Manager) onREJ(p mad.Packet) {
	var r mad.ConnectReject
	if !mad.Decode(&r, p.Data()) {
		m.ctr.Malformed++
		return
	}
	c := m.rejected(&r)
	if c == nil {
		m.ctr.Unmatched++
		return
	}
	e := Event{Type: EventRejected, Reason: r.Reason, ARI: r.ARI[:min(int(r.RejectInfoLength), len(r.ARI))], PrivateData: r.PrivateData[:]}
	switch c.state {
	case REQSent, REQWait, REPReceived:
		c.timer.Stop()
		if r.Reason == mad.RejectStaleConnection { // packets of that connection may be under way
			c.enterTimeWait()
		} else {
			c.reset()
		}
	case REQReceived:
		c.reset()
	case REPSent, REPWait, Established, DREQReceived:
		c.timer.Stop()
		c.enterTimeWait()
	case DREQSent:
		c.enterTimeWait()
		e = Event{Type: EventDisconnected}
	default:
		m.ctr.Duplicates++
		return
	}
	c.tell(&e)
}

// rejected finds the connection that a REJ is for. A peer that gave up waiting
// may not know our ID, and says who it is instead; who rejects a REQ may have
// none of its own (IBTA vol. 1 §12.6.7.1).
func (m *Manager) rejected(r *mad.ConnectReject) *Conn {
	if r.Reason == mad.RejectTimeout {
		guid := wire.GUID(binary.BigEndian.Uint64(r.ARI[:]))
		if c := m.remoteID[remoteKey{guid, r.LocalCommID}]; c != nil {
			return c
		}
	}
	c := m.local[r.RemoteCommID]
	if c == nil || c.remoteID == r.LocalCommID || r.MessageRejected == mad.CMMessageREQ && (c.state == REQSent || c.state == REQWait) {
		return c
	}
	return nil
}

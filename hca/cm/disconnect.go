package cm

import (
	"cnuas/hca"
	"cnuas/internal/wire/mad"
)

// Disconnect ends an established connection, or answers the peer that does.
// EventDisconnected follows in the first case, EventTimeWaitExit in both. data
// are up to 220 bytes. ErrState: there is no connection.
func (c *Conn) Disconnect(data []byte) error {
	if len(data) > 220 {
		return hca.ErrInvalid
	}
	switch c.state {
	case Established, REPSent, REPWait:
		c.composeDREQ(data)
		c.state = DREQSent
		c.begin(c.timeout, c.retries)
	case DREQReceived:
		c.sendDREP(data)
		c.enterTimeWait()
	default:
		return hca.ErrState
	}
	return nil
}

func (c *Conn) composeDREQ(data []byte) {
	d := mad.DisconnectRequest{LocalCommID: c.localID, RemoteCommID: c.remoteID, RemoteQPN: c.remoteQPN}
	copy(d.PrivateData[:], data)
	c.tid = uint64(c.m.tidHigh)<<32 | uint64(c.localID)
	c.compose(mad.AttrDisconnectRequest, &d)
}

func (c *Conn) sendDREP(data []byte) {
	d := mad.DisconnectReply{LocalCommID: c.localID, RemoteCommID: c.remoteID}
	copy(d.PrivateData[:], data)
	c.say(mad.AttrDisconnectReply, &d)
}

// onDREQ tells the consumer that the peer disconnects. A DREQ for no connection
// is answered all the same: the DREP to the first may have been lost (IBTA
// vol. 1 §12.9.8.3.3).
func (m *Manager) onDREQ(from *hca.MADAddress, p mad.Packet) {
	var d mad.DisconnectRequest
	if !mad.Decode(&d, p.Data()) {
		m.ctr.Malformed++
		return
	}
	c := m.find(d.RemoteCommID, d.LocalCommID)
	if c == nil || c.state == TimeWait {
		m.ctr.Duplicates++
		m.answer(from, p, mad.AttrDisconnectReply, &mad.DisconnectReply{LocalCommID: d.RemoteCommID, RemoteCommID: d.LocalCommID})
		return
	}
	if d.RemoteQPN != c.localQPN {
		m.ctr.Unmatched++
		return
	}
	switch c.state {
	case REPSent, REPWait, Established:
		c.timer.Stop()
		c.state, c.tid = DREQReceived, p.TID()
		c.tell(&Event{Type: EventDisconnect, PrivateData: d.PrivateData[:]})
	case DREQSent: // both at once: each answers the other
		c.tid = p.TID()
		c.timer.Stop()
		c.sendDREP(nil)
		c.enterTimeWait()
		c.tell(&Event{Type: EventDisconnected})
	default:
		m.ctr.Duplicates++
	}
}

func (m *Manager) onDREP(p mad.Packet) {
	var d mad.DisconnectReply
	if !mad.Decode(&d, p.Data()) {
		m.ctr.Malformed++
		return
	}
	c := m.find(d.RemoteCommID, d.LocalCommID)
	if c == nil || c.state != DREQSent {
		m.ctr.Unmatched++
		return
	}
	c.timer.Stop()
	c.enterTimeWait()
	c.tell(&Event{Type: EventDisconnected, PrivateData: d.PrivateData[:]})
}

// apUnsupported: alternate paths are not supported (IBTA vol. 1 §12.8.2.1).
const apUnsupported = 2

// onLAP refuses an alternate path.
func (m *Manager) onLAP(from *hca.MADAddress, p mad.Packet) {
	var l mad.LoadAlternatePath
	if !mad.Decode(&l, p.Data()) {
		m.ctr.Malformed++
		return
	}
	if c := m.find(l.RemoteCommID, l.LocalCommID); c == nil || c.state != Established {
		m.ctr.Unmatched++
		return
	}
	m.answer(from, p, mad.AttrAlternatePathResponse, &mad.AlternatePathResponse{
		LocalCommID: l.RemoteCommID, RemoteCommID: l.LocalCommID, APStatus: apUnsupported,
	})
}

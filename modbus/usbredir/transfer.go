package usbredir

// Standard requests (USB 2.0, table 9-4).
const (
	getStatus        = 0
	clearFeature     = 1
	setFeature       = 3
	getDescriptor    = 6
	getConfiguration = 8
	getInterface     = 10
)

// Features (USB 2.0, table 9-6).
const (
	endpointHalt       = 0
	deviceRemoteWakeup = 1
)

// control serves a control transfer.
func (s *session) control(m Message) error {
	c, err := ParseControl(m.Body)
	if err != nil {
		return err
	}
	st, data := Invalid, []byte(nil)
	switch {
	case c.Endpoint&0x7f != 0, c.In() && len(c.Data) != 0, !c.In() && len(c.Data) != int(c.Length):
	case c.RequestType&0x60 == 0:
		data, st = s.standard(c.Setup)
	default:
		data, st = s.h.dev.Control(c.Setup, c.Data)
	}
	c.Status, c.Data = st, nil
	if c.In() {
		c.Data = data[:min(len(data), int(c.Length))]
		c.Length = uint16(len(c.Data))
	}
	s.send(ControlPacket, m.ID, c.Append(nil))
	return nil
}

// standard serves the requests that every device has. Addresses, configurations
// and settings are set by messages of their own.
func (s *session) standard(q Setup) ([]byte, Status) {
	recipient := q.RequestType & 0x1f
	switch {
	case q.Request == getDescriptor && q.In() && recipient == 0:
		if d := s.h.desc.Get(uint8(q.Value>>8), uint8(q.Value)); d != nil {
			return d, Success
		}
	case q.Request == getStatus && q.In() && recipient <= 2:
		return []byte{0, 0}, Success
	case q.Request == getConfiguration && q.In() && recipient == 0:
		return []byte{s.config}, Success
	case q.Request == getInterface && q.In() && recipient == 1 && s.config != 0:
		return []byte{0}, Success
	case (q.Request == clearFeature || q.Request == setFeature) && !q.In():
		if recipient == 2 && q.Value == endpointHalt || recipient == 0 && q.Value == deviceRemoteWakeup {
			return nil, Success
		}
	}
	return nil, Stall // USB 2.0, 9.2.7
}

// bulk hands a bulk transfer to the device.
func (s *session) bulk(m Message) error {
	p, err := ParseBulk(m.Body)
	if err != nil {
		return err
	}
	if _, ok := s.pending[m.ID]; ok {
		return violation("two transfers with id %d", m.ID)
	}
	in := p.Endpoint&0x80 != 0
	t := Transfer{s: s, id: m.ID, Endpoint: p.Endpoint, Length: int(p.Length)}
	st := Success
	switch {
	case !s.hasBulk(p.Endpoint), p.Stream != 0, in && len(p.Data) != 0, !in && len(p.Data) != int(p.Length):
		st = Invalid
	case s.config == 0, len(s.pending) >= maxPending:
		st = IOError // no endpoint answers
	}
	if st != Success {
		s.answer(t, st, nil)
		return nil
	}
	s.pending[m.ID] = t
	if in {
		s.h.dev.In(t)
	} else {
		s.h.dev.Out(t, p.Data)
	}
	return nil
}

func (s *session) hasBulk(address uint8) bool {
	for i := range s.h.endpoints {
		if e := &s.h.endpoints[i]; e.Address == address && e.Type == BulkTransfer {
			return true
		}
	}
	return false
}

// complete answers a transfer that waits.
func (s *session) complete(t Transfer, st Status, data []byte) {
	if s.pending[t.id] != t {
		return
	}
	delete(s.pending, t.id)
	s.answer(t, st, data)
}

func (s *session) answer(t Transfer, st Status, data []byte) {
	p := BulkBody{Endpoint: t.Endpoint, Status: st}
	if t.Endpoint&0x80 != 0 {
		if len(data) > t.Length {
			p.Status, data = Babble, data[:t.Length]
		}
		p.Data, p.Length = data, uint16(len(data))
	} else if st == Success {
		p.Length = uint16(t.Length)
	}
	s.send(BulkPacket, t.id, p.Append(nil))
}

// cancel takes one transfer back. One that is completed already, as the message
// may cross the answer, is not there any more.
func (s *session) cancel(id uint64) {
	if t, ok := s.pending[id]; ok {
		delete(s.pending, id)
		s.h.dev.Cancel(t)
		s.answer(t, Cancelled, nil)
	}
}

// cancelAll takes all transfers back.
func (s *session) cancelAll() {
	for id := range s.pending {
		s.cancel(id)
	}
}

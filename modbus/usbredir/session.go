package usbredir

// maxPending bounds the transfers of one peer that wait for the device. A guest
// has a few for each endpoint.
const maxPending = 1024

// session is what is between a device and one peer. All of it but out belongs
// to the device's thread.
type session struct {
	h       *Host
	out     *outbox
	peer    Capabilities // of both sides
	wide    bool
	there   bool  // the device is announced
	leaving bool  // it was withdrawn, and the peer has not said that it knows
	config  uint8 // 0: not configured
	pending map[uint64]Transfer
}

func (s *session) send(t Type, id uint64, body []byte) {
	s.out.send(Message{Type: t, ID: id, Body: body}, s.wide)
}

// announce tells the peer what device is there, the device packet last.
func (s *session) announce() {
	if s.leaving {
		return // when the peer knows that the old one has gone
	}
	s.there, s.config = true, 0
	s.tellConfiguration(0, true)
	s.send(DeviceConnect, 0, s.h.desc.connect().Append(nil, s.peer))
}

// withdraw tells the peer that the device has gone.
func (s *session) withdraw() {
	if !s.there {
		return
	}
	s.void()
	s.there = false
	s.leaving = s.peer.Has(CapDisconnectAck)
	s.send(DeviceDisconnect, 0, nil)
}

// void forgets all transfers: nobody waits for them.
func (s *session) void() { clear(s.pending) }

// tellConfiguration sends the interfaces and endpoints that there are.
func (s *session) tellConfiguration(id uint64, configured bool) {
	fs, es := s.h.interfaces, s.h.endpoints
	if !configured {
		fs, es = nil, nil
	}
	s.send(InterfaceInfo, id, appendInterfaces(nil, fs))
	s.send(EndpointInfo, id, appendEndpoints(nil, es, uint16(s.h.desc.Device[7]), s.peer))
}

// handle serves one message. An error ends the session.
func (s *session) handle(m Message) error {
	switch m.Type {
	case DeviceDisconnectAck:
		s.leaving = false
		if s.h.in && !s.there {
			s.announce()
		}
		return nil
	case Hello:
		return violation("a second hello")
	case DeviceConnect, DeviceDisconnect, InterfaceInfo, EndpointInfo, ConfigurationStatus, AltSettingStatus:
		return violation("message %d is for a usb-guest", m.Type)
	}
	if !s.there {
		return nil // about the device that was unplugged
	}
	switch m.Type {
	case Reset:
		s.cancelAll()
		s.config = 0
		s.h.dev.Reset()
	case SetConfiguration:
		return s.setConfiguration(m)
	case GetConfiguration:
		s.send(ConfigurationStatus, m.ID, []byte{byte(Success), s.config})
	case SetAltSetting, GetAltSetting:
		return s.altSetting(m)
	case CancelDataPacket:
		s.cancel(m.ID)
	case ControlPacket:
		return s.control(m)
	case BulkPacket:
		return s.bulk(m)
	default:
		return s.refuse(m)
	}
	return nil
}

func (s *session) setConfiguration(m Message) error {
	if len(m.Body) < 1 {
		return violation("set configuration without one")
	}
	st := Success
	switch v := m.Body[0]; v {
	case 0, s.h.desc.configuration():
		s.cancelAll()
		s.config = v
		s.tellConfiguration(m.ID, v != 0)
	default:
		st = Stall // USB 2.0, 9.4.7
	}
	s.send(ConfigurationStatus, m.ID, []byte{byte(st), s.config})
	return nil
}

func (s *session) altSetting(m Message) error {
	n := 1
	if m.Type == SetAltSetting {
		n = 2
	}
	if len(m.Body) < n {
		return violation("message %d with %d bytes", m.Type, len(m.Body))
	}
	st, number := Stall, m.Body[0]
	for _, f := range s.h.interfaces {
		// Only setting 0 of each is listed (Descriptors.walk).
		if f.Number == number && s.config != 0 && (n == 1 || m.Body[1] == 0) {
			st = Success
		}
	}
	if n == 2 && st == Success {
		s.tellConfiguration(m.ID, true)
	}
	s.send(AltSettingStatus, m.ID, []byte{byte(st), number, 0})
	return nil
}

// refuse answers what asks for kinds of transfers that no Device here has.
func (s *session) refuse(m Message) error {
	answer, n := Type(0), 0
	switch m.Type {
	case StartIsoStream, StopIsoStream:
		answer, n = IsoStreamStatus, 1
	case StartInterruptReceiving, StopInterruptReceiving:
		answer, n = InterruptReceivingStatus, 1
	case AllocBulkStreams, FreeBulkStreams:
		answer, n = BulkStreamsStatus, 4
	case StartBulkReceiving, StopBulkReceiving:
		answer, n = BulkReceivingStatus, 5
	case IsoPacket, InterruptPacket:
		answer, n = m.Type, 4
	default:
		return nil // of a later version, or about filters: needs no answer
	}
	b := m.Body
	if len(b) < n {
		return violation("message %d with %d bytes, at least %d are needed", m.Type, len(b), n)
	}
	switch answer {
	case IsoStreamStatus, InterruptReceivingStatus:
		b = []byte{byte(Invalid), b[0]}
	case BulkStreamsStatus: // endpoints, number of streams, status
		b = append(le.AppendUint32(b[:4:4], 0), byte(Invalid))
	case BulkReceivingStatus: // stream, endpoint, status
		at := 4
		if m.Type == StartBulkReceiving {
			if at = 8; len(b) <= at {
				return violation("message %d with %d bytes, at least %d are needed", m.Type, len(b), at+1)
			}
		}
		b = []byte{b[0], b[1], b[2], b[3], b[at], byte(Invalid)}
	default: // endpoint, status, length
		b = []byte{b[0], byte(Invalid), 0, 0}
	}
	s.send(answer, m.ID, b)
	return nil
}

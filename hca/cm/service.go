package cm

import "cnuas/hca"

// Service is an entry in the table of those who listen.
type Service struct {
	m        *Manager
	id, mask uint64
	l        Listener
}

// Listener is told of requests for its service.
type Listener interface {
	// Request is called for a REQ or a SIDR_REQ. It calls c.SetHandler and
	// returns Pending to answer later, or has answered already, or returns
	// Ignore or the reason to reject. r is valid during the call only.
	Request(c *Conn, r *Request) Verdict
}

// Verdict of a Listener: a reason to reject, or one of those below.
type Verdict uint16

// Verdicts that are no reasons to reject.
const (
	Pending Verdict = 0      // the connection lives on
	Ignore  Verdict = 0xffff // forget the message; the peer sends it again
)

const allBits = ^uint64(0)

// Listen has l told of requests for the service IDs that agree with id in the
// bits of mask. ErrBusy: the same is listened for already. A request goes to
// the listener of exactly its ID before those with fewer bits.
func (m *Manager) Listen(id, mask uint64, l Listener) (*Service, error) {
	s := &Service{m, id & mask, mask, l}
	if m.closed {
		return nil, hca.ErrState
	}
	if mask == allBits {
		if m.exact[id] != nil {
			return nil, hca.ErrBusy
		}
		m.exact[id] = s
		return s, nil
	}
	for _, x := range m.masked {
		if x.mask == mask && x.id == s.id {
			return nil, hca.ErrBusy
		}
	}
	m.masked = append(m.masked, s)
	return s, nil
}

// Close ends the listening. Connections that were made stay.
func (s *Service) Close() {
	m := s.m
	if s.mask == allBits {
		if m.exact[s.id] == s {
			delete(m.exact, s.id)
		}
		return
	}
	for i, x := range m.masked {
		if x == s {
			m.masked = append(m.masked[:i:i], m.masked[i+1:]...)
			return
		}
	}
}

func (m *Manager) service(id uint64) *Service {
	if s := m.exact[id]; s != nil {
		return s
	}
	for _, s := range m.masked {
		if id&s.mask == s.id {
			return s
		}
	}
	return nil
}

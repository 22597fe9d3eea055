// Package ideal is the switch of the management network: a learning bridge
// without rate, delay, buffer or loss. What it is given it hands on within the
// same call, so that it makes no events and no frame can be in it.
package ideal

import "cnuas/internal/sim"

// Read IEEE 802.1Q clause 8.6 to 8.8 before editing. VLAN tags are not looked
// at: the network is one broadcast domain.

const (
	// AgeingTime is how long an address is believed without a frame from it
	// (IEEE 802.1Q table 8-6, default).
	AgeingTime = 300 * sim.Second

	// maxAddresses bounds what one port can make the switch learn.
	maxAddresses = 1024

	// sweepTime is how long a port that has used up its share waits until it
	// looks again for addresses to forget: each look costs a walk of the table.
	sweepTime = sim.Second

	minFrame = 14 // destination, source, EtherType
)

// Host is what is plugged into a port.
type Host interface {
	// Deliver takes a frame, without FCS, that is valid during the call. A host
	// that answers does so later, not within the call. False: the frame was not
	// taken.
	Deliver(frame []byte) bool
}

// Counters of a port, from the view of its host.
type Counters struct {
	TxFrames, TxBytes uint64 // sent by the host
	RxFrames, RxBytes uint64 // taken by it
	NotTaken          uint64 // for the host, which did not take them
	Malformed         uint64 // sent by the host, shorter than an Ethernet header or from a group address
}

type station struct {
	port int
	seen sim.Time
}

type port struct {
	name      string
	host      Host
	addresses int
	sweep     sim.Time // not to look for addresses to forget before
	c         Counters
}

// Switch is an ideal learning bridge. It belongs to the engine's thread.
type Switch struct {
	ports []port
	table map[[6]byte]station
}

// New makes a switch without ports.
func New() *Switch { return &Switch{table: map[[6]byte]station{}} }

// AddPort adds a port and returns its number, from 0. Nothing is plugged in.
func (s *Switch) AddPort(name string) int {
	s.ports = append(s.ports, port{name: name})
	return len(s.ports) - 1
}

// Plug connects a host with a port; nil takes it away.
func (s *Switch) Plug(p int, h Host) { s.ports[p].host = h }

// Ports is the number of ports.
func (s *Switch) Ports() int { return len(s.ports) }

// Name is the name of a port.
func (s *Switch) Name(p int) string { return s.ports[p].name }

// Counters returns a copy of a port's counters.
func (s *Switch) Counters(p int) Counters { return s.ports[p].c }

// Send takes a frame, without FCS, from the host at port p and delivers it: to
// the port where its destination was last seen, or to all others. The frame is
// the caller's again when Send returns.
func (s *Switch) Send(now sim.Time, p int, frame []byte) {
	in := &s.ports[p]
	if len(frame) < minFrame || frame[6]&1 != 0 {
		in.c.Malformed++
		return
	}
	in.c.TxFrames++
	in.c.TxBytes += uint64(len(frame))
	s.learn(now, p, [6]byte(frame[6:12]))
	if frame[0]&1 == 0 {
		if to, ok := s.table[[6]byte(frame[:6])]; ok && now-to.seen < AgeingTime {
			if to.port != p { // else the destination has seen it already
				s.ports[to.port].deliver(frame)
			}
			return
		}
	}
	for i := range s.ports {
		if i != p {
			s.ports[i].deliver(frame)
		}
	}
}

// learn notes where an address is. A port that has used up its share learns
// again when it has forgotten others; frames to what is not learned are flooded.
func (s *Switch) learn(now sim.Time, p int, mac [6]byte) {
	old, known := s.table[mac]
	if !known || old.port != p {
		if s.ports[p].addresses >= maxAddresses {
			if now >= s.ports[p].sweep {
				s.forget(now, p)
			}
			if s.ports[p].addresses >= maxAddresses {
				return
			}
		}
		if known {
			s.ports[old.port].addresses--
		}
		s.ports[p].addresses++
	}
	s.table[mac] = station{p, now}
}

// forget drops the addresses of a port that have aged. The order in which it
// finds them does not show.
func (s *Switch) forget(now sim.Time, p int) {
	s.ports[p].sweep = now + sweepTime
	for mac, st := range s.table {
		if st.port == p && now-st.seen >= AgeingTime {
			delete(s.table, mac)
			s.ports[p].addresses--
		}
	}
}

func (p *port) deliver(frame []byte) {
	if p.host == nil {
		return
	}
	if !p.host.Deliver(frame) {
		p.c.NotTaken++
		return
	}
	p.c.RxFrames++
	p.c.RxBytes += uint64(len(frame))
}

package ether

import (
	"fmt"

	switching "cnuas/switch"
)

// Counters returns a copy of the counters of port i.
func (s *Switch) Counters(i int) switching.PortCounters {
	c := s.ports[i].count
	for p := range switching.Priorities {
		c.IngressPeak[p], c.HeadroomPeak[p] = s.buffer.Peaks(i, p)
	}
	return c
}

// Totals are counters of the whole switch.
type Totals struct {
	Rx, Tx    uint64 // data frames
	Generated uint64 // frames that the switch made itself: ARP, ICMP, ND
	Copies    uint64 // frames that flooding added
	Consumed  uint64 // frames that ended in the switch because they were for it
	Queued    uint64 // frames that wait now
	Drops     [switching.NumDropReasons]uint64

	FDBMoves uint64 // stations that were seen at another port than before
	FDBFull  uint64 // addresses that were not learned for lack of room
}

// Dropped is the sum of all drops.
func (t Totals) Dropped() (n uint64) {
	for _, d := range t.Drops {
		n += d
	}
	return n
}

// Totals sums up the ports.
func (s *Switch) Totals() Totals {
	t := Totals{Generated: s.generated, Copies: s.copies, Consumed: s.consumed, FDBMoves: s.fdb.moves, FDBFull: s.fdb.full}
	for _, p := range s.ports {
		for c := range switching.Priorities {
			t.Rx += p.count.Rx[c].Frames
			t.Tx += p.count.Tx[c].Frames
			t.Queued += uint64(p.queue[c].Len())
			for r, n := range p.count.Drops[c] {
				t.Drops[r] += n
			}
		}
	}
	return t
}

// Conservation checks that no frame and no byte of buffer was lost or made:
// received + generated + copies = sent + dropped + consumed + queued, and the
// buffer holds what is queued. The error says what does not add up.
func (s *Switch) Conservation() error {
	t := s.Totals()
	in, out := t.Rx+t.Generated+t.Copies, t.Tx+t.Dropped()+t.Consumed+t.Queued
	if in != out {
		return fmt.Errorf("switch %s: %d frames came in (%d received, %d generated, %d copied), %d are accounted for (%d sent, %d dropped, %d consumed, %d queued)",
			s.cfg.Name, in, t.Rx, t.Generated, t.Copies, out, t.Tx, t.Dropped(), t.Consumed, t.Queued)
	}
	var bytes int64
	for _, p := range s.ports {
		for c := range p.queue {
			bytes += p.queue[c].Bytes()
		}
	}
	if o := s.buffer.Occupancy(); o != bytes {
		return fmt.Errorf("switch %s: the buffer counts %d bytes, the queues hold %d", s.cfg.Name, o, bytes)
	}
	return nil
}

// Package qdisc chooses which of a port's eight priorities sends next: strict
// priorities first, the others by deficit weighted round robin. Switch ports
// and NIC ports share it.
//
// Read IEEE 802.1Q clause 8.6.8 (transmission selection) and clause 37 (ETS)
// before editing.
package qdisc

import "math/bits"

// Config of one scheduler.
type Config struct {
	Strict uint8     // bit n: priority n is strict; the highest number goes first
	Weight [8]uint16 // shares of the other priorities; 0 is taken as 1
}

// quantum is the bytes that weight 1 earns in a round: above the largest frame
// divided by a common weight, so that few rounds pass without a frame.
const quantum = 1536

// maxDebt is one frame of the largest size, in bytes.
const maxDebt = 16384

// Scheduler is the state of one port. Frames are charged after they were
// taken, so the length of the next frame need not be known: a priority may
// overdraw its deficit by one frame and pays for it in the next rounds.
type Scheduler struct {
	strict  uint8
	weight  [8]int32
	deficit [8]int32
	at      int // the priority whose turn it is
}

// Init sets the configuration and empties the state.
func (s *Scheduler) Init(c Config) {
	*s = Scheduler{strict: c.Strict}
	for i, w := range c.Weight {
		s.weight[i] = int32(max(w, 1)) * quantum
	}
}

// Pick returns the priority that may send next among those in ready, a set
// with bit n for priority n; -1 if the set is empty.
func (s *Scheduler) Pick(ready uint8) int {
	if ready == 0 {
		return -1
	}
	if x := ready & s.strict; x != 0 {
		return 7 - bits.LeadingZeros8(x)
	}
	if ready&(ready-1) == 0 { // only one: no sharing to keep account of
		return bits.TrailingZeros8(ready)
	}
	for {
		i := s.at
		if ready&(1<<i) != 0 && s.deficit[i] > 0 {
			return i
		}
		if ready&(1<<i) == 0 && s.deficit[i] > 0 {
			s.deficit[i] = 0 // an idle priority saves nothing up
		}
		s.at = (i + 1) & 7
		if j := s.at; ready&(1<<j) != 0 {
			s.deficit[j] += s.weight[j]
		}
	}
}

// Charge accounts for a frame of n bytes that priority i has sent.
func (s *Scheduler) Charge(i, n int) {
	if s.strict&(1<<i) != 0 {
		return
	}
	s.deficit[i] -= int32(n)
	// A priority that is alone for long must not run up a debt that would
	// starve it when company comes.
	s.deficit[i] = max(s.deficit[i], -maxDebt)
}

package ether

// Read RFC 7567 (active queue management) before editing.
//
// A queue that drops only what finds it full treats senders by the accident of
// their phase: of two that send at the rate at which the queue drains, one finds
// the place that a departure has just freed each time, and the other none, for
// as long as both go on. Clocks of real ports differ and drift; those of a
// simulation do not. Random early drop (Floyd and Jacobson, "Random early
// detection gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993, which
// names the effect) gives every frame a chance.

// early decides whether to drop a frame of a lossy priority that finds waits
// bytes in its queue: never below a share of the queue's limit, then with a
// probability that rises to 1 at the limit.
func (s *Switch) early(prio int, waits int64) bool {
	limit := float64(s.buffer.Threshold(prio))
	begin := s.red[prio] * limit
	if float64(waits) <= begin {
		return false
	}
	return s.redRand.Chance((float64(waits) - begin) / (limit - begin))
}

package daemon

import "cnuas/internal/host"

// ring is the way from a node's kernel into the program, as far as losses go:
// what the kernel drops while its link is down is no loss at the ring.
type ring struct {
	dev     *host.TAP
	down    bool
	atDown  uint64 // the kernel's counter when the link went down
	excused uint64 // counted in earlier times without link
}

// carrier lets the kernel see the state of the link.
func (r *ring) carrier(up bool) {
	dropped := r.dropped()
	if up && r.down {
		r.excused += dropped - r.atDown
	}
	r.down, r.atDown = !up, dropped
	r.dev.Carrier(up)
}

// dropped is the kernel's own counter of frames that it lost on this way.
func (r *ring) dropped() uint64 {
	s, err := r.dev.Kernel()
	if err != nil {
		return r.atDown
	}
	return s.Lost()
}

// ringLoss turns a reading of that counter into what was lost with a link.
func (r *ring) ringLoss(dropped uint64) uint64 {
	lost := dropped - r.excused
	if r.down {
		lost -= dropped - r.atDown
	}
	return lost
}

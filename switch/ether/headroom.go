package ether

import (
	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// Headroom returns the bytes of one lossless priority that may still arrive at
// a port after a frame went above Xoff, so that nothing is lost. It is the sum
// that IEEE 802.1Q-2018 annex N and the vendors' guides (SONiC's buffer model,
// Broadcom's and Mellanox's headroom calculators) make, without what has no
// counterpart here: the delays of PHYs, of cut-through pipelines and of the
// peer's reaction, and the rounding to cells.
//
//   - the frame that went above Xoff                             1 frame
//   - one that this port may be sending, which the PFC frame waits for  1 frame
//   - PFC frames of the other priorities that were decided before       8 x 84 bytes
//   - one that the peer may have begun when the PFC frame arrives        1 frame
//   - what is on the wire: 2 x delay x rate
//
// maxFrame is the largest frame in bytes from destination address to FCS, of
// any priority.
func Headroom(rate link.Rate, delay sim.Time, maxFrame int) int64 {
	round := int64((float64(2*delay)*float64(rate)/8 + float64(sim.Second) - 1) / float64(sim.Second))
	return round + 3*int64(maxFrame+frame.Overhead) + 8*int64(wire.PFCLen+wire.FCSLen+frame.Overhead)
}

package switching

// Priorities is the number of traffic classes of an Ethernet port.
const Priorities = 8

// Count is frames and their bytes from destination address to FCS.
type Count struct{ Frames, Bytes uint64 }

// Add counts one frame of n bytes.
func (c *Count) Add(n int32) {
	c.Frames++
	c.Bytes += uint64(n)
}

// PortCounters of one port, by priority where that means something. A frame
// that is dropped before it is classified counts in priority 0.
type PortCounters struct {
	Rx, Tx    [Priorities]Count // data frames; flow control is counted below
	Drops     [Priorities][NumDropReasons]uint64
	ECNMarked [Priorities]uint64 // frames that this port's queue marked CE
	PauseSent [Priorities]uint64 // flow-control frames that stopped the peer
	PauseRecv [Priorities]uint64 // flow-control frames that stopped this port
	PFCSent   uint64             // flow-control frames, resuming ones included
	PFCRecv   uint64

	QueuePeak    [Priorities]int64 // most bytes that ever waited to leave here
	IngressPeak  [Priorities]int64 // most bytes held that arrived here, headroom included
	HeadroomPeak [Priorities]int64 // most bytes of headroom in use
}

// Dropped returns the drops for one reason, of all priorities.
func (c *PortCounters) Dropped(r DropReason) (n uint64) {
	for p := range c.Drops {
		n += c.Drops[p][r]
	}
	return n
}

// TotalDrops returns the drops for every reason.
func (c *PortCounters) TotalDrops() (n uint64) {
	for r := range NumDropReasons {
		n += c.Dropped(r)
	}
	return n
}

package wire

// Credits of one virtual lane (IBTA vol. 1 §7.9.4): a sender counts the blocks
// of 64 bytes that it sent since the lane was initialised, a receiver says how
// far it may go. All counts are modulo FlowModulo.
const (
	FlowBlock     = 64   // bytes
	FlowModulo    = 4096 // of FCTBS and FCCL
	FlowMaxCredit = 2048 // blocks that a receiver can grant
)

// FlowBlocks is what a packet of n bytes, from its LRH to its VCRC, costs.
func FlowBlocks(n int) int { return (n + FlowBlock - 1) / FlowBlock }

// FlowSender is the sending side of a lane.
type FlowSender struct {
	Sent  uint16 // FCTBS: blocks sent
	Limit uint16 // FCCL of the last flow control packet that came
}

// MaySend tells whether a packet of so many blocks may be sent.
func (s *FlowSender) MaySend(blocks int) bool {
	return (s.Limit-s.Sent-uint16(blocks))&(FlowModulo-1) <= FlowMaxCredit && blocks <= FlowMaxCredit
}

// Send counts a packet of so many blocks.
func (s *FlowSender) Send(blocks int) { s.Sent = (s.Sent + uint16(blocks)) & (FlowModulo - 1) }

// Update takes the FCCL of a flow control packet.
func (s *FlowSender) Update(fccl uint16) { s.Limit = fccl & (FlowModulo - 1) }

// Credits is how many blocks may be sent now.
func (s *FlowSender) Credits() int {
	if n := (s.Limit - s.Sent) & (FlowModulo - 1); n <= FlowMaxCredit {
		return int(n)
	}
	return 0
}

// FlowReceiver is the receiving side of a lane.
type FlowReceiver struct {
	ABR uint16 // blocks received, adjusted: what the sender's FCTBS should be
}

// Receive counts a packet of so many blocks.
func (r *FlowReceiver) Receive(blocks int) { r.ABR = (r.ABR + uint16(blocks)) & (FlowModulo - 1) }

// Sync takes the FCTBS of a flow control packet, which makes good for packets
// that were lost: it returns how many blocks that is.
func (r *FlowReceiver) Sync(fctbs uint16) (lost int) {
	fctbs &= FlowModulo - 1
	lost = int((fctbs - r.ABR) & (FlowModulo - 1))
	r.ABR = fctbs
	return lost
}

// FCCL is what to grant when so many blocks of buffer are free.
func (r *FlowReceiver) FCCL(free int) uint16 {
	return (r.ABR + uint16(max(0, min(free, FlowMaxCredit)))) & (FlowModulo - 1)
}

package hca

// Counters are what a device has counted since it was made. Bytes are frame
// lengths from destination address to FCS, or from LRH to VCRC.
type Counters struct {
	TxFrames, TxBytes uint64 // frames sent; with InfiniBand without those of the agents
	RxFrames, RxBytes uint64 // frames that the NIC or the port handed up
	TxLinkDown        uint64 // of the former, sent while the port was down, or on a service level without a lane

	TxRequests, RxRequests       uint64 // request packets of RC and UC; received: in order
	TxResponses, RxResponses     uint64 // READ responses and atomic acknowledges
	TxAcks, RxAcks               uint64 // positive
	TxRNRNaks, RxRNRNaks         uint64
	TxSeqNaks, RxSeqNaks         uint64 // PSN sequence error
	TxInvalidNaks, RxInvalidNaks uint64 // invalid request
	TxAccessNaks, RxAccessNaks   uint64 // remote access error
	TxOpNaks, RxOpNaks           uint64 // remote operational error

	Retransmitted  uint64 // request packets sent again
	Timeouts       uint64 // local ACK timeouts that led to a retry or an error
	ImpliedNaks    uint64 // gaps in READ and atomic responses
	RNRWaits       uint64 // RNR timers waited for
	RetryExceeded  uint64 // queue pairs that gave up
	Duplicates     uint64 // requests received again
	OutOfSequence  uint64 // requests received beyond a gap
	RxStale        uint64 // responses that acknowledge nothing outstanding
	LocalErrors    uint64 // work requests that failed locally: keys, lengths, opcodes
	MemoryFailures uint64 // copies to or from a program's memory that failed
	CQOverruns     uint64

	TxDatagrams, RxDatagrams uint64 // of UD; received: delivered, each copy of a multicast
	OverMTU                  uint64 // datagrams that were longer than the MTU and so not sent

	MADsSent, MADsReceived uint64 // of QP0 and QP1, without those that agents answer
	OwnDropped             uint64 // MADs and IPoIB packets that found no room to wait

	CNPSent, CNPReceived uint64
	ECNMarked            uint64 // frames received with CE, packets with FECN

	Dropped [NumDropReasons]uint64
}

// DropReason says why a received frame was not used.
type DropReason uint8

// Reasons for a drop.
const (
	DropMalformed  DropReason = iota // headers or lengths do not add up
	DropICRC                         // invariant CRC wrong
	DropOpcode                       // opcode not known, or not of the queue pair's service
	DropPKey                         // P_Key is not that of the queue pair
	DropNoQP                         // no such queue pair
	DropQPState                      // the queue pair's state does not receive
	DropAddress                      // addresses are not those of the connection
	DropOutOfOrder                   // request beyond a gap
	DropStale                        // response that is not expected
	DropRNR                          // no receive work request
	DropQKey                         // datagram with another Q_Key
	DropTooLong                      // UC, UD: longer than the receive work request
	DropMessage                      // UC: of a message that is not wanted any more or not permitted
	NumDropReasons
)

// String names the reason.
func (r DropReason) String() string {
	names := [NumDropReasons]string{"malformed", "icrc", "opcode", "pkey", "no qp", "qp state", "address", "out of order", "stale", "rnr", "q_key", "too long", "message"}
	if r < NumDropReasons {
		return names[r]
	}
	return "unknown"
}

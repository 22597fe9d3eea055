package ipoib

// Counters of an interface.
type Counters struct {
	TxPackets, TxBytes uint64 // IP packets sent, without the encapsulation header
	RxPackets, RxBytes uint64 // given to the kernel

	NotTaken       uint64 // for the kernel, which did not take them
	TxNotJoined    uint64 // the broadcast group was not joined
	TxUnresolved   uint64 // nobody answered for the next hop
	TxNoPath       uint64 // subnet administration gave no path
	TxNoGroup      uint64 // or no multicast group
	TxOverflow     uint64 // too many waited for the same, or too much is being resolved
	TxTooLong      uint64 // longer than the MTU
	TxMalformed    uint64 // not an IP packet, or not one for other hosts
	TxFailed       uint64 // the queue pair refused them
	RxMalformed    uint64 // not a datagram of RFC 4391
	Solicits       uint64 // ARP requests and neighbour solicitations sent
	Advertisements uint64 // ARP replies and neighbour advertisements sent
	Joins          uint64 // joins that were granted
	JoinFailures   uint64 // refused, or not answered
	PathQueries    uint64
	PathFailures   uint64 // refused, or not answered
}

package nic

import "cnuas/internal/wire"

// A CNP names the queue pair of the sender that is to slow down. A RoCEv2
// packet does not carry that number, only the one it goes to, and the kernel
// that knows both tells nobody. But what the kernel sends back does: an ACK has
// the PSN of a request that arrived, and goes to the queue pair it came from
// (IBTA vol. 1 §9.7.5.1). So the NIC remembers PSNs that arrive and watches
// what leaves.

// Distances in PSNs within which what leaves belongs to what arrived.
const (
	// replyWindow bounds how far the kernel's replies lag behind requests:
	// rdma_rxe leaves 128 packets unacknowledged, the HCA of this project 256.
	replyWindow = 512
	// requestWindow bounds how far its requests run ahead of replies: rdma_rxe
	// has up to 128 READs under way, here of 256 KiB in packets of 4 KiB.
	requestWindow = 8192
)

// near tells whether two PSNs are at most w apart, around the end of the range
// as well.
func near(a, b, w uint32) bool {
	d := (a - b) & wire.PSNMask
	return d <= w || d >= wire.PSNMask+1-w
}

// isReply tells whether a packet of the reliable connection answers a request.
func isReply(op wire.Opcode) bool {
	return op >= wire.RCReadRespFirst && op <= wire.RCAtomicAcknowledge
}

// received notes a packet for the kernel and returns its flow. A PSN far from
// the last one means that the queue pair was connected anew.
func (t *flowTable) received(peer *[16]byte, op wire.Opcode, qpn, psn uint32, port uint16) *flow {
	f := t.local(peer, qpn)
	if f == nil {
		f = t.add(peer, qpn)
	}
	last, seen := &f.request, &f.asked
	if isReply(op) {
		last, seen = &f.reply, &f.answered
	}
	if *seen && !near(psn, *last, requestWindow) {
		t.forget(f)
	}
	*last, *seen, f.in = psn, true, port
	return f
}

// sent looks at a packet of the kernel: it may tell the peer's queue pair of a
// flow. One that could belong to several tells nothing, unless the UDP source
// port decides: Linux derives it from both queue pair numbers, the same for
// both directions (rdma_get_udp_sport).
func (t *flowTable) sent(peer *[16]byte, op wire.Opcode, qpn, psn uint32, port uint16) {
	if f := t.remote(peer, qpn); f != nil {
		if op != wire.RCAcknowledge || !f.asked || near(psn, f.request, requestWindow) {
			f.out = port
			return
		}
		t.forget(f)
	}
	if t.unknown == 0 {
		return
	}
	var n, found, ports, byPort int
	for i := range t.flows {
		f := &t.flows[i]
		if !f.used || f.known || f.peer != *peer || !f.matches(op, psn) {
			continue
		}
		n, found = n+1, i
		if f.in == port {
			ports, byPort = ports+1, i
		}
	}
	if n > 1 {
		n, found = ports, byPort
	}
	if n == 1 {
		t.learn(found, qpn).out = port
	}
}

// matches tells whether a packet that leaves may be of the flow's connection.
func (f *flow) matches(op wire.Opcode, psn uint32) bool {
	if isReply(op) {
		return f.asked && near(psn, f.request, replyWindow)
	}
	return f.answered && near(psn, f.reply, requestWindow)
}

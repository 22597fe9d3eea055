package nic

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// RoCERule is what a NIC sets in RoCEv2 frames of the node's kernel. rdma_rxe
// sends them with TOS 0 unless a program asks for a traffic class: without the
// rule they would travel in the priority of everything else, and a switch would
// drop where it should mark (RFC 3168 §5). The ICRC does not cover the byte
// (IBTA annex A17.3.3), so it stays right.
type RoCERule struct {
	DSCP uint8 // 0 to 63: of frames that have neither DSCP nor ECN of their own
	ECT  bool  // frames that are not ECN-capable become ECT(0)
}

// apply rewrites a frame that was parsed, its layers included. It reports
// whether something changed.
func (r *RoCERule) apply(f *frame.Frame) bool {
	l := &f.Meta.Layers
	if !l.RoCE {
		return false
	}
	tos := l.TOS
	if tos == 0 {
		tos = r.DSCP << 2
	}
	if r.ECT && tos&3 == wire.ECNNotECT {
		tos |= wire.ECNECT0
	}
	if tos == l.TOS {
		return false
	}
	if h := f.Data[l.L3:]; l.EtherType == wire.EtherTypeIPv4 {
		wire.IPv4(h).UpdateTOS(tos)
	} else {
		wire.IPv6(h).SetTrafficClass(tos)
	}
	l.TOS = tos
	return true
}

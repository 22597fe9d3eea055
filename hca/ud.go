package hca

import (
	"cnuas/hca/ring"
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §9.8.3.2 and §11.4.2.1 before editing.

// grhLen is what a datagram's receive work request has in front of the payload,
// in bytes.
const grhLen = 40

// onDatagram is the receiving side of UD: Q_Key, receive work request, length,
// EXECUTE. What does not fit is dropped and leaves the work request for the
// next; a stranger must not be able to stop a queue pair. grh is the network
// header; without one its place stays as it is. It reports whether payload or
// header were given to the batch.
func (q *QP) onDatagram(p *request, f *frame.Frame, grh []byte) bool {
	d := q.ctx.dev
	h := wire.DETH(p.head)
	switch {
	case h.QKey() != q.attr.QKey:
		d.badQKey(h.QKey(), f)
		return d.drop(DropQKey)
	case uint32(len(p.pay)) > d.datagramMTU():
		return d.drop(DropMalformed)
	case !q.hasRecv():
		return d.drop(DropRNR)
	}
	if st := q.peekRecv(); st != 0 {
		q.advanceRecv()
		q.refuse(nakRemoteOperational, st)
		return false
	}
	n := uint64(grhLen + len(p.pay))
	if n > q.resp.recvLen {
		return d.drop(DropTooLong)
	}
	q.advanceRecv()
	e := ring.CQE{Opcode: ring.WCRecv, ByteLen: uint32(n), SrcQP: h.SrcQP()}
	if grh != nil {
		e.Flags = ring.WCFlagGRH
		q.place(grh)
	} else {
		q.skip(grhLen)
	}
	q.place(p.pay)
	if d.ib != nil {
		d.from(&e, q, f)
	} else if grh != nil {
		e.SL = wcRoCEIPv6
		if grh[0]>>4 != 6 {
			e.SL = wcRoCEIPv4
		}
	}
	q.received(p, e)
	d.ctr.RxDatagrams++
	return true
}

// The completion of a datagram tells which header is in front of it (IBTA annex
// A17.4.5.1). Verbs have no field for that; RoCE does not need the SL, and
// adapters of the ConnectX line say it there: bit 3: UDP, bits 2-0: 1 IPv6, 2
// IPv4. UCX finds the destination address by it.
const (
	wcRoCEIPv6 = 8 | 1
	wcRoCEIPv4 = 8 | 2
)

// networkHeader makes the GRH area of a datagram of the frame itself, so that
// nothing is copied: an IPv6 header or a GRH as it is, an IPv4 header in the
// last 20 bytes behind zeros, as rdma_rxe has it (IBTA annex A17.4.5.2). The
// Ethernet header is lost. nil: there is none.
func (d *Device) networkHeader(f *frame.Frame, l3 int) []byte {
	if d.ib != nil {
		if l3 == 0 {
			return nil
		}
		return f.Data[l3 : l3+grhLen]
	}
	if f.Data[l3]>>4 == 6 {
		return f.Data[l3 : l3+grhLen]
	}
	const zeros = grhLen - wire.IPv4Len
	if l3 < zeros {
		f.Shift(l3 - zeros) // into the headroom
		l3 = zeros
	}
	g := f.Data[l3-zeros : l3+wire.IPv4Len]
	clear(g[:zeros])
	return g
}

// destinationGID is the destination address of a packet as a GID.
func destinationGID(b []byte, l3 int) (g GID) {
	if b[l3]>>4 == 6 {
		copy(g[:], b[l3+24:])
	} else {
		g[10], g[11] = 0xff, 0xff
		copy(g[12:], b[l3+16:l3+20])
	}
	return g
}

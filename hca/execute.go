package hca

import (
	"cnuas/hca/ring"
	"cnuas/hca/transport"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §9.7.4 before editing.

// onSend is CHK_RESOURCE to EXECUTE for SEND.
func (q *QP) onSend(p *request, k transport.Kind, n uint32) bool {
	r := &q.resp
	if k&transport.First != 0 {
		if !q.hasRecv() {
			q.rnrNak()
			return false
		}
		if st := q.takeRecv(true); st != 0 {
			return q.refuse(nakRemoteOperational, st)
		}
	}
	if uint64(r.recvGot)+uint64(n) > r.recvLen {
		return q.refuse(nakInvalidRequest, StatusLocLenErr)
	}
	q.place(p.pay)
	if k&transport.Last != 0 {
		q.received(p, ring.CQE{Opcode: ring.WCRecv, ByteLen: r.recvGot, SrcQP: q.attr.DestQPN})
	}
	q.executed(p, 1)
	return n > 0
}

// onWrite is CHK_OP_VALID to EXECUTE for RDMA WRITE.
func (q *QP) onWrite(p *request, k transport.Kind, n uint32) bool {
	r := &q.resp
	if k&transport.First != 0 {
		h := wire.RETH(p.head)
		total := h.DMALen()
		switch {
		case q.attr.Access&AccessRemoteWrite == 0:
			return q.refuse(nakInvalidRequest, 0)
		case total > MaxMsgSize, n > total, k&transport.Last != 0 && n != total, k&transport.Last == 0 && n == total:
			return q.refuse(nakInvalidRequest, 0)
		}
		m, va, ok := q.remote(h.RKey(), h.VA(), total, AccessRemoteWrite)
		if !ok {
			return q.refuse(nakRemoteAccess, 0)
		}
		if k&transport.Imm != 0 && !q.hasRecv() {
			q.rnrNak()
			return false
		}
		r.mr, r.va, r.left, r.total = m, va, total, total
		if m != nil {
			r.mrKey = m.key
		}
	} else {
		if n > r.left || k&transport.Last != 0 && n != r.left || k&transport.Last == 0 && n == r.left {
			return q.refuse(nakInvalidRequest, 0)
		}
		if r.mr != nil && r.mr.key != r.mrKey {
			return q.refuse(nakRemoteAccess, 0) // deregistered in the middle
		}
		if k&transport.Imm != 0 && !q.hasRecv() {
			q.rnrNak()
			return false
		}
	}
	if n > 0 {
		q.write(r.va, p.pay)
		r.va += uint64(n)
		r.left -= n
	}
	if k&(transport.Last|transport.Imm) == transport.Last|transport.Imm {
		q.takeRecv(false)
		q.received(p, ring.CQE{Opcode: ring.WCRecvImm, ByteLen: r.total, SrcQP: q.attr.DestQPN})
	}
	q.executed(p, 1)
	return n > 0
}

// remote is CHK_RKEY: the region of a key and where the range lies in memory.
// A length of zero is not checked (IBTA vol. 1 §9.7.4.1.6).
func (q *QP) remote(rkey uint32, va uint64, n uint32, need Access) (*MR, uint64, bool) {
	if n == 0 {
		return nil, 0, true
	}
	m := q.region(q.pd, rkey)
	if m == nil {
		return nil, 0, false
	}
	a, ok := m.translate(va, uint64(n), need)
	return m, a, ok
}

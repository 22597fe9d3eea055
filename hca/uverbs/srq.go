package uverbs

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/ring"
)

// Types and attributes of shared receive queues (enum ib_uverbs_srq_type,
// ibv_srq_attr_mask).
const (
	srqBasic = 0
	srqMaxWR = 1 << 0
	srqLimit = 1 << 1
)

func createSRQ(k *call) error {
	c := k.ctx
	if k.u64(9) != srqBasic || k.get(3) != nil || k.u32(8) != 0 {
		return unix.EOPNOTSUPP
	}
	a := hca.SRQAttr{MaxWR: k.u32(5), MaxSGE: max(k.u32(6), 1), Limit: k.u32(7)}
	if a.MaxWR == 0 || a.MaxWR > hca.MaxQPWR || a.MaxSGE > hca.MaxSGE {
		return unix.EINVAL
	}
	if v := k.get(10); v != nil && !v.ch.async {
		return unix.EINVAL
	}
	o, pd := &object{kind: kindSRQ, user: k.u64(4)}, k.obj(1)
	var err error
	if o.sq, err = c.file.newQueue(int(a.MaxWR), ring.RecvWQELen+int(a.MaxSGE)*ring.SGELen); err != nil {
		return err
	}
	a.MaxWR = min(o.sq.ring.Mask(), hca.MaxQPWR)
	if err = c.add(o); err == nil {
		c.srv.do(func() {
			o.srq, err = c.hctx.CreateSRQ(pd.pd, o.sq.ring, a)
			if err == nil {
				o.srq.UserHandle = uint64(o.handle)
				c.live[o.handle] = o
			}
		})
	}
	if err != nil {
		c.abandon(o)
		return err
	}
	k.undo = func() { c.abandon(o) }
	k.setNew(0, uint64(o.handle))
	k.out32(11, a.MaxWR)
	k.out32(12, a.MaxSGE)
	k.out32(13, o.handle)
	k.out(uhwOut, le.AppendUint64(o.sq.mapInfo(), uint64(o.handle))) // struct rxe_create_srq_resp
	return nil
}

// writeModifySRQ reads struct ib_uverbs_modify_srq: 0 handle  4 mask  8 max_wr
// 12 limit.
func writeModifySRQ(k *call, in []byte) ([]byte, error) {
	o, mask := k.ctx.find(kindSRQ, le.Uint32(in)), le.Uint32(in[4:])
	switch {
	case o == nil || mask&^(srqMaxWR|srqLimit) != 0:
		return nil, unix.EINVAL
	case mask&srqMaxWR != 0: // the device does not claim it
		return nil, unix.EOPNOTSUPP
	case mask == 0:
		return nil, nil
	}
	var err error
	k.ctx.srv.do(func() { err = o.srq.SetLimit(le.Uint32(in[12:])) })
	return nil, err
}

// writeQuerySRQ makes struct ib_uverbs_query_srq_resp.
func writeQuerySRQ(k *call, in []byte) ([]byte, error) {
	o := k.ctx.find(kindSRQ, le.Uint32(in[8:]))
	if o == nil {
		return nil, unix.EINVAL
	}
	var a hca.SRQAttr
	k.ctx.srv.do(func() { a = o.srq.Query() })
	b := make([]byte, 16)
	le.PutUint32(b[0:], a.MaxWR)
	le.PutUint32(b[4:], a.MaxSGE)
	le.PutUint32(b[8:], a.Limit)
	return b, nil
}

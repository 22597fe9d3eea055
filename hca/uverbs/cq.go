package uverbs

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/ring"
)

// writeResizeCQ reads struct ib_uverbs_resize_cq: 8 handle  12 length. The
// provider holds the queue's lock meanwhile and maps the new one afterwards.
func writeResizeCQ(k *call, in []byte) ([]byte, error) {
	c := k.ctx
	o, n := c.find(kindCQ, le.Uint32(in[8:])), le.Uint32(in[12:])
	if o == nil || n == 0 || n > hca.MaxCQE {
		return nil, unix.EINVAL
	}
	q, err := c.file.newQueue(int(n), ring.CQELen)
	if err != nil {
		return nil, err
	}
	c.srv.do(func() { err = o.cq.Resize(q.ring) })
	if err != nil {
		c.file.freeQueue(q)
		return nil, err
	}
	old := o.sq
	o.sq = q
	c.file.dir.ClearCQ(o.slot)
	c.file.dir.SetCQ(o.slot, q.Queue)
	c.file.freeQueue(old)
	k.out(uhwOut, q.mapInfo()) // struct rxe_resize_cq_resp
	return le.AppendUint32(le.AppendUint32(nil, q.ring.Mask()), 0), nil
}

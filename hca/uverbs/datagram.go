package uverbs

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/internal/wire"
)

// writeCreateAH reads struct ib_uverbs_create_ah.
//
//	8 user handle  16 pd  24 struct ib_uverbs_ah_attr: dgid  40 flow label
//	44 sgid index  45 hop limit  46 traffic class  48 dlid  50 sl  51 source path
//	bits  52 static rate  53 global  54 port
func writeCreateAH(k *call, in []byte) ([]byte, error) {
	c := k.ctx
	pd := c.find(kindPD, le.Uint32(in[16:]))
	if pd == nil || in[54] != 1 || !k.macOK {
		return nil, unix.EINVAL
	}
	av := k.address().av
	av.DMAC = k.mac
	o := &object{kind: kindAH}
	err := c.add(o)
	if err == nil {
		c.srv.do(func() { o.ah, err = c.hctx.CreateAH(pd.pd, av) })
	}
	if err != nil {
		c.abandon(o)
		return nil, err
	}
	k.undo = func() { c.abandon(o) }
	k.out(uhwOut, le.AppendUint32(le.AppendUint32(nil, o.ah.Num()), 0)) // struct rxe_create_ah_resp
	return le.AppendUint32(nil, o.handle), nil
}

// writeMulticast reads struct ib_uverbs_attach_mcast: 0 gid  16 qp  20 mlid. The
// LID has to be one of a group, as in Linux. It means nothing to RoCE.
func writeMulticast(k *call, in []byte, f func(*hca.QP, hca.GID, wire.LID) error) (err error) {
	o := k.ctx.find(kindQP, le.Uint32(in[16:]))
	if o == nil || k.infiniBand() && !wire.LID(le.Uint16(in[20:])).Multicast() {
		return unix.EINVAL
	}
	k.ctx.srv.do(func() { err = f(o.qp, hca.GID(in[:16]), wire.LID(le.Uint16(in[20:]))) })
	return err
}

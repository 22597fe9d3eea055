package uverbs

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/ring"
)

// mapInfo makes struct mminfo, by which the program maps a queue.
func (q *queue) mapInfo() []byte {
	b := make([]byte, 16)
	if q != nil {
		le.PutUint64(b, uint64(q.Offset))
		le.PutUint32(b[8:], uint32(q.size))
	}
	return b
}

func createCQ(k *call) error {
	c, n := k.ctx, k.u32(1)
	if n == 0 || n > hca.MaxCQE || k.u32(4) != 0 || k.u32(5) != 0 {
		return unix.EINVAL
	}
	o := &object{kind: kindCQ, user: k.u64(2)}
	if v := k.get(3); v != nil {
		if v.ch.async {
			return unix.EINVAL
		}
		o.channel = v.ch
	}
	if v := k.get(7); v != nil && !v.ch.async {
		return unix.EINVAL
	}
	var err error
	if o.sq, err = c.file.newQueue(int(n), ring.CQELen); err != nil {
		return err
	}
	if err = c.add(o); err == nil {
		c.srv.do(func() {
			o.cq, err = c.hctx.CreateCQ(o.sq.ring, func(*hca.CQ) { c.compEvent(o) })
			if err == nil {
				o.cq.UserHandle = uint64(o.handle)
				c.live[o.handle] = o
			}
		})
	}
	if err == nil {
		err = c.publish(o)
	}
	if err != nil {
		c.abandon(o)
		return err
	}
	k.undo = func() { c.abandon(o) }
	k.setNew(0, uint64(o.handle))
	k.out32(6, o.sq.ring.Mask())
	k.out(uhwOut, o.sq.mapInfo())
	return nil
}

// abandon removes an object that is only half made, or whose program cannot be
// told of it.
func (c *context) abandon(o *object) {
	if (o.cq != nil || o.qp != nil || o.pd != nil || o.mr != nil || o.ah != nil || o.srq != nil) && c.objects[o.handle] == o {
		if _, _, err := c.destroy(o); err == nil {
			return
		}
	}
	if c.objects[o.handle] == o {
		delete(c.objects, o.handle)
	}
	c.withdraw(o)
	o.freeQueues(c.file)
}

func destroyCQ(k *call) error {
	comp, async, err := k.ctx.destroy(k.obj(0))
	if err != nil {
		return err
	}
	k.out(1, le.AppendUint32(le.AppendUint32(nil, comp), async))
	return nil
}

// destroyQP destroys a queue pair or an SRQ: the answer is the same.
func destroyQP(k *call) error {
	_, async, err := k.ctx.destroy(k.obj(0))
	if err != nil {
		return err
	}
	k.out32(1, async)
	return nil
}

// destroyPlain destroys objects without events.
func destroyPlain(k *call) error {
	_, _, err := k.ctx.destroy(k.obj(0))
	return err
}

// Queue pair flags of the ioctl interface (enum ib_uverbs_qp_create_flags).
const (
	qpSigAll        = 1 << 12
	qpBlockLoopback = 1 << 1 // of the queue pair's own multicasts
)

func createQP(k *call) error {
	c := k.ctx
	raw := k.get(8).in
	o := &object{kind: kindQP, user: k.u64(7), sigAll: k.u32(10)&qpSigAll != 0}
	o.cap = hca.QPCap{
		MaxSendWR: le.Uint32(raw), MaxRecvWR: le.Uint32(raw[4:]),
		MaxSendSGE: le.Uint32(raw[8:]), MaxRecvSGE: le.Uint32(raw[12:]), MaxInline: le.Uint32(raw[16:]),
	}
	pd := k.obj(2)
	o.scq, o.rcq, o.shared = k.obj(4), k.obj(5), k.obj(3)
	if o.shared != nil {
		o.cap.MaxRecvWR, o.cap.MaxRecvSGE = 0, 0
	}
	typ, flags := k.u64(9), k.u32(10)
	switch {
	case typ > 255 || pd == nil || o.scq == nil || o.rcq == nil:
		return unix.EINVAL
	case flags&^(qpSigAll|qpBlockLoopback) != 0 || k.u32(11) != 0:
		return unix.EOPNOTSUPP
	case typ < uint64(hca.RC) || typ > uint64(hca.UD):
		return unix.EOPNOTSUPP
	case o.cap.MaxSendWR > hca.MaxQPWR || o.cap.MaxRecvWR > hca.MaxQPWR || o.cap.MaxSendSGE > hca.MaxSGE ||
		o.cap.MaxRecvSGE > hca.MaxSGE || o.cap.MaxInline > hca.MaxInline:
		return unix.EINVAL
	}
	in := hca.QPInit{Type: hca.QPType(typ), SigAll: o.sigAll, BlockLoopback: flags&qpBlockLoopback != 0}
	if err := c.makeQP(o, pd, in); err != nil {
		c.abandon(o)
		return err
	}
	k.undo = func() { c.abandon(o) }
	caps := make([]byte, 0, 20)
	for _, x := range []uint32{o.cap.MaxSendWR, o.cap.MaxRecvWR, o.cap.MaxSendSGE, o.cap.MaxRecvSGE, o.cap.MaxInline} {
		caps = le.AppendUint32(caps, x)
	}
	k.setNew(0, uint64(o.handle))
	k.out(13, caps)
	k.out32(14, o.qp.Num())
	k.out(uhwOut, append(o.rq.mapInfo(), o.sq.mapInfo()...)) // struct rxe_create_qp_resp
	return nil
}

// makeQP makes the queues, at least as large as asked for, and the queue pair.
func (c *context) makeQP(o *object, pd *object, in hca.QPInit) (err error) {
	n := &o.cap
	n.MaxSendSGE = max(n.MaxSendSGE, 1)
	pay := max(int(n.MaxInline), int(n.MaxSendSGE)*ring.SGELen)
	if o.sq, err = c.file.newQueue(int(max(n.MaxSendWR, 1)), ring.SendWQELen+pay); err != nil {
		return err
	}
	if o.shared == nil {
		n.MaxRecvSGE = max(n.MaxRecvSGE, 1)
		if o.rq, err = c.file.newQueue(int(max(n.MaxRecvWR, 1)), ring.RecvWQELen+int(n.MaxRecvSGE)*ring.SGELen); err != nil {
			return err
		}
		n.MaxRecvWR, in.RQ = min(o.rq.ring.Mask(), hca.MaxQPWR), o.rq.ring
	} else {
		in.SRQ = o.shared.srq
	}
	n.MaxSendWR = min(o.sq.ring.Mask(), hca.MaxQPWR)
	n.MaxInline = min(o.sq.Elem-ring.SendWQELen, hca.MaxInline)
	if err := c.add(o); err != nil {
		return err
	}
	c.srv.do(func() {
		in.PD, in.SendCQ, in.RecvCQ, in.SQ, in.Cap = pd.pd, o.scq.cq, o.rcq.cq, o.sq.ring, *n
		o.qp, err = c.hctx.CreateQP(in)
		if err == nil {
			o.qp.UserHandle = uint64(o.handle)
			c.live[o.handle] = o
		}
	})
	if err != nil {
		return err
	}
	return c.publish(o)
}

func allocAsync(k *call) error {
	n, err := k.newEvents()
	if err != nil {
		return err
	}
	k.setNew(0, uint64(n))
	return nil
}

// newEvents makes an asynchronous event file and returns its number in the
// program. The first one gets the events.
func (k *call) newEvents() (int, error) {
	ch, n, err := k.newChannel(asyncEventLen, true)
	if err != nil {
		return 0, err
	}
	k.ctx.srv.do(func() {
		if k.ctx.events == nil {
			k.ctx.events = ch
		}
	})
	return n, nil
}

func (k *call) newChannel(size int, async bool) (*channel, int, error) {
	ch, read, err := k.ctx.addChannel(size, async)
	if err != nil {
		return nil, 0, err
	}
	n, err := k.env.AddFD(read)
	unix.Close(read)
	if err != nil {
		k.ctx.dropChannel(ch)
		return nil, 0, err
	}
	return ch, n, nil
}

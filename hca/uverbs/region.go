package uverbs

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
)

func writeRegMR(k *call, in []byte) ([]byte, error) {
	c := k.ctx
	access := hca.Access(le.Uint32(in[36:]))
	pd := c.find(kindPD, le.Uint32(in[32:]))
	if pd == nil {
		return nil, unix.EINVAL
	}
	o := &object{kind: kindMR}
	if err := k.memoryOf(o, le.Uint64(in[8:]), le.Uint64(in[16:]), le.Uint64(in[24:]), access); err != nil {
		return nil, err
	}
	err := c.add(o)
	if err == nil {
		c.srv.do(func() { o.mr, err = c.hctx.RegMR(pd.pd, o.address(), o.length, le.Uint64(in[24:]), access) })
	}
	if err != nil {
		c.abandon(o)
		return nil, err
	}
	k.undo = func() { c.abandon(o) }
	return le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, o.handle), o.mr.LKey()), o.mr.RKey()), nil
}

// memoryOf finds the process whose memory is to be registered, and checks that
// it may use the range.
func (k *call) memoryOf(o *object, start, length, iova uint64, access hca.Access) error {
	page := uint64(unix.Getpagesize())
	if start%page != iova%page || start+length < start || start+length > 1<<procShift {
		return unix.EINVAL
	}
	i, err := k.process()
	if err != nil {
		return err
	}
	if err := k.env.CheckRange(start, length, access&hca.AccessLocalWrite != 0); err != nil {
		return err
	}
	o.start, o.length, o.proc = start, length, i
	return nil
}

// process is the index of the caller's address space in its context.
func (k *call) process() (int, error) {
	tgid, err := k.env.TGID()
	if err != nil {
		return 0, err
	}
	return k.ctx.processIndex(tgid, k.env.Valid)
}

// address is the region's start as package hca knows it.
func (o *object) address() uint64 { return o.start | uint64(o.proc)<<procShift }

// Flags of REREG_MR (enum ibv_rereg_mr_flags).
const (
	reregRange  = 1 << 0
	reregPD     = 1 << 1
	reregAccess = 1 << 2
)

// writeReregMR reads struct ib_uverbs_rereg_mr.
//
//	8 handle  12 flags  16 start  24 length  32 iova  40 pd  44 access
func writeReregMR(k *call, in []byte) ([]byte, error) {
	c := k.ctx
	o := c.find(kindMR, le.Uint32(in[8:]))
	flags := le.Uint32(in[12:])
	switch {
	case o == nil || flags == 0:
		return nil, unix.EINVAL
	case flags&^(reregRange|reregPD|reregAccess) != 0:
		return nil, unix.EOPNOTSUPP
	}
	r, now := hca.Rereg{}, object{start: o.start, length: o.length, proc: o.proc}
	access := hca.Access(le.Uint32(in[44:]))
	if flags&reregAccess != 0 {
		r.Access = &access
	} else {
		access = o.mr.Access()
	}
	if flags&reregPD != 0 {
		pd := c.find(kindPD, le.Uint32(in[40:]))
		if pd == nil {
			return nil, unix.EINVAL
		}
		r.PD = pd.pd
	}
	if flags&reregRange != 0 {
		iova := le.Uint64(in[32:])
		if err := k.memoryOf(&now, le.Uint64(in[16:]), le.Uint64(in[24:]), iova, access); err != nil {
			return nil, err
		}
		r.Range, r.Start, r.Length, r.IOVA = true, now.address(), now.length, iova
	} else if i, err := k.process(); err != nil || i != o.proc {
		return nil, unix.EACCES // only its own process can say whether it may be written to
	} else if err := k.env.CheckRange(o.start, o.length, access&hca.AccessLocalWrite != 0); err != nil {
		return nil, err
	}
	var err error
	c.srv.do(func() { err = o.mr.Rereg(r) })
	if err != nil {
		return nil, err
	}
	o.start, o.length, o.proc = now.start, now.length, now.proc
	return le.AppendUint32(le.AppendUint32(nil, o.mr.LKey()), o.mr.RKey()), nil
}

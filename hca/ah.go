package hca

import (
	"cnuas/hca/ring"
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §10.2.2.2 and §11.2.2 before editing.

// AH is an address handle: where the datagrams that name it go. The headers are
// made once.
type AH struct {
	pd  *PD
	av  AddressVector
	num uint32
	to  destination
}

// destination is what sending needs of an address.
type destination struct {
	head  template
	flow  uint32
	prio  uint8
	loop  bool // it is this device
	group bool // it is a multicast group
	dgid  GID
}

// newDestination resolves an address vector. Only the next hop's MAC address,
// and that not for a group, is taken from the caller.
func (d *Device) newDestination(av *AddressVector) (t destination, err error) {
	if t.head, err = d.newTemplate(av, 0, 0); err != nil {
		return t, err
	}
	t.prio = d.priority(av, &t.head)
	t.group = d.isGroup(av)
	t.loop = !t.group && d.isSelf(av)
	t.flow, t.dgid = av.FlowLabel, av.DGID
	return t, nil
}

// CreateAH makes an address handle. The errors are those of QP.Modify with an
// address vector.
func (c *Context) CreateAH(pd *PD, av AddressVector) (*AH, error) {
	if c.closed || pd == nil || pd.gone || pd.ctx != c {
		return nil, ErrInvalid
	}
	if c.dev.nAH >= c.dev.cfg.MaxAH {
		return nil, ErrNoMemory
	}
	to, err := c.dev.newDestination(&av)
	if err != nil {
		return nil, err
	}
	a := &AH{pd: pd, av: av, to: to}
	if n := len(c.freeAH); n > 0 {
		a.num = c.freeAH[n-1]
		c.freeAH = c.freeAH[:n-1]
		c.ahs[a.num-1] = a
	} else {
		c.ahs = append(c.ahs, a)
		a.num = uint32(len(c.ahs))
	}
	c.dev.nAH++
	pd.used++
	return a, nil
}

// Num is how work requests of this context name the handle; never 0.
func (a *AH) Num() uint32 { return a.num }

// Query returns the address.
func (a *AH) Query() AddressVector { return a.av }

// Destroy frees the handle. Work requests that still name it fail.
func (a *AH) Destroy() error {
	if a.num == 0 {
		return ErrInvalid
	}
	c := a.pd.ctx
	c.ahs[a.num-1] = nil
	c.freeAH = append(c.freeAH, a.num)
	a.num = 0
	a.pd.used--
	c.dev.nAH--
	return nil
}

func (c *Context) dropAHs() {
	for _, a := range c.ahs {
		if a != nil {
			_ = a.Destroy() // it exists
		}
	}
	c.ahs, c.freeAH = nil, nil
}

// inlineAH is the address of the last work request that had it in itself.
type inlineAH struct {
	av ring.AV
	ok bool
	to destination
}

// destination finds where the work request at cur goes: nil if that is not the
// program's to say.
func (q *QP) destination(w *sendWork) *destination {
	if n := w.rkey; n != 0 {
		if n > uint32(len(q.ctx.ahs)) {
			return nil
		}
		if a := q.ctx.ahs[n-1]; a != nil && a.pd == q.pd {
			return &a.to
		}
		return nil
	}
	if q.ctx.dev.ib != nil {
		return nil // the work request has no room for a LID
	}
	in := &q.inline
	av := ring.SendWQE(q.sq.At(q.req.cur)).AV()
	if in.ok && in.av == av {
		return &in.to
	}
	v := AddressVector{SGIDIndex: av.SGIDIndex(), DGID: av.DGID(), TrafficClass: av.TrafficClass(),
		HopLimit: av.HopLimit(), FlowLabel: av.FlowLabel(), DMAC: av.DMAC()}
	to, err := q.ctx.dev.newDestination(&v)
	in.av, in.to, in.ok = av, to, err == nil
	if !in.ok {
		return nil
	}
	return &in.to
}

// build makes a datagram to remote: see Device.build.
func (t *destination) build(q *QP, remote uint32, op wire.Opcode, se byte, psn uint32, ext, pay int) (*frame.Frame, []byte) {
	d := q.ctx.dev
	f, h := d.build(&t.head, t.prio, op, se, psn, ext, pay)
	if d.ib != nil {
		bth := wire.BTH(f.Data[t.head.n-wire.BTHLen:])
		bth.SetDestQP(remote)
		bth.SetPKey(d.pkey(q.attr.PKeyIndex))
		return f, h
	}
	l4 := t.head.n - wire.BTHLen - wire.UDPLen
	sport := sourcePort(t.flow, q.num, remote)
	be.PutUint16(f.Data[l4:], sport)
	be.PutUint32(f.Data[l4+wire.UDPLen+4:], remote)
	f.Meta.Layers.SrcPort = sport
	return f, h
}

package hca

import "cnuas/hca/transport"

// Modify changes the attributes that m names and, with AttrState, the state
// (IBTA vol. 1 §11.2.5.2). ErrState: no such transition, or the attributes are
// not those that it needs and allows. ErrInvalid: a value out of range.
// ErrNoGID: the source GID index is empty. Nothing is changed on error.
func (q *QP) Modify(a *QPAttr, m AttrMask) error {
	if q.gone {
		return ErrInvalid
	}
	from, to := q.attr.State, q.attr.State
	if m&AttrState != 0 {
		to = a.State
	}
	if to > Err {
		return ErrInvalid
	}
	if m&AttrCurState != 0 && a.CurState != from {
		return ErrState
	}
	t := &q.service.moves[from][to]
	if !t.ok || m&t.req != t.req || m&^(t.req|t.opt|AttrState) != 0 {
		return ErrState
	}
	if err := q.check(a, m); err != nil {
		return err
	}
	n := q.attr
	merge(&n, a, m)
	var head template
	if m&AttrAV != 0 {
		var err error
		if head, err = q.ctx.dev.newTemplate(&n.AV, q.num, n.DestQPN); err != nil {
			return err
		}
		if q.ctx.dev.isGroup(&n.AV) {
			return ErrInvalid
		}
	}
	d := q.ctx.dev
	d.enter()
	if m&AttrAV != 0 {
		q.unready()
		q.head = head
		q.prio = d.priority(&n.AV, &head)
		q.loop = d.isSelf(&n.AV)
	}
	q.head.pkey = n.PKeyIndex
	n.State = from
	q.attr = n
	q.move(from, to, m)
	if m&AttrAV != 0 && from == SQD {
		q.makeReady()
	}
	d.leave()
	return nil
}

// check looks at the ranges of the attributes that m names.
func (q *QP) check(a *QPAttr, m AttrMask) error {
	d := q.ctx.dev
	bad := func(bit AttrMask, out bool) bool { return m&bit != 0 && out }
	switch {
	case bad(AttrPort, a.Port != 1),
		bad(AttrPKeyIndex, int(a.PKeyIndex) >= len(d.PKeys())),
		bad(AttrPathMTU, a.PathMTU < 1 || a.PathMTU > d.ActiveMTU()),
		bad(AttrTimeout, a.Timeout > 31),
		bad(AttrRetryCnt, a.RetryCnt > 7),
		bad(AttrRNRRetry, a.RNRRetry > 7),
		bad(AttrMinRNRTimer, a.MinRNRTimer > 31),
		bad(AttrMaxRdAtomic, a.MaxRdAtomic > MaxRdAtomic),
		bad(AttrMaxDestRdAtomic, a.MaxDestRdAtomic > MaxRdAtomic),
		bad(AttrAccessFlags, a.Access&^accessKnown != 0),
		bad(AttrPathMigState, a.PathMigState != 0):
		return ErrInvalid
	case m&AttrAltPath != 0:
		return ErrNotSupported
	}
	return nil
}

// merge copies the attributes that m names.
func merge(n, a *QPAttr, m AttrMask) {
	set := func(bit AttrMask) bool { return m&bit != 0 }
	if set(AttrAccessFlags) {
		n.Access = a.Access
	}
	if set(AttrPKeyIndex) {
		n.PKeyIndex = a.PKeyIndex
	}
	if set(AttrPort) {
		n.Port = a.Port
	}
	if set(AttrAV) {
		n.AV = a.AV
	}
	if set(AttrQKey) {
		n.QKey = a.QKey
	}
	if set(AttrPathMTU) {
		n.PathMTU = a.PathMTU
	}
	if set(AttrTimeout) {
		n.Timeout = a.Timeout
	}
	if set(AttrRetryCnt) {
		n.RetryCnt = a.RetryCnt
	}
	if set(AttrRNRRetry) {
		n.RNRRetry = a.RNRRetry
	}
	if set(AttrRQPSN) {
		n.RQPSN = a.RQPSN & transport.PSNMask
	}
	if set(AttrMaxRdAtomic) {
		n.MaxRdAtomic = a.MaxRdAtomic
	}
	if set(AttrMinRNRTimer) {
		n.MinRNRTimer = a.MinRNRTimer
	}
	if set(AttrSQPSN) {
		n.SQPSN = a.SQPSN & transport.PSNMask
	}
	if set(AttrMaxDestRdAtomic) {
		n.MaxDestRdAtomic = a.MaxDestRdAtomic
	}
	if set(AttrDestQPN) {
		n.DestQPN = a.DestQPN & transport.PSNMask
	}
}

// move carries out the change of state; the attributes are in place.
func (q *QP) move(from, to QPState, m AttrMask) {
	d := q.ctx.dev
	if m&(AttrRetryCnt|AttrRNRRetry) != 0 {
		q.req.retries, q.req.rnrRetries = q.attr.RetryCnt, q.attr.RNRRetry
	}
	if m&AttrTimeout != 0 {
		q.req.timeout = transport.AckTimeout(q.attr.Timeout)
	}
	if from == to && to != Reset {
		return
	}
	switch to {
	case Reset:
		q.quiet()
		drop(&d.active, q)
		q.active = false
		q.attr = QPAttr{}
		q.req.reset()
		q.resp = responder{}
		q.sq.Clear()
		if q.own.ring != nil {
			q.own.ring.Clear()
			q.own.next = 0
		}
		q.swept, q.draining, q.inline.ok = 0, false, false
	case RTR:
		q.mtu = transport.MTUBytes(q.attr.PathMTU)
		if q.typ == UD {
			q.mtu = transport.MTUBytes(5) // a datagram is never divided
		}
		q.resp.begin(q.attr.RQPSN, q.typ)
	case RTS:
		if from == RTR {
			q.req.begin(q.attr.SQPSN)
			q.activate()
		}
		q.attr.State = to
		q.draining = false
		q.makeReady()
	case SQD:
		q.draining = m&AttrEnSQDAsync != 0
		q.attr.State = to
		if q.req.cur == q.req.started { // else the end of the message asks
			q.solicit()
		}
		q.drained()
	case Err:
		q.resp.stop() // not even a NAK
		q.toErr()
	}
	q.attr.State = to
}

// drained tells the program, if it asked, that every work request of a queue
// pair in SQD that was begun is complete (IBTA vol. 1 §10.3.1.6).
func (q *QP) drained() {
	if q.draining && q.attr.State == SQD && q.req.acked == q.req.started {
		q.draining = false
		q.async(EventSQDrained)
	}
}

package sa

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Subscriptions to notices (IBTA vol. 1 §13.4.11, §15.2.5.12).

type subscriber struct {
	guid wire.GUID
	lid  wire.LID
	qp   uint32
	enum uint16
	sl   uint8
	info mad.InformInfo
}

// inform subscribes or ends a subscription.
func (q *query) inform() {
	var w mad.InformInfo
	q.begin(&w)
	mad.Decode(&w, q.want)
	p := q.sender()
	if p == nil || w.Subscribe > 1 || w.IsGeneric > 1 {
		q.invalid()
		return
	}
	s := subscriber{guid: p.GUID, lid: q.d.SLID, qp: q.d.SrcQP, sl: q.d.SL, info: w}
	found := -1
	for i := range q.a.subs {
		if x := &q.a.subs[i]; x.guid == s.guid && x.qp == s.qp && sameNotices(&x.info, &w) {
			found = i
		}
	}
	switch {
	case w.Subscribe == 0 && found < 0:
		q.invalid()
		return
	case w.Subscribe == 0:
		q.a.subs = append(q.a.subs[:found], q.a.subs[found+1:]...)
	case found >= 0:
		s.enum = q.a.subs[found].enum
		q.a.subs[found] = s
	case len(q.a.subs) >= q.a.cfg.MaxSubscribers:
		q.fail(mad.StatusSANoResources)
		return
	default:
		for i := range q.a.subs {
			if x := &q.a.subs[i]; x.guid == s.guid {
				s.enum = max(s.enum, x.enum+1)
			}
		}
		q.a.subs = append(q.a.subs, s)
	}
	mad.Encode(&w, q.buf)
	q.put()
	q.stride = 0 // it is no record
}

// sameNotices tells whether two subscriptions mean the same; what else is in
// them does not count.
func sameNotices(a, b *mad.InformInfo) bool {
	x, y := *a, *b
	x.Subscribe, y.Subscribe, x.QPN, y.QPN, x.RespTimeValue, y.RespTimeValue = 0, 0, 0, 0, 0, 0
	return x == y
}

func (q *query) informs() {
	var r mad.InformInfoRecord
	q.begin(&r)
	for i := range q.a.subs {
		s := &q.a.subs[i]
		if p := q.sub.PortByGUID(s.guid); p == nil || !q.visible(p) {
			continue
		}
		r = mad.InformInfoRecord{SubscriberGID: q.a.gid(s.guid), Enum: s.enum, InformInfo: s.info}
		q.add(&r)
	}
}

// wants tells whether a subscription is for a notice.
func (s *subscriber) wants(n *mad.NoticeRecord) bool {
	i := &s.info
	switch {
	case (i.IsGeneric != 0) != n.IsGeneric,
		i.Type != mad.NoticeAll && mad.NoticeType(i.Type) != n.Type,
		i.TrapNumber != 0xffff && i.TrapNumber != n.TrapNumber,
		i.ProducerType != 0xffffff && i.ProducerType != 0 && i.ProducerType != n.ProducerType:
		return false
	case i.GID != (wire.GID{}) && n.IsGeneric && n.TrapNumber >= mad.TrapGIDInService && n.TrapNumber <= mad.TrapGroupDeleted:
		var d mad.TrapGIDData // what they are about, for the issuer is always the same
		mad.Decode(&d, n.DataDetails[:])
		return i.GID == d.GID
	case i.GID != (wire.GID{}):
		return i.GID == n.IssuerGID
	case i.LIDRangeBegin == 0xffff || i.LIDRangeBegin == 0:
		return true
	}
	return n.IssuerLID >= i.LIDRangeBegin && n.IssuerLID <= max(i.LIDRangeEnd, i.LIDRangeBegin)
}

// SubnetUp implements sm.Observer.
func (a *Agent) SubnetUp(now sim.Time, in, out []sm.EndPort) {
	if a.subnet() == nil {
		return
	}
	a.renew()
	for _, p := range out {
		a.forget(p.GUID)
		l := a.subs[:0]
		for _, s := range a.subs {
			if s.guid != p.GUID {
				l = append(l, s)
			}
		}
		a.subs = l
	}
	if len(a.subs) == 0 {
		return
	}
	for _, p := range out {
		a.tell(mad.TrapGIDOutOfService, a.gid(p.GUID), sharing(p.Keys))
	}
	for _, p := range in {
		a.tell(mad.TrapGIDInService, a.gid(p.GUID), sharing(p.Keys))
	}
}

// Notice implements sm.Observer: traps go on to who wants them.
func (a *Agent) Notice(now sim.Time, n *mad.Notice) {
	if s := a.subnet(); s != nil {
		r := mad.NoticeRecord{Notice: *n}
		if p := s.PortByLID(n.IssuerLID); p != nil {
			r.IssuerGID = a.gid(p.GUID)
			a.forward(s, &r, sharing(p.Keys()))
		}
	}
}

// tell makes a notice of the subnet administration's own.
func (a *Agent) tell(t mad.Trap, id wire.GID, ok permit) {
	s := a.subnet()
	if s == nil || s.Self() == nil {
		return
	}
	r := mad.NoticeRecord{IssuerGID: a.gid(s.Self().GUID)}
	r.IsGeneric, r.Type, r.ProducerType, r.TrapNumber, r.IssuerLID = true, t.Type(), uint32(mad.ProducerClassManager), t, s.Self().LID
	mad.Encode(&mad.TrapGIDData{GID: id}, r.DataDetails[:])
	a.forward(s, &r, ok)
}

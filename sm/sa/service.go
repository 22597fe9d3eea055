package sa

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// service is a service that a port offers until its lease ends (IBTA vol. 1
// §15.2.5.14).
type service struct {
	rec mad.ServiceRecord
	end sim.Time // Forever: without a lease
}

// leaseForever in ServiceLease has no end.
const leaseForever = 0xffffffff

func (s *service) is(r *mad.ServiceRecord) bool {
	return s.rec.ServiceID == r.ServiceID && s.rec.ServiceGID == r.ServiceGID && s.rec.ServicePKey == r.ServicePKey
}

func (q *query) services() {
	var r mad.ServiceRecord
	q.begin(&r)
	if q.has("ServiceKey") && !q.trusted {
		q.invalid()
		return
	}
	now := q.a.cfg.Proc.Now()
	for i := range q.a.services {
		s := &q.a.services[i]
		if !q.inside(s.rec.ServicePKey) {
			continue
		}
		r = s.rec
		if s.end != sim.Forever {
			r.ServiceLease = uint32(max(s.end-now, 0) / sim.Second)
		}
		if !q.trusted {
			r.ServiceKey = [16]byte{}
		}
		q.add(&r)
	}
}

// offer takes a service in, or its lease anew.
func (q *query) offer() {
	var r mad.ServiceRecord
	q.begin(&r)
	mad.Decode(&r, q.want)
	if !q.has("ServiceID") || !q.has("ServiceGID") || !q.has("ServicePKey") {
		q.fail(mad.StatusSAInsufficient)
		return
	}
	p := q.sub.PortByGUID(r.ServiceGID.GUID())
	if p == nil || r.ServiceGID == (wire.GID{}) || p.Membership(r.ServicePKey) == 0 {
		q.invalid()
		return
	}
	if !q.has("ServiceLease") {
		r.ServiceLease = leaseForever
	}
	s := service{rec: r, end: sim.Forever}
	if now := q.a.cfg.Proc.Now(); sim.Time(r.ServiceLease) < (sim.Forever-now)/sim.Second { // the clock ends after 106 days
		s.end = now + sim.Time(r.ServiceLease)*sim.Second
	}
	for i := range q.a.services {
		x := &q.a.services[i]
		if !x.is(&r) {
			continue
		}
		if x.rec.ServiceKey != r.ServiceKey && !q.trusted {
			q.invalid()
			return
		}
		*x = s
		q.offered(&r)
		return
	}
	if len(q.a.services) >= q.a.cfg.MaxServices {
		q.fail(mad.StatusSANoResources)
		return
	}
	q.a.services = append(q.a.services, s)
	q.offered(&r)
}

func (q *query) offered(r *mad.ServiceRecord) {
	q.a.setLease()
	mad.Encode(r, q.buf)
	q.put()
}

// withdraw takes services out that the request names.
func (q *query) withdraw() {
	var r mad.ServiceRecord
	q.begin(&r)
	mad.Decode(&r, q.want)
	if !q.has("ServiceID") || !q.has("ServiceGID") {
		q.fail(mad.StatusSAInsufficient)
		return
	}
	for i := range q.a.services {
		x := &q.a.services[i]
		if x.rec.ServiceID != r.ServiceID || x.rec.ServiceGID != r.ServiceGID || q.has("ServicePKey") && x.rec.ServicePKey != r.ServicePKey {
			continue
		}
		if x.rec.ServiceKey != r.ServiceKey && !q.trusted {
			break
		}
		mad.Encode(&x.rec, q.buf)
		q.put()
		q.a.services = append(q.a.services[:i], q.a.services[i+1:]...)
		return
	}
	q.fail(mad.StatusSANoRecords)
}

// setLease sets the timer to the lease that ends next.
func (a *Agent) setLease() {
	next := sim.Forever
	for i := range a.services {
		next = min(next, a.services[i].end)
	}
	if next == sim.Forever {
		a.lease.Stop()
	} else {
		a.lease.Reset(next)
	}
}

func (a *Agent) endLeases(now sim.Time) {
	l := a.services[:0]
	for _, s := range a.services {
		if s.end > now {
			l = append(l, s)
		} else {
			a.stats.LeasesEnded++
		}
	}
	clear(a.services[len(l):])
	a.services = l
	a.setLease()
}

package sa

import (
	"encoding/binary"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// members answers Get and GetTable of MCMemberRecord. Who does not know the
// SM_Key sees groups, and of the members those of its own port.
func (q *query) members() {
	var r, w mad.MCMemberRecord
	q.begin(&r)
	mad.Decode(&w, q.want)
	mtu, rate, life := q.has("MTU") && q.has("MTUSelector"), q.has("Rate") && q.has("RateSelector"), q.has("PacketLifeTime") && q.has("PacketLifeTimeSelector")
	q.ignore("MTU", "MTUSelector", "Rate", "RateSelector", "PacketLifeTime", "PacketLifeTimeSelector")
	byPort := q.has("PortGID")
	for _, g := range q.a.groups {
		if q.full() {
			break
		}
		if !q.inside(g.rec.PKey) {
			continue
		}
		if mtu && !compares(w.MTUSelector, int(g.rec.MTU), int(w.MTU)) || rate && !compares(w.RateSelector, g.rec.Rate.Compare(w.Rate), 0) ||
			life && !compares(w.PacketLifeTimeSelector, int(g.rec.PacketLifeTime), int(w.PacketLifeTime)) {
			continue
		}
		if !q.trusted && !byPort {
			r = g.rec
			q.add(&r)
			continue
		}
		if len(g.members) == 0 && !byPort {
			r = g.rec
			q.add(&r)
		}
		own := q.sender()
		for _, m := range g.members {
			if q.trusted || own != nil && own.GUID == m.guid {
				r = g.rec
				r.PortGID, r.JoinState, r.ProxyJoin = q.a.gid(m.guid), m.state, m.proxy
				q.add(&r)
			}
		}
	}
}

// compares tells whether a figure is as a selector wants it.
func compares(s mad.Selector, have, want int) bool {
	switch s {
	case mad.SelGreater:
		return have > want
	case mad.SelLess:
		return have < want
	case mad.SelExact:
		return have == want
	}
	return true
}

// invalid answers that the request cannot be done.
func (q *query) invalid() { q.fail(mad.StatusSAInvalid) }

// port finds the port that joins or leaves. Only it may ask for itself; others
// do with ProxyJoin or the SM_Key (IBTA vol. 1 §15.2.5.17.3).
func (q *query) port(w *mad.MCMemberRecord) *sm.Port {
	p := q.sub.PortByGUID(w.PortGID.GUID())
	own := q.sender()
	if p == nil || p.LID == 0 || w.PortGID.Prefix() != q.a.m.Config().Prefix || own == nil {
		return nil
	}
	if p != own && !q.trusted && !(q.has("ProxyJoin") && w.ProxyJoin) {
		return nil
	}
	return p
}

// join makes a port a member of a group, and the group if there is none.
func (q *query) join() {
	var w mad.MCMemberRecord
	q.begin(&w)
	mad.Decode(&w, q.want)
	if !q.has("PortGID") || !q.has("JoinState") || !q.has("MGID") {
		q.fail(mad.StatusSAInsufficient)
		return
	}
	p := q.port(&w)
	if p == nil || w.JoinState == 0 {
		q.invalid()
		return
	}
	var g *group
	if w.MGID != (wire.GID{}) {
		g = q.a.group(w.MGID)
	}
	made := g == nil
	if made {
		if g = q.create(&w, p); g == nil {
			return
		}
	} else if !q.fits(g, &w, p) {
		q.invalid()
		return
	}
	i, ok := g.find(p.GUID)
	if !ok {
		g.members = append(g.members, member{})
		copy(g.members[i+1:], g.members[i:])
		g.members[i] = member{guid: p.GUID, proxy: w.ProxyJoin && q.has("ProxyJoin")}
	}
	g.members[i].state |= w.JoinState
	r := g.rec
	r.PortGID, r.JoinState, r.ProxyJoin = w.PortGID, g.members[i].state, g.members[i].proxy
	mad.Encode(&r, q.buf)
	q.put()
	q.after = func() {
		q.a.program(g)
		if made {
			q.a.tell(mad.TrapGroupCreated, g.rec.MGID, within(&g.rec))
		}
	}
}

// fits tells whether a port can join a group as the request wants it.
func (q *query) fits(g *group, w *mad.MCMemberRecord, p *sm.Port) bool {
	r := g.rec
	r.PortGID, r.JoinState, r.ProxyJoin = w.PortGID, w.JoinState, w.ProxyJoin
	mtu, rate, life := q.has("MTU") && q.has("MTUSelector"), q.has("Rate") && q.has("RateSelector"), q.has("PacketLifeTime") && q.has("PacketLifeTimeSelector")
	if mtu && !compares(w.MTUSelector, int(r.MTU), int(w.MTU)) || rate && !compares(w.RateSelector, r.Rate.Compare(w.Rate), 0) ||
		life && !compares(w.PacketLifeTimeSelector, int(r.PacketLifeTime), int(w.PacketLifeTime)) {
		return false
	}
	mask := q.mask &^ mad.Component(q.fields, "MTU", "MTUSelector", "Rate", "RateSelector", "PacketLifeTime", "PacketLifeTimeSelector", "Scope", "HopLimit", "MLID")
	mad.Encode(&r, q.buf)
	if q.has("PKey") { // with or without the bit of membership
		mask &^= mad.Component(q.fields, "PKey")
		if (w.PKey^r.PKey)&0x7fff != 0 {
			return false
		}
	}
	return mad.Match(q.fields, mask, q.want[:q.length], q.buf[:q.length]) && canCarry(&r, p)
}

// canCarry tells whether a port can receive what is sent to a group.
func canCarry(r *mad.MCMemberRecord, p *sm.Port) bool {
	mtu := p.Info.NeighborMTU
	if p.Node.IsSwitch() {
		mtu = p.Info.MTUCap
	}
	return p.Membership(r.PKey) != 0 && mtu >= r.MTU && (p.Node.IsSwitch() || rateOf(p).Compare(r.Rate) >= 0)
}

// create makes a group; nil, with a status, if the request does not permit it.
func (q *query) create(w *mad.MCMemberRecord, p *sm.Port) *group {
	for _, name := range []string{"QKey", "PKey", "TClass", "SL", "FlowLabel"} {
		if !q.has(name) {
			q.fail(mad.StatusSAInsufficient)
			return nil
		}
	}
	c := quality{p.Info.NeighborMTU, rateOf(p), q.a.m.Config().PacketLife}
	wish := mad.PathRecord{MTUSelector: w.MTUSelector, MTU: w.MTU, RateSelector: w.RateSelector, Rate: w.Rate,
		PacketLifeTimeSelector: w.PacketLifeTimeSelector, PacketLifeTime: w.PacketLifeTime}
	ok := c.meet(&wish, q.has("MTU") && q.has("MTUSelector"), q.has("Rate") && q.has("RateSelector"), q.has("PacketLifeTime") && q.has("PacketLifeTimeSelector"))
	r := *w
	r.MTUSelector, r.MTU, r.RateSelector, r.Rate = mad.SelExact, c.mtu, mad.SelExact, c.rate
	r.PacketLifeTimeSelector, r.PacketLifeTime = mad.SelExact, c.life
	r.PortGID, r.JoinState, r.ProxyJoin, r.HopLimit = wire.GID{}, 0, false, 0
	if q.has("HopLimit") {
		r.HopLimit = w.HopLimit
	}
	if !q.has("Scope") {
		r.Scope = 2
	}
	if w.MGID == (wire.GID{}) {
		// IBTA vol. 1 §4.1.1: transient, with a signature of the SA's own.
		q.a.mgids++
		r.MGID = wire.GID{0xff, 0x10 | r.Scope&15, 0xa0, 0x1b}
		binary.BigEndian.PutUint64(r.MGID[8:], q.a.mgids)
	} else {
		r.Scope = r.MGID[1] & 15
	}
	r.PKey |= 0x8000
	if !ok || w.JoinState&mad.JoinFull == 0 || !r.MGID.Multicast() || q.a.group(r.MGID) != nil || !canCarry(&r, p) {
		q.invalid()
		return nil
	}
	g := q.a.addGroup(&r)
	if g == nil {
		q.fail(mad.StatusSANoResources)
	}
	return g
}

// leave takes memberships of a port away.
func (q *query) leave() {
	var w mad.MCMemberRecord
	q.begin(&w)
	mad.Decode(&w, q.want)
	if !q.has("MGID") || !q.has("PortGID") || !q.has("JoinState") {
		q.fail(mad.StatusSAInsufficient)
		return
	}
	g := q.a.group(w.MGID)
	p := q.port(&w)
	if g == nil || p == nil {
		q.invalid()
		return
	}
	i, ok := g.find(p.GUID)
	if !ok || g.members[i].state&w.JoinState == 0 || w.JoinState&^g.members[i].state != 0 {
		q.invalid() // no such membership
		return
	}
	r := g.rec
	r.PortGID, r.JoinState, r.ProxyJoin = w.PortGID, w.JoinState, g.members[i].proxy
	if g.members[i].state &^= w.JoinState; g.members[i].state == 0 {
		g.members = append(g.members[:i], g.members[i+1:]...)
	}
	mad.Encode(&r, q.buf)
	q.put()
	q.after = func() { q.a.program(g) }
}

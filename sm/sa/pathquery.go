package sa

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// pathWishes says which components of a request for paths are given.
type pathWishes struct {
	mtu, rate, life, pkey, sl, reversible, tclass, flow, raw bool
}

// endpoint finds the ports that a GID and a LID name. named is false if
// nothing is given: then all are meant. The LID that is given stays.
func (q *query) endpoint(gid wire.GID, lid wire.LID, hasGID, hasLID bool) (p *sm.Port, named bool, st mad.Status) {
	if hasGID {
		if gid.Prefix() != q.a.m.Config().Prefix {
			return nil, true, mad.StatusSABadGID
		}
		if p = q.sub.PortByGUID(gid.GUID()); p == nil || p.LID == 0 {
			return nil, true, mad.StatusSABadGID
		}
	}
	if hasLID {
		x := q.sub.PortByLID(lid)
		if x == nil || p != nil && p != x {
			return nil, true, mad.StatusSANoRecords
		}
		p = x
	}
	return p, hasGID || hasLID, mad.StatusOK
}

// paths answers Get and GetTable of PathRecord.
func (q *query) paths() {
	var w mad.PathRecord
	q.begin(&w)
	mad.Decode(&w, q.want)
	if q.has("DGID") && w.DGID.Multicast() {
		q.groupPath(&w)
		return
	}
	hasSLID, hasDLID := q.has("SLID"), q.has("DLID")
	src, oneSrc, st := q.endpoint(w.SGID, w.SLID, q.has("SGID"), hasSLID)
	if st == mad.StatusOK {
		var dst *sm.Port
		var oneDst bool
		if dst, oneDst, st = q.endpoint(w.DGID, w.DLID, q.has("DGID"), hasDLID); st == mad.StatusOK {
			q.allPaths(&w, src, dst, oneSrc, oneDst, hasSLID, hasDLID)
			return
		}
	}
	if st != mad.StatusSANoRecords || q.method == mad.MethodGet {
		q.fail(st)
	}
}

func (q *query) wishes() *pathWishes {
	return &pathWishes{
		mtu: q.has("MTU") && q.has("MTUSelector"), rate: q.has("Rate") && q.has("RateSelector"),
		life: q.has("PacketLifeTime") && q.has("PacketLifeTimeSelector"), pkey: q.has("PKey"), sl: q.has("SL"),
		reversible: q.has("Reversible"), tclass: q.has("TClass"), flow: q.has("FlowLabel"), raw: q.has("RawTraffic"),
	}
}

func (q *query) allPaths(w *mad.PathRecord, src, dst *sm.Port, oneSrc, oneDst, hasSLID, hasDLID bool) {
	has := q.wishes()
	most := 127
	if q.has("NumbPath") && w.NumbPath > 0 {
		most = int(w.NumbPath)
	}
	if q.method == mad.MethodGet {
		most = 1
	}
	each := func(one *sm.Port, named bool, f func(*sm.Port)) {
		if named {
			f(one)
			return
		}
		q.sub.EndPorts(func(p *sm.Port) {
			if p.LID != 0 && q.status == mad.StatusOK && (q.method != mad.MethodGet || q.count == 0) {
				f(p)
			}
		})
	}
	each(src, oneSrc, func(s *sm.Port) {
		each(dst, oneDst, func(d *sm.Port) {
			q.pairPaths(w, has, s, d, hasSLID, hasDLID, most)
		})
	})
}

// pairPaths adds the paths between two ports: with several LIDs, the n-th of
// one with the n-th of the other.
func (q *query) pairPaths(w *mad.PathRecord, has *pathWishes, s, d *sm.Port, hasSLID, hasDLID bool, most int) {
	n := 0
	for i := 0; i < 1<<max(s.LMC, d.LMC) && n < most && q.status == mad.StatusOK; i++ {
		slid, dlid := s.LID+wire.LID(i)&(1<<s.LMC-1), d.LID+wire.LID(i)&(1<<d.LMC-1)
		if hasSLID {
			slid = w.SLID
		}
		if hasDLID {
			dlid = w.DLID
		}
		if r, ok := q.pair(w, has, s, d, slid, dlid); ok {
			mad.Encode(&r, q.buf)
			q.put()
			n++
		}
		if hasSLID && hasDLID {
			break
		}
	}
}

// groupPath is the path to a multicast group.
func (q *query) groupPath(w *mad.PathRecord) {
	g := q.a.group(w.DGID)
	if g == nil {
		if q.method == mad.MethodGet {
			q.fail(mad.StatusSANoRecords)
		}
		return
	}
	src := q.sender()
	if q.has("SGID") {
		src = q.sub.PortByGUID(w.SGID.GUID())
	} else if q.has("SLID") {
		src = q.sub.PortByLID(w.SLID)
	}
	if src == nil || src.Membership(g.rec.PKey) == 0 {
		q.fail(mad.StatusSANoRecords)
		return
	}
	c := quality{g.rec.MTU, g.rec.Rate, g.rec.PacketLifeTime}
	has := q.wishes()
	if !c.meet(w, has.mtu, has.rate, has.life) || has.pkey && (w.PKey^g.rec.PKey)&0x7fff != 0 || has.sl && w.SL != g.rec.SL {
		return
	}
	r := mad.PathRecord{
		DGID: w.DGID, SGID: q.a.gid(src.GUID), DLID: g.rec.MLID, SLID: src.LID, FlowLabel: g.rec.FlowLabel, HopLimit: g.rec.HopLimit,
		TClass: g.rec.TClass, PKey: g.rec.PKey, SL: g.rec.SL, MTUSelector: mad.SelExact, MTU: c.mtu,
		RateSelector: mad.SelExact, Rate: c.rate, PacketLifeTimeSelector: mad.SelExact, PacketLifeTime: c.life,
	}
	mad.Encode(&r, q.buf)
	q.put()
}

// multiPaths answers GetMulti of MultiPathRecord with PathRecords: one for each
// pair of a source and a destination, up to NumbPath.
func (q *query) multiPaths() {
	var m mad.MultiPathRecord
	var w mad.PathRecord
	if !mad.Decode(&m, q.data) {
		q.fail(mad.StatusSAInvalid)
		return
	}
	src, dst, ok := m.GIDs(q.data)
	if !ok || len(src) == 0 || len(dst) == 0 {
		q.fail(mad.StatusSAInsufficient)
		return
	}
	f := multiFields
	is := func(names ...string) bool { return q.mask&mad.Component(f, names...) != 0 }
	has := &pathWishes{
		mtu: is("MTU") && is("MTUSelector"), rate: is("Rate") && is("RateSelector"),
		life: is("PacketLifeTime") && is("PacketLifeTimeSelector"), pkey: is("PKey"), sl: is("SL"),
		reversible: is("Reversible"), tclass: is("TClass"), flow: is("FlowLabel"), raw: is("RawTraffic"),
	}
	w.MTUSelector, w.MTU, w.RateSelector, w.Rate = m.MTUSelector, m.MTU, m.RateSelector, m.Rate
	w.PacketLifeTimeSelector, w.PacketLifeTime, w.PKey, w.SL = m.PacketLifeTimeSelector, m.PacketLifeTime, m.PKey, m.SL
	w.Reversible, w.TClass, w.FlowLabel, w.RawTraffic = m.Reversible, m.TClass, m.FlowLabel, m.RawTraffic
	most := 127
	if is("NumbPath") && m.NumbPath > 0 {
		most = int(m.NumbPath)
	}
	q.begin(&w)
	for _, s := range src {
		for _, d := range dst {
			if q.count >= most {
				continue
			}
			a, _, st := q.endpoint(s, 0, true, false)
			b, _, st2 := q.endpoint(d, 0, true, false)
			if st != mad.StatusOK || st2 != mad.StatusOK {
				q.fail(mad.StatusSABadGID)
				return
			}
			q.pairPaths(&w, has, a, b, false, false, most-q.count)
		}
	}
	mad.Packet(q.d.MAD[:]).SetAttr(mad.AttrPathRecord) // what the records are
}

var multiFields = mad.Fields(&mad.MultiPathRecord{})

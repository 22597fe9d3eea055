package sa

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Paths (IBTA vol. 1 §15.2.5.16): what the forwarding tables make of a pair of
// ports, with the least MTU and rate on the way.

// maxHops bounds the way through tables that make a loop.
const maxHops = 64

// quality is what a path can do.
type quality struct {
	mtu  mad.MTU
	rate mad.Rate
	life mad.Timeout
}

// least takes a link into account.
func (c *quality) least(mtu mad.MTU, rate mad.Rate) {
	if mtu != 0 && (c.mtu == 0 || mtu < c.mtu) {
		c.mtu = mtu
	}
	if rate != 0 && (c.rate == 0 || rate.Compare(c.rate) < 0) {
		c.rate = rate
	}
}

func rateOf(p *sm.Port) mad.Rate {
	return mad.RateOf(p.Info.LinkWidthActive, p.Info.LinkSpeedActive, p.Info.LinkSpeedExtActive)
}

// way follows the forwarding tables from a port to a LID.
func (a *Agent) way(src, dst *sm.Port, dlid wire.LID) (c quality, ok bool) {
	c.least(src.Info.MTUCap, 0)
	c.least(dst.Info.MTUCap, 0)
	c.life = a.m.Config().PacketLife
	if src == dst {
		c.least(0, rateOf(src))
		c.life = 0
		return c, true
	}
	at := src
	for hops := 0; hops < maxHops; hops++ {
		out := at
		if n := at.Node; n.IsSwitch() {
			num, found := n.Switch.NextPort(dlid)
			if !found || int(num) >= len(n.Ports) {
				return c, false
			}
			if num == 0 {
				return c, n == dst.Node
			}
			out = n.Ports[num]
		} else if hops > 0 {
			return c, at == dst
		}
		if out == nil || !out.Linked() {
			return c, false
		}
		c.least(out.Info.NeighborMTU, rateOf(out))
		at = out.Peer
	}
	return c, false
}

// meet makes a quality fit a wish for one of its figures; false if it cannot.
// Less than something is always possible down to the least there is.
func (c *quality) meet(r *mad.PathRecord, mtu, rate, life bool) bool {
	if mtu {
		switch r.MTUSelector {
		case mad.SelGreater:
			if c.mtu <= r.MTU {
				return false
			}
		case mad.SelLess:
			c.mtu = min(c.mtu, r.MTU-1)
			if r.MTU <= mad.MTU256 {
				return false
			}
		case mad.SelExact:
			if c.mtu < r.MTU || r.MTU.Bytes() == 0 {
				return false
			}
			c.mtu = r.MTU
		}
	}
	if rate {
		switch d := c.rate.Compare(r.Rate); r.RateSelector {
		case mad.SelGreater:
			if d <= 0 {
				return false
			}
		case mad.SelLess:
			if d >= 0 {
				c.rate = below(r.Rate)
			}
			if c.rate == 0 {
				return false
			}
		case mad.SelExact:
			if d < 0 || r.Rate.Mbps() == 0 {
				return false
			}
			c.rate = r.Rate
		}
	}
	if life {
		switch r.PacketLifeTimeSelector {
		case mad.SelGreater:
			c.life = max(c.life, r.PacketLifeTime+1)
		case mad.SelLess:
			return c.life < r.PacketLifeTime
		case mad.SelExact:
			if c.life > r.PacketLifeTime {
				return false
			}
			c.life = r.PacketLifeTime
		}
	}
	return true
}

// below is the greatest rate that is less than r, 0 if there is none.
func below(r mad.Rate) (best mad.Rate) {
	for x := mad.Rate2_5G; x <= mad.Rate1200G; x++ {
		if x.Compare(r) < 0 && (best == 0 || x.Compare(best) > 0) {
			best = x
		}
	}
	return best
}

// pair computes the record of a path, with what the request wishes.
func (q *query) pair(w *mad.PathRecord, has *pathWishes, src, dst *sm.Port, slid, dlid wire.LID) (r mad.PathRecord, ok bool) {
	c, ok := q.a.way(src, dst, dlid)
	if !ok || has.raw && w.RawTraffic { // raw packets are not supported
		return r, false
	}
	if back, ok := q.a.way(dst, src, slid); ok {
		r.Reversible = true
		c.least(back.mtu, back.rate)
	} else if has.reversible && w.Reversible {
		return r, false
	}
	if !c.meet(w, has.mtu, has.rate, has.life) {
		return r, false
	}
	r.PKey = sm.CommonPKey(src, dst)
	if has.pkey {
		if r.PKey = w.PKey; !sm.Share(src, dst, w.PKey) {
			return r, false
		}
	}
	if r.PKey == 0 {
		return r, false
	}
	if r.SL = q.sub.SL(src, dlid); !q.sub.RoutesBySL() {
		r.SL = q.a.m.Config().Partitions.SL(r.PKey)
	}
	if has.sl && w.SL != r.SL {
		return r, false
	}
	r.SGID, r.DGID, r.SLID, r.DLID = q.a.gid(src.GUID), q.a.gid(dst.GUID), slid, dlid
	r.MTUSelector, r.MTU = mad.SelExact, c.mtu
	r.RateSelector, r.Rate = mad.SelExact, c.rate
	r.PacketLifeTimeSelector, r.PacketLifeTime = mad.SelExact, c.life
	if has.tclass {
		r.TClass = w.TClass
	}
	if has.flow {
		r.FlowLabel = w.FlowLabel
	}
	return r, true
}

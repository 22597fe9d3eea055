package topology

import "slices"

// buildVLAN is a VLAN of a router that hosts are in.
type buildVLAN struct {
	id     uint16
	domain *domain
	ips    vlanIPs
}

// bridgeVLAN is a VLAN at a switch.
type bridgeVLAN struct {
	sw  *buildSwitch
	vid uint16
}

// domain is a broadcast domain with hosts in it.
type domain struct {
	ib      bool // IP over an InfiniBand subnet
	hosts   []*buildEnd
	routers []*router
	plan    plan
}

// router is a router interface in a domain.
type router struct {
	sw *buildSwitch
	v  *buildVLAN
}

// addVLANs decides for each link whether it is routed and which VLANs pass,
// refuses loops of bridges, and finds the broadcast domains.
func (b *builder) addVLANs() {
	join := newForest[bridgeVLAN]()
	for _, l := range b.links {
		if l.ib {
			continue
		}
		x, y := l.ends[0].dev, l.ends[1].dev
		tagging := l.attrs.vlan.set || l.attrs.hasTrunk
		switch {
		case x.sw == nil && y.sw == nil:
			if tagging {
				b.r.errorf(l.key, "remove vlan and trunk", "the link from %s to %s has no switch port", x.name, y.name)
			}
			continue
		case x.sw != nil && y.sw != nil && x.sw.mode() == Router && y.sw.mode() == Router && !tagging:
			l.routed = true
			continue
		}
		b.vlans(l)
		if x.sw == nil || y.sw == nil {
			continue
		}
		for _, v := range l.vids() {
			if !join.union(bridgeVLAN{x.sw, v}, bridgeVLAN{y.sw, v}) {
				b.r.errorf(l.key, `set mode = "router" on the switches, or remove the link`,
					"the bridges %s and %s are already joined in VLAN %d: frames would circle for ever", x.name, y.name, v)
				break
			}
		}
	}
	b.findDomains(join)
}

func (s *buildSwitch) mode() Mode {
	if s.isIB() {
		return ""
	}
	return s.attrs.mode.get(Bridge)
}

// vids are the VLANs that pass over a bridged link, ascending.
func (l *buildLink) vids() []uint16 {
	v := slices.Clone(l.tagged)
	if l.pvid != 0 {
		v = append(v, l.pvid)
	}
	slices.Sort(v)
	return v
}

// vlans sets the VLANs of a bridged link.
func (b *builder) vlans(l *buildLink) {
	if l.attrs.vlan.set || !l.attrs.hasTrunk {
		l.pvid = uint16(l.attrs.vlan.get(1))
	}
	for _, v := range l.attrs.trunk {
		switch {
		case slices.Contains(l.tagged, v.v):
			b.r.errorf(v.key, "list it once", "VLAN %d is listed twice", v.v)
		case v.v == l.pvid:
			b.r.errorf(v.key, "remove it from trunk, or choose another vlan", "VLAN %d is tagged and untagged", v.v)
		default:
			l.tagged = append(l.tagged, v.v)
		}
	}
	slices.Sort(l.tagged)
	host := l.ends[0].dev.node != nil || l.ends[1].dev.node != nil
	switch {
	case l.pvid == 0 && len(l.attrs.trunk) == 0:
		b.r.errorf(l.key, "name a VLAN, or leave trunk out", "no VLAN passes")
	case l.pvid == 0 && host:
		b.r.errorf(l.key, "add vlan = 10 for the untagged frames", "a host sends frames without a tag and no VLAN is given for them")
	}
}

// findDomains groups hosts that share a broadcast domain. Domains are in the
// order of their first switch and VLAN, then those of direct links.
func (b *builder) findDomains(join *forest[bridgeVLAN]) {
	byRoot := map[bridgeVLAN]*domain{}
	at := func(s *buildSwitch, vid uint16) *domain { return byRoot[join.find(bridgeVLAN{s, vid})] }
	for _, s := range b.switches { // ordered by switch, then VLAN
		for _, vid := range s.vids(true) {
			root := join.find(bridgeVLAN{s, vid})
			if byRoot[root] == nil {
				byRoot[root] = &domain{}
				b.domains = append(b.domains, byRoot[root])
			}
		}
	}
	for _, n := range b.nodes {
		for _, e := range n.order {
			p := e.peer()
			switch {
			case p.dev.sw != nil && e.link.pvid != 0:
				if d := at(p.dev.sw, e.link.pvid); d != nil {
					d.hosts = append(d.hosts, e)
				}
			case p.dev.node != nil && e == e.link.ends[0]:
				b.domains = append(b.domains, &domain{hosts: []*buildEnd{e, p}})
			}
		}
	}
	for _, s := range b.switches {
		if s.mode() != Router {
			continue
		}
		for _, vid := range s.vids(false) {
			if d := at(s, vid); d != nil {
				v := &buildVLAN{id: vid, domain: d}
				s.vlans = append(s.vlans, v)
				d.routers = append(d.routers, &router{s, v})
			}
		}
	}
}

// vids are the VLANs of a switch's bridged ports, ascending; with hosts only,
// those that a host is in directly.
func (s *buildSwitch) vids(hosts bool) []uint16 {
	var v []uint16
	for _, e := range s.order {
		switch {
		case e.link.routed || e.port == "none":
		case !hosts:
			v = append(v, e.link.vids()...)
		case e.peer().dev.node != nil && e.link.pvid != 0:
			v = append(v, e.link.pvid)
		}
	}
	slices.Sort(v)
	return slices.Compact(v)
}

// forest is a union-find structure.
type forest[K comparable] struct{ parent map[K]K }

func newForest[K comparable]() *forest[K] { return &forest[K]{map[K]K{}} }

func (f *forest[K]) find(k K) K {
	for {
		p, ok := f.parent[k]
		if !ok {
			return k
		}
		if g, ok := f.parent[p]; ok {
			f.parent[k] = g // halve the path
		}
		k = p
	}
}

// union joins the sets of a and b; false if they were one already.
func (f *forest[K]) union(a, b K) bool {
	a, b = f.find(a), f.find(b)
	if a == b {
		return false
	}
	f.parent[a] = b
	return true
}

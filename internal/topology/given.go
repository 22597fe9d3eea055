package topology

import (
	"net/netip"
	"slices"
)

// givenAddresses takes the addresses that the file gives into the plans of
// their domains.
func (b *builder) givenAddresses() {
	owner := map[netip.Addr]attr[string]{} // who has it, and where it says so
	take := func(d *domain, a attr[netip.Prefix], who string) {
		if o, dup := owner[a.v.Addr()]; dup {
			b.r.errorf(a.key, "choose another", "%s has the address %s of %s, line %d", who, a.v.Addr(), o.v, b.r.lines.of(o.key))
			return
		}
		owner[a.v.Addr()] = attr[string]{v: who, key: a.key}
		d.plan.used[a.v.Addr()] = who
		d.plan.add(a.v)
	}
	for _, d := range b.domains {
		d.plan = plan{used: map[netip.Addr]string{}, next: map[netip.Prefix]uint64{}, given: map[*router][]netip.Prefix{}}
	}
	for _, d := range b.domains {
		for _, e := range d.hosts {
			for _, a := range e.iface.ips {
				if a.v.Addr().Is6() && e.iface.mtu < minIPv6MTU {
					b.r.errorf(a.key, "raise mtu to 1280 or more", "IPv6 needs an MTU of 1280, %s has %d", e.name(), e.iface.mtu)
				}
				take(d, a, e.name())
			}
		}
		if len(d.plan.v4) > 1 && len(d.routers) == 0 {
			e := d.hosts[slices.IndexFunc(d.hosts, func(e *buildEnd) bool {
				return slices.ContainsFunc(e.iface.ips, func(a attr[netip.Prefix]) bool { return a.v.Masked() == d.plan.v4[1] })
			})]
			b.r.warnf(e.iface.ips[0].key, "use one subnet, or a switch with mode = \"router\"",
				"%s is in subnet %s and its neighbours on the same switch are in %s: they do not reach each other", e.name(), d.plan.v4[1], d.plan.v4[0])
		}
	}
	for _, s := range b.switches {
		for _, g := range s.file.ips {
			v := b.routerVLAN(s, g)
			if v == nil {
				continue
			}
			rt := v.domain.routers[slices.IndexFunc(v.domain.routers, func(r *router) bool { return r.v == v })]
			for _, a := range g.ips {
				take(v.domain, a, s.name)
				v.domain.plan.given[rt] = append(v.domain.plan.given[rt], a.v)
			}
		}
	}
}

// routerVLAN finds the VLAN that addresses of a switch are for.
func (b *builder) routerVLAN(s *buildSwitch, g vlanIPs) *buildVLAN {
	switch {
	case s.isIB(): // fitSwitch tells
		return nil
	case s.mode() != Router:
		b.r.errorf(g.key, `set mode = "router", or remove the address`, "switch %s is a bridge and has no addresses", s.name)
		return nil
	case g.vid == 0 && len(s.vlans) == 1:
		return s.vlans[0]
	case g.vid == 0:
		b.r.errorf(g.key, "write vlan_ip = { 10 = [...] }", "hosts are in %d VLANs of router %s: it is not clear which one the address is for", len(s.vlans), s.name)
		return nil
	}
	for _, v := range s.vlans {
		if int(v.id) == g.vid {
			return v
		}
	}
	b.r.errorf(g.key, "remove it, or put a host into the VLAN", "no host is in VLAN %d of router %s", g.vid, s.name)
	return nil
}

// owned is a prefix and the domain that uses it; -1: the routers' own.
type owned struct {
	netip.Prefix
	domain int
}

// checkOverlap reports prefixes of different domains that overlap, and
// different ones that overlap in the same domain. It returns all of them.
func (b *builder) checkOverlap() []netip.Prefix {
	var l []owned
	for i, d := range b.domains {
		for _, p := range d.plan.all() {
			l = append(l, owned{p, i})
		}
	}
	for _, w := range b.s.Switches {
		for _, p := range w.Loopback {
			l = append(l, owned{p, -1})
		}
	}
	slices.SortStableFunc(l, func(x, y owned) int {
		if c := x.Addr().Compare(y.Addr()); c != 0 {
			return c
		}
		return x.Bits() - y.Bits()
	})
	// Two prefixes are disjoint or one contains the other, so in this order an
	// overlap is always with one of those that are open on the stack.
	var stack []owned
	var all []netip.Prefix
	for _, p := range l {
		all = append(all, p.Prefix)
		for len(stack) > 0 && !stack[len(stack)-1].Overlaps(p.Prefix) {
			stack = stack[:len(stack)-1]
		}
		if len(stack) > 0 {
			b.overlap(stack[len(stack)-1], p)
		}
		stack = append(stack, p)
	}
	return all
}

func (b *builder) overlap(x, y owned) {
	if x.domain == -1 {
		x, y = y, x
	}
	if y.domain == -1 {
		if x.domain != -1 {
			b.r.errorf(b.keyOf(x), "use other addresses", "subnet %s overlaps %s, which the routers have for themselves", x.Prefix, y.Prefix)
		}
		return
	}
	// Report at the one that comes later in the file.
	kx, ky := b.keyOf(x), b.keyOf(y)
	if b.r.lines.of(kx) > b.r.lines.of(ky) {
		x, y, kx, ky = y, x, ky, kx
	}
	remedy := "give each VLAN or router its own subnet"
	if x.domain == y.domain {
		remedy = "use the same prefix length"
	}
	b.r.errorf(ky, remedy, "subnet %s overlaps %s of line %d", y.Prefix, x.Prefix, b.r.lines.of(kx))
}

// keyOf finds the first address of the file that is in a prefix of a domain.
func (b *builder) keyOf(p owned) string {
	d := b.domains[p.domain]
	for _, e := range d.hosts {
		for _, a := range e.iface.ips {
			if a.v.Masked() == p.Prefix {
				return a.key
			}
		}
	}
	for _, rt := range d.routers {
		for _, g := range rt.sw.file.ips {
			for _, a := range g.ips {
				if a.v.Masked() == p.Prefix {
					return a.key
				}
			}
		}
	}
	return ""
}

package topology

import (
	"net/netip"
	"slices"
)

// gateways sets the default routes of the nodes: those of the file, else the
// first router on the node's first interface that has one.
func (b *builder) gateways() {
	owners := map[netip.Addr]bool{}
	for _, n := range b.s.Nodes {
		for _, f := range n.Interfaces {
			for _, a := range f.Addrs {
				owners[a.Addr()] = true
			}
		}
	}
	routers := map[int][]netip.Prefix{} // by subnet
	for _, w := range b.s.Switches {
		for _, v := range w.VLANs {
			routers[v.Subnet] = append(routers[v.Subnet], v.Addrs...)
			for _, a := range v.Addrs {
				owners[a.Addr()] = true
			}
		}
	}
	for i := range b.s.Nodes {
		given := b.givenGateways(i, owners)
		for j := range b.s.Nodes[i].Interfaces {
			f := &b.s.Nodes[i].Interfaces[j]
			for _, r := range routers[f.Subnet] {
				fam := family(r.Addr())
				if given[fam] || !slices.ContainsFunc(f.Addrs, func(a netip.Prefix) bool { return a.Masked() == r.Masked() }) {
					continue
				}
				given[fam] = true
				f.setGateway(r.Addr())
			}
		}
	}
}

func family(a netip.Addr) int {
	if a.Is6() {
		return 1
	}
	return 0
}

func (f *Interface) setGateway(a netip.Addr) {
	if a.Is6() {
		f.Gateway6 = a
	} else {
		f.Gateway4 = a
	}
}

// givenGateways checks and sets the gateways that the file gives to a node; it
// tells for which families.
func (b *builder) givenGateways(node int, owners map[netip.Addr]bool) (given [2]bool) {
	for j, e := range b.nodes[node].order {
		f := &b.s.Nodes[node].Interfaces[j]
		for _, g := range e.iface.gateway {
			fam := family(g.v)
			if given[fam] {
				b.r.errorf(g.key, "keep one", "node %s has two default gateways of one IP version", e.dev.name)
				continue
			}
			given[fam] = true
			switch {
			case g.v.IsLinkLocalUnicast(): // on every link
			case !slices.ContainsFunc(f.Addrs, func(a netip.Prefix) bool { return a.Contains(g.v) }):
				b.r.errorf(g.key, "choose an address of the interface's subnet", "the gateway %s is not in a subnet of %s", g.v, e.name())
			case slices.ContainsFunc(f.Addrs, func(a netip.Prefix) bool { return a.Addr() == g.v }):
				b.r.errorf(g.key, "choose the address of the router", "the gateway %s is the address of %s itself", g.v, e.name())
			case !owners[g.v]:
				b.r.warnf(g.key, "give the address to a router by its key ip", "no device has the gateway address %s", g.v)
			}
			f.setGateway(g.v)
		}
	}
	return given
}

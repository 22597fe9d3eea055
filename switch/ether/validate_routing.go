package ether

import "net/netip"

// checkRouting looks at interfaces, routes and neighbours.
func (c *Config) checkRouting(bad func(string, ...any)) {
	seen := map[[2]int]bool{}
	for _, x := range c.Interfaces {
		key := [2]int{x.Port, 0}
		if x.VID != 0 {
			key = [2]int{-1, int(x.VID)}
		}
		switch {
		case seen[key]:
			bad("two router interfaces on port %d vlan %d: give one all the addresses", x.Port, x.VID)
		case x.VID > maxVID:
			bad("interface of vlan %d: use 1 to %d", x.VID, maxVID)
		case x.VID == 0 && (x.Port < 0 || x.Port >= len(c.Ports) || c.Ports[x.Port].Mode != Routed):
			bad("interface of port %d: that is not a routed port; set its mode, or name a vlan", x.Port)
		}
		seen[key] = true
		for _, a := range x.Addrs {
			if !a.IsValid() || a.Addr().Zone() != "" || a.Addr().Is4In6() || a.Addr().IsMulticast() || a.Addr().IsUnspecified() {
				bad("interface address %v is not usable", a)
			}
		}
	}
	for _, a := range c.Addrs {
		if !a.IsValid() || a.Zone() != "" || a.Is4In6() || a.IsMulticast() || a.IsUnspecified() {
			bad("address %v is not usable", a)
		}
	}
	for _, r := range c.Routes {
		if !r.Prefix.IsValid() || r.Prefix.Addr().Is4In6() {
			bad("route %v: not a prefix", r.Prefix)
			continue
		}
		if len(r.NextHops) == 0 {
			bad("route %v has no next hop", r.Prefix)
		}
		for _, h := range r.NextHops {
			switch {
			case h.Gateway.IsValid():
				if h.Gateway.Is4() != r.Prefix.Addr().Is4() {
					bad("route %v: gateway %v is of the other IP version", r.Prefix, h.Gateway)
				} else if c.interfaceOf(h.Gateway) < 0 {
					bad("route %v: gateway %v is in no interface's subnet", r.Prefix, h.Gateway)
				}
			case h.Port < 0 || h.Port >= len(c.Ports) || c.Ports[h.Port].Mode != Routed:
				bad("route %v: port %d is not a routed port", r.Prefix, h.Port)
			case h.MAC == [6]byte{} || h.MAC[0]&1 != 0:
				bad("route %v: next hop on port %d needs a gateway or a unicast MAC address", r.Prefix, h.Port)
			}
		}
	}
	for _, n := range c.Neighbours {
		if c.interfaceOf(n.Addr) < 0 {
			bad("neighbour %v is in no interface's subnet", n.Addr)
		}
		if n.MAC[0]&1 != 0 {
			bad("neighbour %v: % x is a group address", n.Addr, n.MAC)
		}
	}
}

// interfaceOf returns the index of the interface whose subnet holds a; -1 if
// there is none.
func (c *Config) interfaceOf(a netip.Addr) int {
	for i, x := range c.Interfaces {
		for _, p := range x.Addrs {
			if p.Contains(a) {
				return i
			}
		}
	}
	return -1
}

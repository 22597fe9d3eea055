package ether

import (
	"net/netip"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// router is the state of layer 3.
type router struct {
	ifaces []*iface
	local  map[netip.Addr]bool // addresses of the switch that every interface answers for
	fib    fib
	neigh  map[neighKey]*adjacency
	seed   uint64 // of the ECMP hash

	cache  []cacheSlot
	gen    uint32 // cache entries of another generation are void
	linked int    // ports that were connected when the FIB was last looked over

	errors limiter // ICMP errors
}

// iface is a router interface.
type iface struct {
	index     int
	mac       [6]byte
	port      *port // nil for a VLAN interface
	vlan      *vlan
	addrs     []netip.Prefix
	linkLocal netip.Addr
	up        bool
}

func (s *Switch) initRouter() {
	r := &s.router
	r.local = make(map[netip.Addr]bool)
	r.neigh = make(map[neighKey]*adjacency)
	r.seed = s.proc.NewRand(0xec3b).Uint64()
	r.gen, r.linked = 1, -1
	for _, p := range s.ports {
		if p.cfg.Mode == Routed {
			p.iface = s.newInterface(PortMAC(s.cfg.MAC, p.index))
			p.iface.port = p
		}
	}
	for i := range s.cfg.Interfaces {
		c := &s.cfg.Interfaces[i]
		var x *iface
		if c.VID == 0 {
			x = s.ports[c.Port].iface
		} else {
			x = s.newInterface(s.cfg.MAC)
			x.vlan = s.vlanFor(c.VID)
			x.vlan.iface = x
		}
		x.addrs = append(x.addrs, c.Addrs...)
		for _, a := range c.Addrs {
			if !a.Addr().IsLinkLocalUnicast() {
				r.local[a.Addr()] = true
				r.fib.connect(a.Masked(), x)
			}
		}
	}
	for _, a := range s.cfg.Addrs {
		r.local[a] = true
	}
	for _, c := range s.cfg.Routes {
		g := r.fib.group(c.Prefix.Masked())
		for _, h := range c.NextHops {
			g.via = append(g.via, s.nextHop(h))
		}
	}
	for _, n := range s.cfg.Neighbours {
		s.setNeighbour(s.interfaceFor(n.Addr), n.Addr, n.MAC).static = true
	}
	r.fib.sort()
	if len(r.ifaces) > 0 {
		r.cache = make([]cacheSlot, 1<<cacheBits)
	}
}

func (s *Switch) newInterface(mac [6]byte) *iface {
	x := &iface{index: len(s.router.ifaces), mac: mac, linkLocal: linkLocal(mac)}
	s.router.ifaces = append(s.router.ifaces, x)
	return x
}

// linkLocal is the address that a MAC address gives (RFC 4291 appendix A).
func linkLocal(m [6]byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]})
}

func (s *Switch) nextHop(h NextHop) *adjacency {
	if h.Gateway.IsValid() {
		a := s.adjacency(s.interfaceFor(h.Gateway), h.Gateway)
		a.gateway = true
		return a
	}
	return &adjacency{iface: s.ports[h.Port].iface, mac: h.MAC, resolved: true, static: true}
}

// interfaceFor returns the interface whose subnet holds a; nil if none does.
func (s *Switch) interfaceFor(a netip.Addr) *iface {
	for _, x := range s.router.ifaces {
		if x.subnet(a).IsValid() {
			return x
		}
	}
	return nil
}

// subnet returns the interface's own address, with its prefix, in the subnet
// that holds a; not valid if there is none.
func (x *iface) subnet(a netip.Addr) netip.Prefix {
	for _, p := range x.addrs {
		if p.Contains(a) {
			return p
		}
	}
	return netip.Prefix{}
}

// owns tells whether a is an address of this interface.
func (x *iface) owns(a netip.Addr) bool {
	for _, p := range x.addrs {
		if p.Addr() == a {
			return true
		}
	}
	return a == x.linkLocal
}

// address returns an address of the switch to send from: of the interface if
// it has one of the wanted version, else the first that there is.
func (s *Switch) address(x *iface, v4 bool) (netip.Addr, bool) {
	for _, p := range x.addrs {
		if p.Addr().Is4() == v4 {
			return p.Addr(), true
		}
	}
	for _, a := range s.cfg.Addrs {
		if a.Is4() == v4 {
			return a, true
		}
	}
	for _, y := range s.router.ifaces {
		for _, p := range y.addrs {
			if p.Addr().Is4() == v4 && !p.Addr().IsLinkLocalUnicast() {
				return p.Addr(), true
			}
		}
	}
	return netip.Addr{}, false
}

// limiter lets a burst of events pass and then one per interval.
type limiter struct{ next sim.Time }

// As Linux limits ICMP by default: 1000 a second, 50 at once.
const (
	icmpInterval = sim.Millisecond
	icmpBurst    = 50
)

func (l *limiter) allow(now sim.Time) bool {
	t := max(l.next, now)
	if t-now > (icmpBurst-1)*icmpInterval {
		return false
	}
	l.next = t + icmpInterval
	return true
}

// linkChanged looks the FIB over after a link of the switch went down or came
// up: interfaces without a link lose what they learned, next hops behind them
// are skipped.
func (r *router) linkChanged(s *Switch) {
	r.gen++
	r.linked = 0
	for _, p := range s.ports {
		if p.link.Peer() != nil {
			r.linked++
		}
	}
	for _, x := range r.ifaces {
		was := x.up
		if x.port != nil {
			x.up = x.port.link.Up()
		} else {
			x.up = false
			for _, i := range x.vlan.members {
				x.up = x.up || s.ports[i].link.Up()
			}
		}
		if was && !x.up {
			r.forget(x)
		}
	}
	for _, g := range r.fib.groups {
		g.live = g.live[:0]
		for _, a := range g.via {
			if a.iface.up {
				g.live = append(g.live, a)
			}
		}
	}
}

// connected looks the FIB over if links were connected since the last time,
// which no call announces.
func (r *router) connected(s *Switch) {
	n := 0
	for _, p := range s.ports {
		if p.link.Peer() != nil {
			n++
		}
	}
	if n != r.linked {
		r.linkChanged(s)
	}
}

var allNodes = [16]byte{0xff, 0x02, 15: 1}

var allNodesMAC = wire.MulticastMAC(allNodes)

package topology

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Automatic addresses. Subnet number K (0 if there is only one, else 1 for the
// first) is 10.0.K.0/24 and fd00:0:0:K::/64; hosts count from 1, routers from
// .254 and ::fffe downwards. Router number N has 10.255.0.N and
// fd00:0:0:ffff::N. If a subnet has more than 253 stations, all automatic IPv4
// subnets are 10.K.0.0/16.
const (
	maxStations24 = 253
	minIPv6MTU    = 1280 // RFC 8200 §5
	routerHostV6  = 0xfffe
)

// plan is the address plan of one domain.
type plan struct {
	v4, v6 []netip.Prefix        // masked, in order of appearance
	used   map[netip.Addr]string // who has it
	next   map[netip.Prefix]uint64
	given  map[*router][]netip.Prefix
}

func (p *plan) family(v6 bool) *[]netip.Prefix {
	if v6 {
		return &p.v6
	}
	return &p.v4
}

func (p *plan) add(x netip.Prefix) {
	l := p.family(x.Addr().Is6())
	if m := x.Masked(); !slices.Contains(*l, m) {
		*l = append(*l, m)
	}
}

// all returns the prefixes, IPv4 first.
func (p *plan) all() []netip.Prefix { return slices.Concat(p.v4, p.v6) }

// addrAt is address number n of a prefix, counted from its lowest.
func addrAt(p netip.Prefix, n uint64) (netip.Addr, bool) {
	base := p.Masked().Addr()
	if base.Is4() {
		b := base.As4()
		v := uint64(binary.BigEndian.Uint32(b[:])) + n
		binary.BigEndian.PutUint32(b[:], uint32(v))
		a := netip.AddrFrom4(b)
		return a, v>>32 == 0 && p.Contains(a)
	}
	b := base.As16()
	lo := binary.BigEndian.Uint64(b[8:])
	binary.BigEndian.PutUint64(b[8:], lo+n)
	a := netip.AddrFrom16(b)
	return a, lo+n >= lo && p.Contains(a)
}

// usable tells whether a station can have address a of prefix p.
func usable(p netip.Prefix, a netip.Addr) bool {
	if p.Bits() >= a.BitLen()-1 { // RFC 3021, RFC 6164
		return true
	}
	return a != p.Masked().Addr() && (a.Is6() || a != lastAddr(p))
}

// lowest hands out the lowest free address of a prefix.
func (p *plan) lowest(x netip.Prefix, who string) (netip.Prefix, bool) {
	for n := p.next[x]; ; n++ {
		a, ok := addrAt(x, n)
		if !ok {
			return netip.Prefix{}, false
		}
		if _, used := p.used[a]; !used && usable(x, a) {
			p.next[x] = n + 1
			p.used[a] = who
			return netip.PrefixFrom(a, x.Bits()), true
		}
	}
}

// highest hands out the highest free address of a prefix to a router; in IPv6
// ::fffe of the subnet or below.
func (p *plan) highest(x netip.Prefix, who string) (netip.Prefix, bool) {
	a := lastAddr(x)
	if v6, ok := addrAt(x, routerHostV6); ok && a.Is6() {
		a = v6
	}
	for ; a.IsValid() && x.Contains(a); a = a.Prev() {
		if _, used := p.used[a]; !used && usable(x, a) {
			p.used[a] = who
			return netip.PrefixFrom(a, x.Bits()), true
		}
	}
	return netip.Prefix{}, false
}

// assignAddresses runs the steps of this file and the next.
func (b *builder) assignAddresses() {
	b.givenAddresses()
	b.loopbacks()
	taken := b.checkOverlap()
	b.automaticSubnets(taken)
	for i, d := range b.domains {
		b.assign(i, d)
	}
	for i := range b.s.Switches {
		slices.SortFunc(b.s.Switches[i].VLANs, func(x, y VLAN) int { return int(x.ID) - int(y.ID) })
	}
	b.gateways()
}

// addrsOf is where the Spec keeps the addresses and the subnet of a port.
func (b *builder) addrsOf(e *buildEnd) (*[]netip.Prefix, *int) {
	n := &b.s.Nodes[e.dev.node.index]
	if e.link.ib {
		return &n.IBPorts[e.pos].Addrs, &n.IBPorts[e.pos].Subnet
	}
	return &n.Interfaces[e.pos].Addrs, &n.Interfaces[e.pos].Subnet
}

// loopbacks gives each router its own addresses.
func (b *builder) loopbacks() {
	n := 0
	for i, w := range b.switches {
		if w.mode() != Router {
			continue
		}
		n++
		v4 := netip.AddrFrom4([4]byte{10, 255, byte(n >> 8), byte(n)})
		v6 := netip.AddrFrom16([16]byte{0xfd, 6: 0xff, 7: 0xff, 14: byte(n >> 8), 15: byte(n)})
		b.s.Switches[i].Loopback = []netip.Prefix{netip.PrefixFrom(v4, 32), netip.PrefixFrom(v6, 128)}
	}
}

// automaticSubnets gives a prefix of each family to the domains that need one.
func (b *builder) automaticSubnets(taken []netip.Prefix) {
	big := false
	for _, d := range b.domains {
		big = big || len(d.hosts)+len(d.routers) > maxStations24
	}
	first := 1
	if len(b.domains) == 1 {
		first = 0
	}
	spare := [2]int{first + len(b.domains), first + len(b.domains)}
	for i, d := range b.domains {
		auto := slices.ContainsFunc(d.hosts, func(e *buildEnd) bool { return !e.iface.hasIPs })
		if !auto {
			continue
		}
		for fam, nth := range []func(int) netip.Prefix{func(k int) netip.Prefix { return subnet4(k, big) }, subnet6} {
			l := d.plan.family(fam == 1)
			if len(*l) > 0 || fam == 1 && !b.d.ipv6.get(true) {
				continue
			}
			p := nth(first + i)
			for overlaps(taken, p) {
				p = nth(spare[fam])
				spare[fam]++
			}
			if !p.IsValid() {
				b.r.errorf(d.hosts[0].iface.key, "give addresses by hand", "there are more subnets than automatic ones")
				continue
			}
			*l = append(*l, p)
		}
	}
}

// subnet4 is automatic IPv4 subnet number k; invalid if there is none. 10.255
// is the routers'.
func subnet4(k int, big bool) netip.Prefix {
	switch {
	case big && k < 255:
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(k)}), 16)
	case !big && k < 255<<8:
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(k >> 8), byte(k)}), 24)
	}
	return netip.Prefix{}
}

// subnet6 is automatic IPv6 subnet number k; fd00:0:0:ffff is the routers'.
func subnet6(k int) netip.Prefix {
	if k >= 0xffff {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 6: byte(k >> 8), 7: byte(k)}), 64)
}

func overlaps(taken []netip.Prefix, p netip.Prefix) bool {
	return p.IsValid() && slices.ContainsFunc(taken, p.Overlaps)
}

// assign gives every router and host of a domain the addresses that the file
// does not, and writes the subnet into the Spec.
func (b *builder) assign(number int, d *domain) {
	full := func(key string, x netip.Prefix, who string) {
		b.r.errorf(key, "use a larger subnet", "subnet %s has no address left for %s", x, who)
	}
	subnet := Subnet{IPoIB: d.ib, Prefixes: d.plan.all()}
	for _, rt := range d.routers {
		v := VLAN{ID: rt.v.id, Subnet: number, Addrs: d.plan.given[rt]}
		for _, x := range subnet.Prefixes {
			if slices.ContainsFunc(v.Addrs, func(a netip.Prefix) bool { return a.Masked() == x }) {
				continue
			}
			a, ok := d.plan.highest(x, rt.sw.name)
			if !ok {
				full(rt.sw.key, x, rt.sw.name)
				continue
			}
			v.Addrs = append(v.Addrs, a)
		}
		sw := &b.s.Switches[rt.sw.index]
		sw.VLANs = append(sw.VLANs, v)
	}
	for _, e := range d.hosts {
		n := e.dev.node.index
		addrs, at := b.addrsOf(e)
		*at = number
		for _, a := range e.iface.ips {
			*addrs = append(*addrs, a.v)
		}
		for fam := range 2 {
			l := *d.plan.family(fam == 1)
			if e.iface.hasIPs || len(l) == 0 || fam == 1 && (e.iface.mtu < minIPv6MTU || !b.d.ipv6.get(true)) {
				continue
			}
			a, ok := d.plan.lowest(l[0], e.name())
			if !ok {
				full(e.iface.key, l[0], e.name())
				continue
			}
			*addrs = append(*addrs, a)
		}
		slices.SortStableFunc(*addrs, func(x, y netip.Prefix) int { return x.Addr().BitLen() - y.Addr().BitLen() })
		subnet.Members = append(subnet.Members, End{Name: e.name(), Node: n, Switch: -1, Port: e.pos})
	}
	b.s.Subnets = append(b.s.Subnets, subnet)
}

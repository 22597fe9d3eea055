package topology

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
)

// ManagementName is the name of management ports.
const ManagementName = "mgmt0"

// fileManagement is the table [management].
type fileManagement struct {
	key    string
	subnet attr[netip.Prefix]
	mtu    attr[int64]
}

func (t *table) management() fileManagement {
	m := t.sub("management")
	if m == nil {
		return fileManagement{}
	}
	f := fileManagement{key: m.path, mtu: m.mtu()}
	f.subnet = get(m, "subnet", `a string such as "192.168.7.0/24"`, `write it as "192.168.7.0/24"`, func(s string) (netip.Prefix, error) {
		p, err := netip.ParsePrefix(s)
		if err != nil || !p.Addr().Is4() || p != p.Masked() || p.Bits() < 8 || p.Bits() > 30 || !station(p.Addr()) {
			return p, fmt.Errorf("%q is not an IPv4 subnet of /8 to /30", s)
		}
		return p, nil
	})
	m.done()
	return f
}

// addManagement gives a management port to the nodes that want one: by
// default those without Ethernet, or all if a BMC is there too. Its subnet is the last of 192.168.0.0/16 that
// is large enough and free.
func (b *builder) addManagement() {
	var nodes []*buildNode
	bmc := b.s.Rack != nil && b.s.Rack.BMC != nil
	for _, n := range b.nodes {
		if !n.attrs.management.get(bmc || len(n.order) == 0 && len(n.ib) > 0) {
			continue
		}
		if e := n.ports[ManagementName]; e != nil {
			b.r.errorf(e.key, "call the port eth0, or set management = false on the node", "%s is the management port's name", e.name())
			continue
		}
		nodes = append(nodes, n)
	}
	f := b.d.mgmt
	stations := len(nodes)
	if bmc {
		stations++
	}
	if stations == 0 {
		if f.key != "" {
			b.r.warnf(f.key, "remove it, or set management = true on nodes", "no node has a management port")
		}
		return
	}
	prefix := b.managementSubnet(stations)
	if !prefix.IsValid() {
		return
	}
	m := &Management{Prefix: prefix, MTU: int(f.mtu.get(1500))}
	base := binary.BigEndian.Uint32(prefix.Addr().AsSlice())
	addr := func(i int) netip.Prefix {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], base+uint32(i+1))
		return netip.PrefixFrom(netip.AddrFrom4(a), prefix.Bits())
	}
	for i, n := range nodes {
		k := n.index + 1
		m.Ports = append(m.Ports, ManagementPort{
			Node: n.index, Name: ManagementName,
			MAC:  MAC{2, 2, 0, byte(k >> 16), byte(k >> 8), byte(k)},
			Addr: addr(i),
		})
	}
	if bmc {
		b.s.Rack.BMC.MAC, b.s.Rack.BMC.Addr = MAC{2, 2, 1, 0, 0, 1}, addr(len(nodes))
	}
	b.s.Management = m
}

// managementSubnet is that of the file or a free one for n nodes; not valid,
// and reported, if there is none.
func (b *builder) managementSubnet(n int) netip.Prefix {
	var taken []netip.Prefix
	for _, s := range b.s.Subnets {
		taken = append(taken, s.Prefixes...)
	}
	for _, w := range b.s.Switches {
		taken = append(taken, w.Loopback...)
	}
	host := max(8, bits.Len(uint(n+1))) // without the first and the last address
	if p := b.d.mgmt.subnet; p.set {
		switch {
		case overlaps(taken, p.v):
			b.r.errorf(p.key, "choose another", "subnet %s overlaps one of the fabric", p.v)
		case n > 1<<(32-p.v.Bits())-2:
			b.r.errorf(p.key, fmt.Sprintf("use a /%d or larger", 32-bits.Len(uint(n+1))), "subnet %s is too small for %d nodes", p.v, n)
		default:
			return p.v
		}
		return netip.Prefix{}
	}
	for k := 1<<16 - 1<<min(host, 16); k >= 0 && host <= 16; k -= 1 << host {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(k >> 8), byte(k)}), 32-host)
		if !overlaps(taken, p) {
			return p
		}
	}
	b.r.errorf(b.d.mgmt.key, `give it one: [management] subnet = "172.16.0.0/16"`, "192.168.0.0/16 has no free subnet for the management ports of %d nodes", n)
	return netip.Prefix{}
}

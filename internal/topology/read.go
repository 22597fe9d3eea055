package topology

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
)

// document is a whole file.
type document struct {
	name     attr[string]
	seed     attr[int64]
	ipv6     attr[bool]
	defLink  linkAttrs
	defNode  nodeAttrs
	defSw    switchAttrs
	profiles map[string]*profile
	gen      *generator
	nodes    []*fileNode
	switches []*fileSwitch
	links    []*fileLink
	sms      []*fileSM
	noSM     bool
	mgmt     fileManagement
	tunnel   fileTunnel
	rack     *fileRack // nil: none
}

// read takes every key of the file and reports those it does not know.
func (r *reader) read(m map[string]any) *document {
	t := r.table("", m)
	d := &document{
		name: t.name("name"),
		seed: t.int("seed", 0, 1<<32-1),
		ipv6: t.bool("ipv6"),
	}
	if s := t.sub("defaults"); s != nil {
		if l := s.sub("link"); l != nil {
			d.defLink = l.linkAttrs()
			l.done()
		}
		if n := s.sub("node"); n != nil {
			d.defNode = n.nodeAttrs()
			n.done()
		}
		if w := s.sub("switch"); w != nil {
			d.defSw = w.switchAttrs()
			w.done()
		}
		s.done()
	}
	d.profiles = r.profiles(t.sub("qos"))
	if g := t.sub("generate"); g != nil {
		d.gen = g.generator()
		g.done()
	}
	for _, nt := range t.tables("node") {
		if name := nt.deviceName("h1"); name.set {
			d.nodes = append(d.nodes, nt.node(name.v))
		} else {
			nt.node("")
		}
		nt.done()
	}
	for _, st := range t.tables("switch") {
		name := st.deviceName("s1")
		s := &fileSwitch{key: st.path, name: name.v, switchAttrs: st.switchAttrs(), ips: st.routerIPs(), guid: st.guid(), remote: st.udp("remote")}
		st.done()
		if name.set {
			d.switches = append(d.switches, s)
		}
	}
	for _, lt := range t.tables("link") {
		l := &fileLink{key: lt.path, a: lt.str("a"), b: lt.str("b"), linkAttrs: lt.linkAttrs()}
		lt.done()
		if lt.m["a"] == nil || lt.m["b"] == nil {
			r.errorf(lt.path, `write a = "h1:eth0" and b = "s1:1"`, "the link has not two ends")
		}
		d.links = append(d.links, l)
	}
	d.sms, d.noSM = t.sms()
	d.mgmt = t.management()
	d.tunnel = t.tunnel()
	d.rack = t.rack()
	t.done()
	return d
}

// deviceName reads the name of a node or switch and reports a missing one.
func (t *table) deviceName(example string) attr[string] {
	name := t.name("name")
	if _, ok := t.m["name"]; !ok {
		t.r.errorf(t.path, fmt.Sprintf("add name = %q", example), "it has no name")
	}
	return name
}

// routerIPs reads ip and vlan_ip of a switch.
func (t *table) routerIPs() []vlanIPs {
	const form, remedy = `a list such as ["10.0.1.254/24"]`, `write addresses as "10.0.1.254/24"`
	var out []vlanIPs
	if ips, set := list(t, "ip", form, remedy, parseIP); set {
		out = append(out, vlanIPs{key: t.key("ip"), ips: ips})
	}
	s := t.sub("vlan_ip")
	if s == nil {
		return out
	}
	for _, k := range slices.SortedFunc(maps.Keys(s.m), compareNames) {
		vid, err := strconv.Atoi(k)
		if err != nil || vid < 1 || vid > 4094 {
			t.r.errorf(s.key(k), "use 1 to 4094", "%q is not a VLAN ID", k)
			continue
		}
		ips, _ := list(s, k, form, remedy, parseIP)
		out = append(out, vlanIPs{vid: vid, key: s.key(k), ips: ips})
	}
	return out
}

// parseIP reads an interface address with its prefix length.
func parseIP(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("%q is not an address with a prefix length", s)
	}
	a := p.Addr()
	switch {
	case a.Is4In6():
		return p, fmt.Errorf("%s is an IPv4 address in IPv6 form", s)
	case !station(a):
		return p, fmt.Errorf("%s is not a station's address", s)
	case a.IsLinkLocalUnicast() && a.Is6():
		return p, fmt.Errorf("%s is link-local, which every port has by itself", s)
	case p.Bits() == 0:
		return p, fmt.Errorf("%s covers every address", s)
	case p.Bits() < a.BitLen()-1 && a == p.Masked().Addr():
		return p, fmt.Errorf("%s is the address of the subnet itself", s)
	case a.Is4() && p.Bits() < 31 && a == lastAddr(p):
		return p, fmt.Errorf("%s is the broadcast address of its subnet", s)
	}
	return p, nil
}

func parseGateway(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" || a.Is4In6() || !station(a) {
		return a, fmt.Errorf("%q is not the address of a router", s)
	}
	return a, nil
}

// station tells whether a single host can have the address.
func station(a netip.Addr) bool {
	return !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && !(a.Is4() && (a.As4()[0] == 0 || a.As4()[0] >= 240))
}

// lastAddr is the highest address of a prefix.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := range b {
		switch n := p.Bits() - 8*i; {
		case n <= 0:
			b[i] = 0xff
		case n < 8:
			b[i] |= 0xff >> n
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

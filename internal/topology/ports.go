package topology

import (
	"net/netip"
	"slices"
	"strconv"

	"cnuas/internal/sim"
)

// buildInterface is what the file says about one interface of a node.
type buildInterface struct {
	key     string // of the table it is described in
	mac     attr[MAC]
	mtu     int
	mtuKey  string
	ips     []attr[netip.Prefix]
	hasIPs  bool
	gateway []attr[netip.Addr]
}

// orderPorts sorts the ports of each device, joins interfaces with what the
// file says about them, and reports what has no link.
func (b *builder) orderPorts() {
	for _, n := range b.nodes {
		n.order = sorted(n.ports, false)
		b.ibEnds(n)
		if len(n.ports) == 0 && !n.excused && n.file.hcas == nil {
			b.r.errorf(n.key, `add [[link]] a = "`+n.name+`:eth0"`, "node %s has no link", n.name)
		}
		if len(n.ports) > maxInterfaces {
			b.r.errorf(n.key, "use fewer links", "node %s has %d links, more than %d", n.name, len(n.ports), maxInterfaces)
		}
		b.interfaces(n)
	}
	for _, s := range b.switches {
		s.order = sorted(s.ports, s.isIB())
		if len(s.order) == 0 && !s.excused && s.file.self == nil {
			b.r.errorf(s.key, "add a link, or remove the switch", "switch %s has no link", s.name)
		}
	}
}

func sorted(ports map[string]*buildEnd, ib bool) []*buildEnd {
	var l []*buildEnd
	for _, e := range ports {
		if e.link.ib == ib {
			l = append(l, e)
		}
	}
	slices.SortFunc(l, func(x, y *buildEnd) int { return compareNames(x.port, y.port) })
	for i, e := range l {
		e.pos = i
	}
	return l
}

func (b *builder) interfaces(n *buildNode) {
	declared := map[string]*filePort{}
	for i := range n.file.ports {
		p := &n.file.ports[i]
		switch {
		case !p.name.set:
			continue
		case declared[p.name.v] != nil:
			b.r.errorf(p.name.key, "choose another name", "node %s has two ports %s", n.name, p.name.v)
			continue
		case n.ports[p.name.v] == nil && !n.excused:
			b.r.errorf(p.name.key, `add [[link]] a = "`+n.name+":"+p.name.v+`"`, "port %s:%s has no link", n.name, p.name.v)
		}
		declared[p.name.v] = p
	}
	b.ibInterfaces(n, declared)
	for i, e := range n.order {
		var own, first filePort
		f := &buildInterface{key: n.key}
		if p := declared[e.port]; p != nil {
			own, f.key = *p, p.key
		}
		if i == 0 {
			first = n.file.first
		}
		f.mac = own.mac.or(first.mac)
		mtu := own.mtu.or(n.attrs.mtu)
		f.mtu, f.mtuKey = int(mtu.get(DefaultMTU)), mtu.key
		f.ips, f.hasIPs = own.ips, own.hasIPs
		if !own.hasIPs {
			f.ips, f.hasIPs = first.ips, first.hasIPs
		}
		if own.guid.set {
			b.r.errorf(own.guid.key, "remove it", "%s is an Ethernet port: its GID follows from its MAC address", e.name())
		}
		f.gateway = own.gateway
		if len(f.gateway) == 0 {
			f.gateway = first.gateway
		}
		if f.mtuKey == "" {
			f.mtuKey = f.key
		}
		e.iface = f
		b.maxMTU = max(b.maxMTU, f.mtu)
	}
}

// fill writes nodes, switches and links into the Spec; addresses and QoS
// follow in steps of their own.
func (b *builder) fill() {
	s := b.s
	number := map[*buildLink]int{}
	for i, l := range b.links {
		number[l] = i
	}
	for i, n := range b.nodes {
		node := Node{
			Name:      n.name,
			Stack:     n.attrs.stack.get(StackSoft),
			RoCEDSCP:  uint8(n.attrs.roceDSCP.get(DefaultRoCEDSCP)),
			CNPDSCP:   uint8(n.attrs.cnpDSCP.get(DefaultCNPDSCP)),
			IgnorePFC: n.attrs.ignorePFC.get(false),
		}
		for j, e := range n.order {
			mac := MAC{2, 0, 0, byte((i + 1) >> 8), byte(i + 1), byte(j)}
			node.Interfaces = append(node.Interfaces, Interface{
				Name: e.port, Device: e.device, MAC: e.iface.mac.get(mac), MTU: e.iface.mtu, Link: number[e.link], Subnet: -1,
			})
		}
		b.fillHCAs(n, &node, number)
		s.Nodes = append(s.Nodes, node)
	}
	for i, w := range b.switches {
		if w.isIB() {
			s.Switches = append(s.Switches, b.ibSwitch(w, number))
			continue
		}
		b.fitEthernet(w)
		base := MAC{2, 1, byte((i + 1) >> 8), byte(i + 1)}
		sw := Switch{Name: w.name, Mode: w.attrs.mode.get(Bridge), MAC: base}
		for j, e := range w.order {
			n, _ := strconv.Atoi(e.port)
			p := SwitchPort{Number: n, MAC: base, Link: number[e.link], Routed: e.link.routed, MTU: b.maxMTU}
			p.MAC[4], p.MAC[5] = byte((j+1)>>8), byte(j+1)
			if f := e.peer().iface; f != nil {
				p.MTU = f.mtu
			}
			if !p.Routed {
				p.PVID, p.Tagged = e.link.pvid, e.link.tagged
			}
			sw.Ports = append(sw.Ports, p)
		}
		s.Switches = append(s.Switches, sw)
	}
	for _, l := range b.links {
		link := Link{
			Rate:  l.attrs.rate.get(DefaultRate),
			Delay: l.attrs.delay.get(DefaultDelay * sim.Picosecond),
			Loss:  l.attrs.loss.get(0),
			Down:  !l.attrs.up.get(true),
		}
		if l.ib {
			link.IB = l.attrs.ib.link()
			link.Rate = link.IB.DataRate()
		}
		for i, end := range []*End{&link.A, &link.B} {
			e := l.ends[i]
			*end = End{Name: e.name(), Node: -1, Switch: -1, Port: e.pos}
			if e.dev.node != nil {
				end.Node = e.dev.node.index
			} else {
				end.Switch = e.dev.sw.index
			}
		}
		s.Links = append(s.Links, link)
	}
	b.checkMACs()
}

func (b *builder) checkMACs() {
	owner := map[MAC]string{}
	for _, w := range b.s.Switches {
		if w.IB != nil {
			continue
		}
		owner[w.MAC] = w.Name
		for _, p := range w.Ports {
			owner[p.MAC] = w.Name + ":" + strconv.Itoa(p.Number)
		}
	}
	for i, n := range b.s.Nodes {
		for j, f := range n.Interfaces {
			e := b.nodes[i].order[j]
			if o, dup := owner[f.MAC]; dup {
				key := e.iface.mac.key
				if key == "" {
					key = e.iface.key
				}
				b.r.errorf(key, "choose another, or leave mac out", "%s and %s have the same MAC address %s", o, e.name(), f.MAC)
			}
			owner[f.MAC] = e.name()
		}
	}
}

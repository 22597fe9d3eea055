package topology

import "strings"

// How the builder tells InfiniBand links from Ethernet links. A link is one of
// InfiniBand if it ends at an InfiniBand switch, or, between nodes, at a port
// called ib0, ib1, ... Ports called eth0 and so on are Ethernet's.

// maxNodesIB and maxSwitchesIB bound fabrics with InfiniBand switches: 48K
// unicast LIDs are for both. The largest generated tree has 27648 hosts and
// 2880 switches.
const (
	maxNodesIB    = 32768
	maxSwitchesIB = 8192
)

// limits are the most nodes and switches that the file can have.
func (b *builder) limits() (nodes, switches int) {
	for _, s := range b.switches {
		if s.isIB() {
			return maxNodesIB, maxSwitchesIB
		}
	}
	return MaxNodes, MaxSwitches
}

// checkCounts holds the Ethernet part of a fabric to the limits that
// namespaces, TAPs and MAC addresses set.
func (b *builder) checkCounts() {
	nodes, switches := 0, 0
	for _, n := range b.nodes {
		if len(n.order) > 0 {
			if nodes++; nodes == MaxNodes+1 {
				b.r.errorf(n.key, "make the fabric smaller", "more than %d nodes have an Ethernet port", MaxNodes)
			}
		}
	}
	for _, s := range b.switches {
		if !s.isIB() {
			if switches++; switches == MaxSwitches+1 {
				b.r.errorf(s.key, "make the fabric smaller", "more than %d switches are Ethernet switches", MaxSwitches)
			}
		}
	}
}

func (s *buildSwitch) isIB() bool { return s.attrs.kind.get(Ethernet) == InfiniBand }

// contradicts tells whether the name of a node's port says that the port is of
// the other kind.
func contradicts(port string, ib bool) bool {
	prefix := "ib"
	if ib {
		prefix = "eth"
	}
	digits, ok := strings.CutPrefix(port, prefix)
	return ok && decimal(digits)
}

// joinKinds decides whether a link is one of InfiniBand, and reports ends and
// properties that do not fit; false if the ends do not.
func (b *builder) joinKinds(l *buildLink, f *fileLink, devs [2]*device, ports [2]string) bool {
	ib, eth := -1, -1 // an end that says so
	for i, d := range devs {
		switch {
		case d.sw != nil && d.sw.isIB(), d.node != nil && contradicts(ports[i], false):
			ib = i
		case d.sw != nil, contradicts(ports[i], true):
			eth = i
		}
	}
	key := []string{f.a.key, f.b.key}
	l.ib = ib >= 0
	if ib < 0 || eth < 0 {
		b.fitAttrs(l, f)
		return true
	}
	x, y := devs[ib], devs[eth]
	switch {
	case x.sw != nil && y.sw != nil:
		b.r.errorf(f.key, "make both switches the same kind, or put a host with a port on each between them",
			"the link joins the InfiniBand switch %s and the Ethernet switch %s", x.name, y.name)
	case x.sw != nil:
		b.r.errorf(key[eth], `write "`+y.name+`:ib0"`, "%s is an Ethernet port and %s an InfiniBand switch", y.name+":"+ports[eth], x.name)
	case y.sw != nil:
		b.r.errorf(key[ib], `write "`+x.name+`:eth0", or set kind = "ib" on the switch`, "%s is an InfiniBand port and %s an Ethernet switch", x.name+":"+ports[ib], y.name)
	default:
		b.r.errorf(f.key, "join two ports of one kind", "the link joins the InfiniBand port %s:%s and the Ethernet port %s:%s", x.name, ports[ib], y.name, ports[eth])
	}
	return false
}

// fitAttrs reports properties that the entry itself gives and that links of its
// kind have not. Those of [defaults] wait for links that have them.
func (b *builder) fitAttrs(l *buildLink, f *fileLink) {
	if !l.ib {
		if k := f.ib.first(); k != "" {
			b.r.errorf(k, `remove it; an InfiniBand link ends at a switch with kind = "ib", or joins ports such as "h1:ib0"`,
				"width, speed, mtu, vls and tunnel are for InfiniBand links, and this is an Ethernet link")
		}
		return
	}
	if f.rate.set {
		b.r.errorf(f.rate.key, `write width = 4 and speed = "EDR" for 100 Gb/s`, "the rate of an InfiniBand link follows from its width and speed")
	}
	switch {
	case f.vlan.set:
		b.r.errorf(f.vlan.key, "remove it; partitions of [sm] separate hosts", "an InfiniBand link has no VLAN")
	case f.hasTrunk:
		b.r.errorf(f.key, "remove trunk; partitions of [sm] separate hosts", "an InfiniBand link has no VLAN")
	}
}

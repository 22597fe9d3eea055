package topology

import (
	"strings"

	"cnuas/internal/sim"
)

// maxPartitions bounds partition text in bytes.
const maxPartitions = 1 << 20

// buildSM is a subnet manager and where it runs.
type buildSM struct {
	*fileSM
	key     string // where its node is named
	node    *buildNode
	port    *ibEnd
	standby bool
}

// addSMs places the subnet managers. Without [sm] the first port of each
// InfiniBand subnet has one.
func (b *builder) addSMs() {
	if b.d.noSM {
		if len(b.d.sms) > 0 {
			b.r.errorf(b.d.sms[0].key, "remove it, or none = true", "there is a subnet manager, and none is wanted")
		}
		return
	}
	if len(b.subnets) == 0 {
		for _, m := range b.d.sms {
			b.r.errorf(m.key, "remove it, or add a switch with kind = \"ib\"", "there is no InfiniBand port for a subnet manager")
		}
		return
	}
	if len(b.d.sms) == 0 {
		for _, s := range b.subnets {
			if len(s.nodes) > 0 {
				b.run1(&buildSM{fileSM: &fileSM{}, node: s.of[0], port: s.nodes[0]}, s)
			}
		}
		return
	}
	for _, f := range b.d.sms {
		m := &buildSM{fileSM: f, key: f.key}
		if f.node.set {
			m.key = f.node.key
			if m.node, m.port = b.smPort(f.node); m.node == nil {
				b.lostSM = true
				continue
			}
		} else if s := b.firstSubnet(); s != nil {
			m.node, m.port = s.of[0], s.nodes[0]
		}
		if m.node == nil {
			continue
		}
		b.run1(m, b.subnetOf(m.port))
		for _, sb := range f.standby {
			if n, p := b.smPort(sb); n != nil {
				s := b.subnetOf(p)
				if s != b.subnetOf(m.port) {
					b.r.errorf(sb.key, "choose a node of the same subnet", "%s:%s is not in the subnet of the subnet manager at %s:%s", n.name, p.name, m.node.name, m.port.name)
				}
				b.run1(&buildSM{fileSM: f, key: sb.key, node: n, port: p, standby: true}, s)
			}
		}
	}
}

// firstSubnet is the first that has no subnet manager yet and a host to run one.
func (b *builder) firstSubnet() *ibSubnet {
	var any *ibSubnet
	for _, s := range b.subnets {
		if len(s.nodes) > 0 && len(s.sms) == 0 {
			return s
		} else if len(s.nodes) > 0 && any == nil {
			any = s
		}
	}
	return any
}

func (b *builder) subnetOf(p *ibEnd) *ibSubnet {
	for _, s := range b.subnets {
		for _, x := range s.nodes {
			if x == p {
				return s
			}
		}
	}
	return nil
}

// smPort reads "h1" or "h1:ib1".
func (b *builder) smPort(a attr[string]) (*buildNode, *ibEnd) {
	name, port, hasPort := strings.Cut(a.v, ":")
	d := b.byName[name]
	switch {
	case d == nil:
		b.r.errorf(a.key, suggest(name, b.names), "there is no node %q", name)
		return nil, nil
	case d.node == nil:
		b.r.errorf(a.key, "name a node", "%s is a switch: subnet managers run in nodes", name)
		return nil, nil
	}
	ports := []string{}
	for _, p := range d.node.ib {
		if p.end != nil && (!hasPort || p.name == port) {
			return d.node, p
		}
		if p.end != nil {
			ports = append(ports, name+":"+p.name)
		}
	}
	switch {
	case d.excused: // its link was reported
	case len(ports) > 0:
		b.r.errorf(a.key, "use "+strings.Join(ports, ", "), "%s is no InfiniBand port of %s", a.v, name)
	default:
		b.r.errorf(a.key, "choose a node with an InfiniBand port", "node %s has no InfiniBand port with a link", name)
	}
	return nil, nil
}

// run1 writes one subnet manager into the Spec.
func (b *builder) run1(m *buildSM, s *ibSubnet) {
	for _, o := range s.sms {
		if o.port == m.port {
			b.r.errorf(m.key, "name another node", "two subnet managers run at %s:%s", m.node.name, m.port.name)
			return
		}
	}
	s.sms = append(s.sms, m)
	prio := m.priority.get(DefaultPriority)
	if m.standby {
		prio = max(0, prio-1)
	}
	engine := m.engine.get(MinHop)
	out := SM{
		Node: m.node.index, Engine: engine, Priority: uint8(prio), LMC: uint8(m.lmc.get(0)),
		Sweep: m.sweep.get(DefaultSweep * sim.Second), QoS: m.qos.get(engine == DFSSSP),
		Partitions: b.partitions(m.partitions), Standby: m.standby,
	}
	out.Port = m.port.end.pos
	b.s.SMs = append(b.s.SMs, out)
}

// partitions is the text of the key: itself if it holds a ';', which ends every
// partition, else that of the file it names.
func (b *builder) partitions(a attr[string]) string {
	text := a.v
	if a.set && !strings.ContainsAny(text, ";\n") {
		if b.read == nil {
			b.r.errorf(a.key, `write the text itself: "Default=0x7fff: ALL=full;"`, "the file %q cannot be read here", a.v)
			return ""
		}
		data, err := b.read(a.v)
		if err != nil {
			b.r.errorf(a.key, `name a file beside the topology, or write the text itself: "Default=0x7fff: ALL=full;"`, "%v", err)
			return ""
		}
		text = string(data)
	}
	if len(text) > maxPartitions {
		b.r.errorf(a.key, "make it shorter", "the partitions have %d bytes, more than %d", len(text), maxPartitions)
	}
	return text
}

package topology

import (
	"fmt"
	"slices"
	"strings"
)

// ibSubnet is an InfiniBand subnet: what InfiniBand links join.
type ibSubnet struct {
	nodes    []*ibEnd // connected ports
	of       []*buildNode
	switches []*buildSwitch
	sms      []*buildSM
}

// addSubnets finds the InfiniBand subnets, in the order of the nodes and then
// of the switches. Each is a domain of IPoIB after those of Ethernet.
func (b *builder) addSubnets() {
	join := newForest[any]() // of ports of nodes and of switches: a node does not forward
	at := func(e *buildEnd) any {
		if e.dev.sw != nil {
			return e.dev.sw
		}
		return e
	}
	for _, l := range b.links {
		if l.ib {
			join.union(at(l.ends[0]), at(l.ends[1]))
		}
	}
	byRoot := map[any]*ibSubnet{}
	get := func(x any) *ibSubnet {
		root := join.find(x)
		if byRoot[root] == nil {
			byRoot[root] = &ibSubnet{}
			b.subnets = append(b.subnets, byRoot[root])
		}
		return byRoot[root]
	}
	for _, n := range b.nodes {
		for _, p := range n.ib {
			if p.end != nil {
				s := get(at(p.end))
				s.nodes, s.of = append(s.nodes, p), append(s.of, n)
			}
		}
	}
	for _, w := range b.switches {
		if w.isIB() && len(w.order) > 0 {
			s := get(w)
			s.switches = append(s.switches, w)
		}
	}
	for _, s := range b.subnets {
		if len(s.nodes) == 0 {
			continue
		}
		d := &domain{ib: true}
		for _, p := range s.nodes {
			d.hosts = append(d.hosts, p.end)
		}
		b.domains = append(b.domains, d)
	}
}

// name says which subnet it is by its first port.
func (s *ibSubnet) name() string {
	if len(s.nodes) > 0 {
		return "of " + s.nodes[0].end.name()
	}
	return "of " + s.switches[0].name
}

func (s *ibSubnet) key() string {
	if len(s.nodes) > 0 {
		return s.of[0].key
	}
	return s.switches[0].key
}

// checkSubnets looks at the InfiniBand subnets as a subnet manager does.
func (b *builder) checkSubnets() {
	if len(b.subnets) > 1 {
		chosen := b.d.noSM || b.lostSM || len(b.d.sms) > 0 && !slices.ContainsFunc(b.subnets, func(s *ibSubnet) bool { return len(s.sms) == 0 })
		if !chosen { // else the file knows what it does
			names := []string{}
			for _, s := range b.subnets[:min(len(b.subnets), 4)] {
				names = append(names, s.name())
			}
			if len(b.subnets) > 4 {
				names = append(names, "...")
			}
			b.r.warnf(b.subnets[1].key(), "join them by a link, or give each a [[sm]]",
				"the InfiniBand links make %d subnets that do not reach each other: %s", len(b.subnets), strings.Join(names, ", "))
		}
	}
	for _, s := range b.subnets {
		switch {
		case len(s.sms) > 0:
			b.checkLIDs(s)
			b.checkEngine(s)
			b.checkGroupMTU(s)
		case b.d.noSM || b.lostSM:
		case len(s.nodes) == 0:
			b.r.warnf(s.key(), "add a host", "no host is in the InfiniBand subnet %s: no subnet manager can run there", s.name())
		default:
			b.r.warnf(s.key(), fmt.Sprintf(`add [[sm]] node = "%s"`, s.nodes[0].end.name()), "no subnet manager runs in the InfiniBand subnet %s: its ports stay without LIDs", s.name())
		}
	}
}

// checkLIDs counts the LIDs that the subnet needs.
func (b *builder) checkLIDs(s *ibSubnet) {
	m := s.sms[0]
	lids := len(s.switches) + len(s.nodes)<<m.lmc.get(0)
	key := m.lmc.key
	if key == "" {
		key = m.key
	}
	if key == "" {
		key = s.key()
	}
	if lids > MaxUnicastLIDs {
		b.r.errorf(key, "lower lmc, or use fewer hosts", "%d ports with 2^%d LIDs each and %d switches need %d LIDs, and there are %d", len(s.nodes), m.lmc.get(0), len(s.switches), lids, MaxUnicastLIDs)
		return
	}
	for _, w := range s.switches {
		if c := w.attrs.ib.lftCap; int64(lids) >= c.get(DefaultLFTCap) {
			b.r.warnf(c.key, "raise lft_cap, or lower lmc", "the subnet needs LIDs 1 to %d, and switch %s forwards those below %d", lids, w.name, c.get(DefaultLFTCap))
			return
		}
	}
}

// checkEngine warns where the routing engine cannot work as it is meant to.
func (b *builder) checkEngine(s *ibSubnet) {
	m := s.sms[0]
	if m.engine.get(MinHop) == FatTree && m.lmc.get(0) > 0 {
		b.r.warnf(m.lmc.key, "set lmc = 0, or engine = \"updn\"", "ftree gives each port one LID: with lmc = %d the subnet manager falls back to minhop", m.lmc.v)
	}
	if m.engine.get(MinHop) != DFSSSP {
		return
	}
	if m.qos.set && !m.qos.v {
		b.r.warnf(m.qos.key, "set qos = true", "dfsssp avoids deadlocks by VLs, which need qos")
	}
	for _, w := range s.switches {
		for _, e := range w.order {
			vls := e.link.attrs.ib.vls
			if e.peer().dev.sw == nil || vls.get(DefaultIBVLs) >= DefaultIBVLs {
				continue
			}
			key := vls.key
			if key == "" {
				key = e.link.key
			}
			b.r.warnf(key, "use vls = 4 or more", "dfsssp breaks cycles by moving paths to other VLs, and the link of %s has %d", e.name(), vls.v)
			return
		}
	}
}

// groupMTU is that of the broadcast group of IPoIB, unless partitions say
// otherwise.
const groupMTU = 2048

// checkGroupMTU warns of ports that cannot join the broadcast group: their ib0
// would never get a carrier.
func (b *builder) checkGroupMTU(s *ibSubnet) {
	if s.sms[0].partitions.set {
		return
	}
	for _, p := range s.nodes {
		if mtu := p.end.link.attrs.ib.mtu; mtu.get(DefaultIBMTU) < groupMTU {
			b.r.warnf(mtu.key, "use mtu = 2048 or more, or partitions with a smaller group",
				"%s cannot join the broadcast group of IPoIB, whose MTU is %d: its IP interface stays without carrier", p.end.name(), groupMTU)
			return
		}
	}
}

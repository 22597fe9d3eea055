package topology

import (
	"fmt"
	"maps"
	"slices"
)

// Bytes that RDMA packets need around the payload in an IP packet over IPv6:
// IPv6 40, UDP 8, BTH 12, RETH 16, ImmDt 4, ICRC 4 (IBTA vol. 1 annex A17).
const rdmaHeaders = 84

// RDMAMTU is the path MTU of IBTA vol. 1 §9.6 that fits into an IP MTU: 4096,
// 2048, 1024, 512 or 256 bytes; 0 if none does.
func RDMAMTU(mtu int) int {
	for m := 4096; m >= 256; m /= 2 {
		if mtu >= m+rdmaHeaders {
			return m
		}
	}
	return 0
}

// addQoS resolves the profiles for switches and nodes.
func (b *builder) addQoS() {
	fastest := func(order []*buildEnd) int64 {
		rate := int64(0)
		for _, e := range order {
			rate = max(rate, e.link.attrs.rate.get(DefaultRate))
		}
		return rate
	}
	profiles := make([]*profile, len(b.switches))
	for i, w := range b.switches {
		if w.isIB() {
			continue
		}
		p := b.profile(w.attrs.qos)
		profiles[i] = p
		sw := &b.s.Switches[i]
		sw.QoS = p.resolve(fastest(w.order), b.maxMTU)
		b.headroom(p, w, sw)
		b.checkBuffer(w, p, sw)
	}
	for i, n := range b.nodes {
		if len(n.order) == 0 && len(n.ib) > 0 {
			continue
		}
		p := b.profile(n.attrs.qos)
		if len(n.order) > 0 && !n.attrs.qos.set {
			if sw := n.order[0].peer().dev.sw; sw != nil {
				p = profiles[sw.index]
			}
		}
		b.s.Nodes[i].QoS = p.resolve(fastest(n.order), b.maxMTU)
		b.checkPriority(n, i, p)
	}
	for _, name := range slices.Sorted(maps.Keys(b.d.profiles)) {
		if p := b.d.profiles[name]; !p.used && p.key != "" {
			b.r.warnf(p.key, `refer to it with qos = "`+name+`", or remove it`, "no switch or node uses the profile %q", name)
		}
	}
}

func (b *builder) profile(a attr[string]) *profile {
	name := a.get(defaultProfile)
	p := b.d.profiles[name]
	if p == nil {
		b.r.errorf(a.key, suggest(name, slices.Sorted(maps.Keys(b.d.profiles))), "there is no profile [qos.%s]", name)
		return b.d.profiles[defaultProfile]
	}
	p.used = true
	return p
}

// headroom sets that of each port of a switch.
func (b *builder) headroom(p *profile, w *buildSwitch, sw *Switch) {
	most, at := int64(0), ""
	for i, e := range w.order {
		need := Headroom(e.link.attrs.rate.get(DefaultRate), e.link.attrs.delay.get(DefaultDelay), b.maxMTU)
		sw.Ports[i].Headroom = p.headroom.get(need)
		if need > most {
			most, at = need, e.name()
		}
	}
	if p.headroom.set && p.headroom.v < most && sw.QoS.Lossless != 0 {
		b.r.warnf(p.headroom.key, "leave headroom out to have it computed",
			"headroom %d B is below the %d B that can arrive at %s after a pause: lossless frames may be dropped", p.headroom.v, most, at)
	}
}

// checkBuffer compares the packet memory of a switch with what PFC needs: the
// headroom of every port and lossless priority, and above it room for the
// static thresholds, or for two frames per port if they are dynamic.
func (b *builder) checkBuffer(w *buildSwitch, p *profile, sw *Switch) {
	q := &sw.QoS
	key := p.buffer.key
	if key == "" {
		key = w.key // the default is too small
	}
	classes := int64(len(q.Lossless.List()))
	frame := int64(b.maxMTU) + etherExtra
	headroom := int64(0)
	for _, port := range sw.Ports {
		headroom += port.Headroom * classes
	}
	ports := int64(len(sw.Ports))
	least := headroom + 2*frame*ports
	if !p.buffer.set { // a switch of many ports has more
		q.Buffer = min(max(defaultBuffer, 4*least), maxDefaultBuffer)
	}
	if q.Buffer < least {
		what := fmt.Sprintf("two frames for each of %d ports", ports)
		if headroom > 0 {
			what = fmt.Sprintf("the PFC headroom of %d B (%d ports, lossless priorities %v) and %s", headroom, ports, q.Lossless.List(), what)
		}
		b.r.errorf(key, fmt.Sprintf(`make it "%dKB" or more`, (least+999)/1000), "the buffer of %d B of switch %s is too small for %s", q.Buffer, w.name, what)
		return
	}
	if all := headroom + q.Xoff*ports*classes; q.Xoff > 0 && q.Buffer < all {
		b.r.warnf(p.xoff.key, "lower xoff, or raise buffer", "xoff of %d ports and the headroom add up to %d B, above the buffer of %d B of switch %s: lossless frames may be dropped", ports, all, q.Buffer, w.name)
	}
}

// checkPriority warns when the RDMA frames of a node are not lossless on a
// fabric that has lossless priorities.
func (b *builder) checkPriority(n *buildNode, i int, p *profile) {
	node := &b.s.Nodes[i]
	q := &node.QoS
	if !node.Stack.RoCE() || !q.PFC || q.Lossless == 0 {
		return
	}
	if q.Trust == TrustPCP {
		if !q.Lossless.Has(int(q.Untagged)) {
			b.r.warnf(p.trust.key, `set untagged = 3, or trust = "dscp"`,
				"hosts send RDMA frames without a tag, and untagged frames have priority %d, which is not lossless", q.Untagged)
		}
		return
	}
	if prio := q.DSCP[node.RoCEDSCP]; !q.Lossless.Has(int(prio)) {
		key := n.attrs.roceDSCP.key
		if key == "" {
			key = p.key
		}
		b.r.warnf(key, fmt.Sprintf("set roce_dscp, or dscp = { %d = %d }", node.RoCEDSCP, q.Lossless.List()[0]),
			"RDMA frames have DSCP %d, which is priority %d and not lossless", node.RoCEDSCP, prio)
	}
}

// checkMTUs looks at the MTU of each node and at differences.
func (b *builder) checkMTUs() {
	var first *buildEnd
	differ := false
	for _, n := range b.nodes {
		roce := n.attrs.stack.get(StackSoft).RoCE()
		for _, e := range n.order {
			mtu, key := e.iface.mtu, e.iface.mtuKey
			switch rdma := RDMAMTU(mtu); {
			case roce && rdma == 0:
				b.r.errorf(key, `raise it, or set stack = "none"`, "MTU %d is too small for RDMA: the least path MTU of 256 needs %d", mtu, 256+rdmaHeaders)
			case roce && rdma < 1024:
				b.r.warnf(key, fmt.Sprintf("use %d or more", 1024+rdmaHeaders), "MTU %d leaves a path MTU of only %d bytes for RDMA", mtu, rdma)
			}
			if first == nil {
				first = e
			}
			if mtu != first.iface.mtu && !differ {
				differ = true
				b.r.warnf(key, "use one MTU", "%s has an MTU of %d and %s of %d: large packets between them are lost", e.name(), mtu, first.name(), first.iface.mtu)
			}
		}
	}
}

// checkParts warns when some nodes have no path to others.
func (b *builder) checkParts() {
	parts := newForest[*device]()
	for _, l := range b.links {
		parts.union(l.ends[0].dev, l.ends[1].dev)
	}
	if len(b.nodes) == 0 {
		return
	}
	first := b.nodes[0]
	for _, n := range b.nodes {
		if len(n.ib) > 0 && len(first.ib) > 0 {
			continue // checkSubnets tells
		}
		if len(n.ports) > 0 && len(first.ports) > 0 && !n.excused && !first.excused && parts.find(n.device) != parts.find(first.device) {
			b.r.warnf(n.key, "add a link between them", "there is no path from %s to %s", n.name, first.name)
			return
		}
	}
}

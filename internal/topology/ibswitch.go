package topology

import (
	"net/netip"
	"slices"
	"strconv"
)

// ibSwitch is an InfiniBand switch of the Spec. Without the key ports it has as
// many as its highest that is connected.
func (b *builder) ibSwitch(w *buildSwitch, number map[*buildLink]int) Switch {
	s := &IBSwitch{
		IBNode:   IBNode{Desc: w.name, NumPorts: int(w.attrs.ports.get(0))},
		LFTCap:   int(w.attrs.ib.lftCap.get(DefaultLFTCap)),
		MCastCap: int(w.attrs.ib.mcastCap.get(DefaultMCastCap)),
		Latency:  w.attrs.ib.latency.get(DefaultIBLatency),
		Store:    !w.attrs.ib.cut.get(true),
		Remote:   w.file.remote.get(netip.AddrPort{}),
	}
	sw := Switch{Name: w.name, IB: s}
	for _, e := range w.order {
		n, _ := strconv.Atoi(e.port) // "none" where ports ran out, which was reported
		sw.Ports = append(sw.Ports, SwitchPort{Number: n, Link: number[e.link]})
		if !w.attrs.ports.set {
			s.NumPorts = max(s.NumPorts, n)
		}
	}
	b.switchGUID(w, s)
	b.fitSwitch(w)
	return sw
}

// fitSwitch reports properties that InfiniBand switches have not.
func (b *builder) fitSwitch(w *buildSwitch) {
	if p := w.attrs.ports; p.set && p.v > MaxIBPorts {
		b.r.errorf(p.key, "use 1 to "+strconv.Itoa(MaxIBPorts), "an InfiniBand switch has at most %d ports", MaxIBPorts)
	}
	if m := w.file.mode; m.set {
		b.r.errorf(m.key, "remove it", "%s is an InfiniBand switch: it forwards by LID as the subnet manager says", w.name)
	}
	if q := w.file.qos; q.set {
		b.r.errorf(q.key, "remove it; vls of links and qos of [sm] are InfiniBand's", "%s is an InfiniBand switch", w.name)
	}
	for _, g := range w.file.ips {
		b.r.errorf(g.key, "remove it", "%s is an InfiniBand switch and has no IP address", w.name)
	}
}

// fitEthernet reports properties that Ethernet switches have not.
func (b *builder) fitEthernet(w *buildSwitch) {
	keys := []string{w.file.guid.key, w.file.ib.lftCap.key, w.file.ib.mcastCap.key, w.file.ib.latency.key, w.file.ib.cut.key, w.file.remote.key}
	if i := slices.IndexFunc(keys, func(k string) bool { return k != "" }); i >= 0 {
		b.r.errorf(keys[i], `remove it, or set kind = "ib"`, "guid, lft_cap, mcast_cap, latency, cut_through and remote are for InfiniBand switches, and %s is an Ethernet switch", w.name)
	}
}

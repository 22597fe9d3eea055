package topology

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Validate checks the invariants of a Spec: indexes that lead somewhere and
// back, unique names and addresses, numbers in range. What Parse returns is
// valid; whatever builds devices from a Spec asks, for one made by hand.
func (s *Spec) Validate() error {
	v := &validator{s: s, names: map[string]bool{}, macs: map[MAC]string{}, ips: map[netip.Addr]string{}, guids: map[GUID]guidOwner{}}
	if err := checkName(s.Name); err != nil {
		v.fail("fabric: %v", err)
	}
	for i := range s.Nodes {
		v.node(i)
	}
	for i := range s.Switches {
		v.sw(i)
	}
	for i := range s.Links {
		v.link(i)
	}
	v.sms()
	v.management()
	v.rack()
	for i, n := range s.Subnets {
		for _, p := range n.Prefixes {
			if p != p.Masked() || !p.IsValid() {
				v.fail("subnet %d: %v is not a prefix", i, p)
			}
		}
	}
	return errors.Join(v.errs...)
}

type validator struct {
	s     *Spec
	errs  []error
	names map[string]bool
	macs  map[MAC]string
	ips   map[netip.Addr]string
	guids map[GUID]guidOwner
}

func (v *validator) fail(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

func (v *validator) name(name string) {
	if err := checkName(name); err != nil {
		v.fail("%v", err)
	}
	if v.names[name] {
		v.fail("the name %s is used twice", name)
	}
	v.names[name] = true
}

func (v *validator) mac(m MAC, who string) {
	if o, dup := v.macs[m]; dup || m.Multicast() || m == (MAC{}) {
		v.fail("%s: MAC address %s is bad or already that of %q", who, m, o)
	}
	v.macs[m] = who
}

func (v *validator) addrs(l []netip.Prefix, who string) {
	for _, a := range l {
		if o, dup := v.ips[a.Addr()]; dup || !a.IsValid() {
			v.fail("%s: address %s is bad or already that of %q", who, a, o)
		}
		v.ips[a.Addr()] = who
	}
}

// leads checks that link number l is one of InfiniBand or not and has end e.
func (v *validator) leads(l int, e End, ib bool, who string) {
	if l < 0 || l >= len(v.s.Links) {
		v.fail("%s: link %d does not exist", who, l)
		return
	}
	if (v.s.Links[l].IB != nil) != ib {
		v.fail("%s: link %d is of the other kind", who, l)
	}
	for _, x := range []End{v.s.Links[l].A, v.s.Links[l].B} {
		if x.Node == e.Node && x.Switch == e.Switch && x.Port == e.Port {
			return
		}
	}
	v.fail("%s: link %d does not end there", who, l)
}

func (v *validator) node(i int) {
	n := &v.s.Nodes[i]
	v.name(n.Name)
	if len(n.Interfaces) > 0 || len(n.IBPorts) == 0 {
		v.qos(&n.QoS, n.Name)
	}
	if !n.Stack.valid() {
		v.fail("%s: stack %q is not %s", n.Name, n.Stack, stackNames)
	}
	if n.RoCEDSCP > 63 || n.CNPDSCP > 63 {
		v.fail("%s: DSCP above 63", n.Name)
	}
	if len(n.Interfaces)+len(n.IBPorts) == 0 {
		v.fail("%s: no interface", n.Name)
	}
	names := map[string]bool{}
	var gateways [2]bool
	for j, f := range n.Interfaces {
		who := n.Name + ":" + f.Name
		if err := checkInterface(f.Name); err != nil || names[f.Name] {
			v.fail("%s: bad or double interface name", who)
		}
		names[f.Name] = true
		v.mac(f.MAC, who)
		v.addrs(f.Addrs, who)
		if f.MTU < MinMTU || f.MTU > MaxMTU {
			v.fail("%s: MTU %d", who, f.MTU)
		}
		v.leads(f.Link, End{Node: i, Switch: -1, Port: j}, false, who)
		if f.Subnet < 0 || f.Subnet >= len(v.s.Subnets) {
			v.fail("%s: subnet %d does not exist", who, f.Subnet)
		}
		for k, g := range []netip.Addr{f.Gateway4, f.Gateway6} {
			if g.IsValid() && (gateways[k] || g.Is6() != (k == 1)) {
				v.fail("%s: gateway %s is of the wrong family or the second", who, g)
			}
			gateways[k] = gateways[k] || g.IsValid()
		}
	}
	v.hcas(i, names)
}

func (v *validator) sw(i int) {
	w := &v.s.Switches[i]
	v.name(w.Name)
	if w.IB != nil {
		v.ibSwitch(i)
		return
	}
	v.qos(&w.QoS, w.Name)
	v.mac(w.MAC, w.Name)
	v.addrs(w.Loopback, w.Name)
	if w.Mode != Bridge && w.Mode != Router {
		v.fail("%s: mode %q", w.Name, w.Mode)
	}
	if w.Mode == Bridge && len(w.VLANs)+len(w.Loopback) > 0 {
		v.fail("%s: a bridge with addresses", w.Name)
	}
	for _, l := range w.VLANs {
		v.addrs(l.Addrs, w.Name)
		if !vid(l.ID) || l.Subnet < 0 || l.Subnet >= len(v.s.Subnets) {
			v.fail("%s: VLAN %d in subnet %d", w.Name, l.ID, l.Subnet)
		}
	}
	headroom, last := int64(0), 0
	for j, p := range w.Ports {
		who := fmt.Sprintf("%s:%d", w.Name, p.Number)
		if p.Number <= last {
			v.fail("%s: port numbers do not ascend", who)
		}
		last = p.Number
		v.mac(p.MAC, who)
		v.leads(p.Link, End{Node: -1, Switch: i, Port: j}, false, who)
		bridged := p.PVID != 0 || len(p.Tagged) > 0
		if p.Routed == bridged || p.Routed && w.Mode != Router {
			v.fail("%s: neither routed nor in a VLAN, or both, or routed at a bridge", who)
		}
		if p.PVID > 4094 || !slices.IsSorted(p.Tagged) || slices.ContainsFunc(p.Tagged, func(t uint16) bool { return !vid(t) || t == p.PVID }) {
			v.fail("%s: VLANs %d %v", who, p.PVID, p.Tagged)
		}
		headroom += p.Headroom * int64(len(w.QoS.Lossless.List()))
	}
	if headroom < 0 || headroom > w.QoS.Buffer {
		v.fail("%s: headroom %d B in a buffer of %d B", w.Name, headroom, w.QoS.Buffer)
	}
}

func vid(v uint16) bool { return v >= 1 && v <= 4094 }

func (v *validator) link(i int) {
	l := &v.s.Links[i]
	who := "link " + l.A.Name + " - " + l.B.Name
	if l.Rate < MinRate || l.Rate > MaxRate || l.Delay < 0 || l.Delay > MaxDelay || !(l.Loss >= 0 && l.Loss < 1) {
		v.fail("%s: rate %d b/s, delay %v, loss %g", who, l.Rate, l.Delay, l.Loss)
	}
	if l.IB != nil {
		v.ibLink(l, who)
	}
	for _, e := range []End{l.A, l.B} {
		switch {
		case l.IB != nil && e.Node >= 0 && e.Switch == -1 && e.Node < len(v.s.Nodes) && e.Port >= 0 && e.Port < len(v.s.Nodes[e.Node].IBPorts):
			n := v.s.Nodes[e.Node]
			if p := n.IBPorts[e.Port]; p.Link != i || e.Name != n.Name+":"+p.Name {
				v.fail("%s: port %s belongs to link %d", who, e.Name, p.Link)
			}
		case l.IB == nil && e.Node >= 0 && e.Switch == -1 && e.Node < len(v.s.Nodes) && e.Port >= 0 && e.Port < len(v.s.Nodes[e.Node].Interfaces):
			n := v.s.Nodes[e.Node]
			if f := n.Interfaces[e.Port]; f.Link != i || e.Name != n.Name+":"+f.Name {
				v.fail("%s: port %s belongs to link %d", who, e.Name, f.Link)
			}
		case e.Switch >= 0 && e.Node == -1 && e.Switch < len(v.s.Switches) && e.Port >= 0 && e.Port < len(v.s.Switches[e.Switch].Ports):
			w := v.s.Switches[e.Switch]
			if p := w.Ports[e.Port]; p.Link != i || e.Name != fmt.Sprintf("%s:%d", w.Name, p.Number) {
				v.fail("%s: port %s belongs to link %d", who, e.Name, p.Link)
			}
		default:
			v.fail("%s: end %s leads nowhere", who, e.Name)
		}
	}
}

func (v *validator) qos(q *QoS, who string) {
	ok := q.Untagged < 8 && (q.Trust == TrustDSCP || q.Trust == TrustPCP) && q.Buffer >= 0 &&
		q.Alpha > 0 && q.AlphaLossy > 0 && q.Xon >= 0 && q.Xon <= q.Xoff && q.XonOffset >= 0 && (q.PFC || q.Lossless == 0)
	for _, p := range append(q.DSCP[:], q.PCP[:]...) {
		ok = ok && p < 8
	}
	for _, w := range q.Weights {
		ok = ok && w > 0
	}
	for _, e := range q.ECN {
		ok = ok && (!e.Enable || e.KMin >= 0 && e.KMin <= e.KMax && e.PMax > 0 && e.PMax <= 1)
	}
	if !ok {
		v.fail("%s: QoS profile %s has a value out of range", who, q.Profile)
	}
}

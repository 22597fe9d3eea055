package topology

import (
	"fmt"
	"net/netip"

	"cnuas/internal/sim"
)

// The file as it is written, keys attached; nothing is filled in yet.

// linkAttrs are the properties that [defaults] link, [generate] and [[link]]
// share.
type linkAttrs struct {
	rate     attr[int64]
	delay    attr[sim.Time]
	loss     attr[float64]
	up       attr[bool]
	vlan     attr[int64]
	trunk    []attr[uint16]
	hasTrunk bool
	ib       ibLinkAttrs
}

func (a linkAttrs) or(b linkAttrs) linkAttrs {
	a.rate = a.rate.or(b.rate)
	a.delay = a.delay.or(b.delay)
	a.loss = a.loss.or(b.loss)
	a.up = a.up.or(b.up)
	a.vlan = a.vlan.or(b.vlan)
	if !a.hasTrunk {
		a.trunk, a.hasTrunk = b.trunk, b.hasTrunk
	}
	a.ib = a.ib.or(b.ib)
	return a
}

func (t *table) linkAttrs() linkAttrs {
	a := linkAttrs{
		rate:  get(t, "rate", `a string such as "10Gbps"`, `write it as "10Gbps"; units bps, Kbps, Mbps, Gbps, Tbps; 1 Mb/s to 1.6 Tb/s`, ParseRate),
		delay: get(t, "delay", `a string such as "500ns"`, `write it as "500ns"; units ps, ns, us, ms, s; at most 1 s`, ParseDelay),
		loss:  t.float("loss", "a probability of 0 to below 1", func(v float64) bool { return v >= 0 && v < 1 }),
		up:    t.bool("up"),
		vlan:  t.int("vlan", 1, 4094),
		ib:    t.ibLinkAttrs(),
	}
	length := get(t, "length", `a string such as "10m"`, `write it as "10m"; units mm, cm, m, km; 5 ns per metre`, ParseLength)
	if length.set && a.delay.set {
		t.r.errorf(length.key, "remove one of them", "delay and length are both given")
	}
	a.delay = a.delay.or(length)
	a.trunk, a.hasTrunk = list(t, "trunk", "a list of VLAN IDs", "use 1 to 4094", func(v int64) (uint16, error) {
		if v < 1 || v > 4094 {
			return 0, fmt.Errorf("%d is not a VLAN ID", v)
		}
		return uint16(v), nil
	})
	return a
}

// nodeAttrs are the properties that [defaults] node and [[node]] share.
type nodeAttrs struct {
	stack      attr[Stack]
	mtu        attr[int64]
	roceDSCP   attr[int64]
	cnpDSCP    attr[int64]
	ignorePFC  attr[bool]
	qos        attr[string]
	management attr[bool]
	idlePower  attr[float64]
	peakPower  attr[float64]
}

func (a nodeAttrs) or(b nodeAttrs) nodeAttrs {
	a.stack = a.stack.or(b.stack)
	a.mtu = a.mtu.or(b.mtu)
	a.roceDSCP = a.roceDSCP.or(b.roceDSCP)
	a.cnpDSCP = a.cnpDSCP.or(b.cnpDSCP)
	a.ignorePFC = a.ignorePFC.or(b.ignorePFC)
	a.qos = a.qos.or(b.qos)
	a.management = a.management.or(b.management)
	a.idlePower = a.idlePower.or(b.idlePower)
	a.peakPower = a.peakPower.or(b.peakPower)
	return a
}

func (t *table) nodeAttrs() nodeAttrs {
	return nodeAttrs{
		stack:      get(t, "stack", stackNames, "use "+stackNames, parseStack),
		mtu:        t.mtu(),
		roceDSCP:   t.int("roce_dscp", 0, 63),
		cnpDSCP:    t.int("cnp_dscp", 0, 63),
		ignorePFC:  t.bool("ignore_pfc"),
		qos:        t.str("qos"),
		management: t.bool("management"),
		idlePower:  t.power("idle_power"),
		peakPower:  t.power("peak_power"),
	}
}

func (t *table) mtu() attr[int64] {
	return get(t, "mtu", "a number of bytes", "a TAP takes 68 to 65521 bytes", func(v int64) (int64, error) {
		if v < MinMTU || v > MaxMTU {
			return 0, fmt.Errorf("MTU %d is out of range", v)
		}
		return v, nil
	})
}

// filePort is a port of a node with addresses of its own: [[node.port]], or
// the keys ip, gateway and mac of the node for its first port.
type filePort struct {
	key     string
	name    attr[string]
	mac     attr[MAC]
	mtu     attr[int64]
	ips     []attr[netip.Prefix]
	hasIPs  bool
	gateway []attr[netip.Addr]
	guid    attr[GUID] // of the port; among the keys of the node: of its first InfiniBand device
}

func (t *table) portAttrs() filePort {
	p := filePort{key: t.path, mac: get(t, "mac", `a string such as "02:00:00:00:01:00"`, "use a unicast address that is not zero", func(s string) (MAC, error) {
		m, err := ParseMAC(s)
		if err == nil && (m.Multicast() || m == MAC{}) {
			err = fmt.Errorf("%s is not a station's address", m)
		}
		return m, err
	})}
	p.ips, p.hasIPs = list(t, "ip", `a list such as ["10.0.0.1/24"]`, `write addresses as "10.0.0.1/24" or "fd00::1/64"`, parseIP)
	p.guid = t.guid()
	p.gateway, _ = list(t, "gateway", `a string such as "10.0.0.254"`, `write it as "10.0.0.254"`, parseGateway)
	return p
}

type fileNode struct {
	nodeAttrs
	key   string
	name  string
	first filePort   // keys of the node itself
	ports []filePort // [[node.port]]
	hcas  []fileHCA  // of an imported fabric; nil: a device for each port
}

func (t *table) node(name string) *fileNode {
	n := &fileNode{key: t.path, name: name, nodeAttrs: t.nodeAttrs(), first: t.portAttrs()}
	for _, pt := range t.tables("port") {
		p := pt.portAttrs()
		p.name = get(pt, "name", "a string in quotes", "use a name such as eth1, at most 15 characters", func(s string) (string, error) { return s, checkInterface(s) })
		if _, ok := pt.m["name"]; !ok {
			t.r.errorf(pt.path, `add name = "eth1"`, "the port has no name")
		}
		p.mtu = pt.mtu()
		pt.done()
		n.ports = append(n.ports, p)
	}
	return n
}

// switchAttrs are the properties that [defaults] switch and [[switch]] share.
type switchAttrs struct {
	mode  attr[Mode]
	ports attr[int64]
	qos   attr[string]
	kind  attr[Kind]
	ib    ibSwitchAttrs
}

func (a switchAttrs) or(b switchAttrs) switchAttrs {
	a.kind = a.kind.or(b.kind)
	a.ib = a.ib.or(b.ib)
	a.mode = a.mode.or(b.mode)
	a.ports = a.ports.or(b.ports)
	a.qos = a.qos.or(b.qos)
	return a
}

func (t *table) switchAttrs() switchAttrs {
	return switchAttrs{
		mode: get(t, "mode", `"bridge" or "router"`, `use "bridge" or "router"`, func(s string) (Mode, error) {
			if m := Mode(s); m == Bridge || m == Router {
				return m, nil
			}
			return "", fmt.Errorf("unknown mode %q", s)
		}),
		ports: t.int("ports", 1, MaxPorts),
		qos:   t.str("qos"),
		kind: get(t, "kind", `"ethernet" or "ib"`, `use "ethernet" or "ib"`, func(s string) (Kind, error) {
			if k := Kind(s); k == Ethernet || k == InfiniBand {
				return k, nil
			}
			return "", fmt.Errorf("unknown kind %q", s)
		}),
		ib: t.ibSwitchAttrs(),
	}
}

// vlanIPs are the addresses of a router in one VLAN; vid 0: in its only one.
type vlanIPs struct {
	vid int
	key string
	ips []attr[netip.Prefix]
}

type fileSwitch struct {
	switchAttrs
	key  string
	name string
	ips  []vlanIPs
	guid attr[GUID]

	remote attr[netip.AddrPort]

	// Of an imported fabric:
	self     *IBNode
	enhanced bool
}

type fileLink struct {
	linkAttrs
	key  string
	a, b attr[string]
}

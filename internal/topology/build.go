package topology

import (
	"strconv"
	"strings"
)

// MinMTU and MaxMTU bound the MTU of a TAP (Linux drivers/net/tun.c), bytes.
const (
	MinMTU = 68
	MaxMTU = 65521
)

// Defaults of nodes and links.
const (
	DefaultMTU      = 4200           // bytes: RDMA packets of 4096 over IPv6 need 4180
	DefaultRate     = 10_000_000_000 // bits per second
	DefaultDelay    = 500_000        // picoseconds: 100 m of fibre
	DefaultRoCEDSCP = 26             // AF31: priority 3, the lossless one
	DefaultCNPDSCP  = 48             // CS6: priority 6, strict
)

// maxInterfaces of one node: the last byte of the MAC address counts them.
const maxInterfaces = 64

// builder turns a document into a Spec. The steps go on after errors as long
// as what they need is there, so that all problems are found at once.
type builder struct {
	r *reader
	d *document
	s *Spec

	nodes    []*buildNode
	switches []*buildSwitch
	links    []*buildLink
	byName   map[string]*device
	names    []string // of all devices, in order
	maxMTU   int

	domains []*domain
	guids   map[GUID]guidOwner
	subnets []*ibSubnet
	lostSM  bool                              // a subnet manager of the file could not be placed
	read    func(file string) ([]byte, error) // files beside the topology; nil: none can be read
}

// device is a node or a switch while its ports are handed out.
type device struct {
	key     string
	name    string
	node    *buildNode
	sw      *buildSwitch
	ports   map[string]*buildEnd // by port name; switches: by number in decimal
	lastTry int                  // automatic numbers below are taken
	lastIB  int                  // the same for ib0, ib1, ...
	ends    []*buildEnd          // in the order of the links
	excused bool                 // a broken link mentions it: not reported as unconnected
}

type buildNode struct {
	*device
	file  *fileNode
	index int
	attrs nodeAttrs
	order []*buildEnd // Ethernet interfaces in their order
	ib    []*ibEnd    // InfiniBand ports in their order
}

type buildSwitch struct {
	*device
	file  *fileSwitch
	index int
	attrs switchAttrs
	order []*buildEnd
	vlans []*buildVLAN
}

type buildLink struct {
	key    string
	attrs  linkAttrs
	ends   [2]*buildEnd
	ib     bool // joins InfiniBand ports
	routed bool
	pvid   uint16
	tagged []uint16
}

// buildEnd is one end of a link and the port it is at.
type buildEnd struct {
	dev  *device
	link *buildLink
	key  string
	port string // "" until it is handed out
	pos  int    // index in the device's order

	iface  *buildInterface // of a node
	device string          // of a node: the RDMA device, if the port has one
}

func (e *buildEnd) name() string { return e.dev.name + ":" + e.port }

func (e *buildEnd) peer() *buildEnd {
	if e.link.ends[0] == e {
		return e.link.ends[1]
	}
	return e.link.ends[0]
}

// addDevices names every node and switch; false if there are too many to go on.
func (b *builder) addDevices() bool {
	b.byName = map[string]*device{}
	add := func(key, name string) *device {
		if old := b.byName[name]; old != nil {
			if _, ok := b.r.lines[key+".name"]; ok {
				key += ".name"
			}
			b.r.errorf(key, "choose another name", "the name %q is used twice, first in line %d", name, b.r.lines.of(old.key))
			return nil
		}
		d := &device{key: key, name: name, ports: map[string]*buildEnd{}}
		b.byName[name] = d
		b.names = append(b.names, name)
		return d
	}
	for _, f := range b.d.nodes {
		if d := add(f.key, f.name); d != nil {
			d.node = &buildNode{device: d, file: f, index: len(b.nodes), attrs: f.nodeAttrs.or(b.d.defNode)}
			b.nodes = append(b.nodes, d.node)
		}
	}
	for _, f := range b.d.switches {
		if d := add(f.key, f.name); d != nil {
			d.sw = &buildSwitch{device: d, file: f, index: len(b.switches), attrs: f.switchAttrs.or(b.d.defSw)}
			b.switches = append(b.switches, d.sw)
		}
	}
	maxNodes, maxSwitches := b.limits()
	if len(b.nodes) > maxNodes {
		b.r.errorf(b.nodes[maxNodes].key, "make the fabric smaller", "%d nodes are more than the %d that a fabric can have", len(b.nodes), maxNodes)
	}
	if len(b.switches) > maxSwitches {
		b.r.errorf(b.switches[maxSwitches].key, "make the fabric smaller", "%d switches are more than the %d that a fabric can have", len(b.switches), maxSwitches)
	}
	if len(b.nodes) == 0 && b.d.gen == nil && b.d.rack == nil {
		b.r.errorf("", `add [[node]] name = "h1", or [generate], or [[rack.shelf]]`, "the file describes no node")
	}
	return len(b.nodes) <= maxNodes && len(b.switches) <= maxSwitches
}

// addLinks resolves the ends of the links. Links with a bad end are left out.
func (b *builder) addLinks() {
	var auto []*buildEnd
	for _, f := range b.d.links {
		l := &buildLink{key: f.key, attrs: f.linkAttrs.or(b.d.defLink)}
		var devs [2]*device
		var ports [2]string
		ok := true
		for i, text := range []attr[string]{f.a, f.b} {
			devs[i], ports[i] = b.end(text)
			ok = ok && devs[i] != nil
		}
		if ok && devs[0] == devs[1] {
			b.r.errorf(f.key, "join two devices", "the link joins %s with itself", devs[0].name)
			ok = false
		}
		ok = ok && b.joinKinds(l, f, devs, ports)
		if !ok {
			for _, d := range devs {
				if d != nil {
					d.excused = true
				}
			}
			continue
		}
		for i, text := range []attr[string]{f.a, f.b} {
			l.ends[i] = &buildEnd{dev: devs[i], link: l, key: text.key, port: ports[i]}
			if old := devs[i].ports[ports[i]]; old != nil {
				b.r.errorf(text.key, "give the link a port of its own", "port %s has two links, the first in line %d", old.name(), b.r.lines.of(old.key))
				ok = false
			}
		}
		if !ok {
			devs[0].excused, devs[1].excused = true, true
			continue
		}
		for _, e := range l.ends {
			e.dev.ends = append(e.dev.ends, e)
			if e.port == "" {
				auto = append(auto, e)
			} else {
				e.dev.ports[e.port] = e
			}
		}
		b.links = append(b.links, l)
	}
	// Numbers that links ask for come first, whatever the order of the file.
	for _, e := range auto {
		b.handOut(e)
	}
}

// end reads "h1:eth0", "s1:1", or a device's name alone.
func (b *builder) end(text attr[string]) (*device, string) {
	if !text.set {
		return nil, ""
	}
	name, port, hasPort := strings.Cut(text.v, ":")
	d := b.byName[name]
	if d == nil {
		b.r.errorf(text.key, suggest(name, b.names), "there is no node or switch %q", name)
		return nil, ""
	}
	if !hasPort {
		return d, ""
	}
	if d.node != nil {
		if err := checkInterface(port); err != nil {
			b.r.errorf(text.key, "use a name such as eth0", "%s: %v", text.v, err)
			d.excused = true
			return nil, ""
		}
		return d, port
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > d.sw.maxPorts() {
		b.r.errorf(text.key, "use a number of 1 to "+strconv.Itoa(d.sw.maxPorts()), "%q is not a port of switch %s", port, name)
		d.excused = true
		return nil, ""
	}
	return d, strconv.Itoa(n)
}

func (s *buildSwitch) maxPorts() int {
	if s.isIB() {
		return int(min(s.attrs.ports.get(MaxIBPorts), MaxIBPorts))
	}
	return int(s.attrs.ports.get(MaxPorts))
}

// handOut gives an end without a port the next free one: declared ports of a
// node first, then eth0, eth1, ...; ports of a switch from 1.
func (b *builder) handOut(e *buildEnd) {
	d := e.dev
	take := func(port string) bool {
		if d.ports[port] != nil {
			return false
		}
		e.port, d.ports[port] = port, e
		return true
	}
	if d.node != nil {
		for _, p := range d.node.file.ports {
			if p.name.set && !contradicts(p.name.v, e.link.ib) && take(p.name.v) {
				return
			}
		}
		if e.link.ib {
			for !take("ib" + strconv.Itoa(d.lastIB)) {
				d.lastIB++
			}
			return
		}
		for !take("eth" + strconv.Itoa(d.lastTry)) {
			d.lastTry++
		}
		return
	}
	for d.lastTry++; d.lastTry <= d.sw.maxPorts(); d.lastTry++ {
		if take(strconv.Itoa(d.lastTry)) {
			return
		}
	}
	b.r.errorf(e.key, "raise the key ports of the switch", "switch %s has no port left", d.name)
	e.port, d.ports["none"] = "none", e
}

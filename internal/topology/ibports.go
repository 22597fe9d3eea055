package topology

import (
	"fmt"
	"strconv"
)

// ibEnd is an InfiniBand port of a node.
type ibEnd struct {
	name string
	end  *buildEnd // nil: nothing is connected
	hca  int       // index into the node's HCAs
	num  int       // port number in it
	guid attr[GUID]
}

// ibEnds lists the InfiniBand ports of a node by name, and numbers the RDMA
// devices. Each port of a file is an HCA of its own, as each Ethernet port is
// an RDMA device of its own. Imported HCAs keep their ports, connected or not.
func (b *builder) ibEnds(n *buildNode) {
	for i, h := range n.file.hcas {
		for j, p := range h.ports {
			n.ib = append(n.ib, &ibEnd{name: p.name, end: n.ports[p.name], hca: i, num: j + 1,
				guid: attr[GUID]{v: p.guid, set: p.guid != 0, key: n.key}})
		}
	}
	if n.file.hcas == nil {
		for i, e := range sorted(n.ports, true) {
			n.ib = append(n.ib, &ibEnd{name: e.port, end: e, hca: i, num: 1})
		}
	}
	for i, p := range n.ib {
		if p.end != nil {
			p.end.pos = i
		}
	}
	b.numberDevices(n)
}

// numberDevices gives the ports of a node their RDMA devices rxe0, rxe1, ...: in
// the order in which the file names ports, [[node.port]] first, the next of
// their kind by name.
func (b *builder) numberDevices(n *buildNode) {
	if n.attrs.stack.get(StackSoft) != StackSoft || n.file.hcas != nil {
		return
	}
	eth, ib, next := n.order, n.ib, 0
	seen := map[string]bool{}
	name := func(port string) {
		e := n.ports[port]
		if e == nil || seen[port] {
			return
		}
		seen[port] = true
		if e.link.ib {
			e, ib = ib[0].end, ib[1:]
		} else {
			e, eth = eth[0], eth[1:]
		}
		e.device = fmt.Sprintf("rxe%d", next)
		next++
	}
	for _, p := range n.file.ports {
		name(p.name.v)
	}
	for _, e := range n.ends {
		name(e.port)
	}
}

// ibInterfaces joins the InfiniBand ports of a node with what the file says
// about them. The keys of the node itself are for its first Ethernet port, if
// there is one.
func (b *builder) ibInterfaces(n *buildNode, declared map[string]*filePort) {
	if len(n.ib) == 0 {
		if n.file.first.guid.set {
			b.r.errorf(n.file.first.guid.key, "remove it", "node %s has no InfiniBand port", n.name)
		}
		return
	}
	if s := n.attrs.stack; s.get(StackSoft) != StackSoft {
		b.r.errorf(s.key, `set stack = "soft"`, "node %s has InfiniBand ports, which only the software HCA drives, and stack %q", n.name, s.v)
	}
	only := len(n.order) == 0
	if only && n.file.mtu.set {
		b.r.errorf(n.file.mtu.key, "remove it; mtu of [[link]] is InfiniBand's", "node %s has no Ethernet port", n.name)
	}
	for i, p := range n.ib {
		f := &buildInterface{key: n.key}
		use := func(q *filePort) {
			if len(f.ips) == 0 && !f.hasIPs {
				f.ips, f.hasIPs = q.ips, q.hasIPs
			}
			if q.mac.set {
				b.r.errorf(q.mac.key, "remove it; guid names InfiniBand ports", "%s:%s is an InfiniBand port and has no MAC address", n.name, p.name)
			}
			if q.mtu.set {
				b.r.errorf(q.mtu.key, "set mtu of its link", "%s:%s is an InfiniBand port", n.name, p.name)
			}
			if len(q.gateway) > 0 {
				b.r.errorf(q.gateway[0].key, "remove it", "%s:%s is an InfiniBand port: no router leads out of its subnet", n.name, p.name)
			}
		}
		if q := declared[p.name]; q != nil {
			f.key = q.key
			use(q)
			if q.guid.set {
				p.guid = q.guid
			}
		}
		if only && i == 0 {
			use(&n.file.first)
		}
		if p.end != nil {
			mtu := p.end.link.attrs.ib.mtu
			f.mtu, f.mtuKey = int(mtu.get(DefaultIBMTU))-ipoibHeader, mtu.key
			p.end.iface = f
		} else if len(f.ips) > 0 {
			b.r.errorf(f.ips[0].key, "add a link", "port %s:%s has no link", n.name, p.name)
		}
	}
}

// ipoibHeader is in front of each packet of IPoIB (RFC 4391 §6).
const ipoibHeader = 4

// fillHCAs writes the InfiniBand devices of a node.
func (b *builder) fillHCAs(n *buildNode, node *Node, number map[*buildLink]int) {
	for i, h := range n.file.hcas {
		node.HCAs = append(node.HCAs, HCA{IBNode: h.IBNode, Device: "rxe" + strconv.Itoa(i)})
	}
	if n.file.hcas == nil {
		for i, p := range n.ib {
			h := HCA{IBNode: IBNode{GUID: hcaGUID(n.index, i), NumPorts: 1, Desc: n.name}, Device: p.end.device}
			if len(n.ib) > 1 {
				h.Desc += " " + h.Device
			}
			if i == 0 {
				h.GUID = n.file.first.guid.get(h.GUID)
			}
			h.SystemGUID = h.GUID
			node.HCAs = append(node.HCAs, h)
		}
	}
	device := func(i int) string { return n.name + " " + node.HCAs[i].Device }
	for i, h := range node.HCAs {
		key := n.key
		if g := n.file.first.guid; i == 0 && g.set {
			key = g.key
		}
		b.guid(h.GUID, key, guidOwner{device: device(i), who: device(i)})
	}
	for _, p := range n.ib {
		port := IBPort{Name: p.name, HCA: p.hca, Num: p.num, GUID: p.guid.v, Link: -1, Subnet: -1}
		key := n.key
		if p.guid.set {
			key = p.guid.key
		} else {
			port.GUID = node.HCAs[p.hca].GUID + GUID(p.num)
		}
		b.guid(port.GUID, key, guidOwner{device: device(p.hca), who: n.name + ":" + p.name, port: true})
		if p.end != nil {
			port.Link = number[p.end.link]
		}
		node.IBPorts = append(node.IBPorts, port)
	}
}

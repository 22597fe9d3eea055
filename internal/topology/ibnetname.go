package topology

import (
	"fmt"
	"regexp"
	"strings"
)

// ibnetDevice matches the second word of a description that names an HCA of a
// host: HCA-1, mlx5_0, rxe1.
var ibnetDevice = regexp.MustCompile(`^([^ ]+) ([A-Za-z][A-Za-z0-9_-]*[0-9])$`)

// nameAll puts the devices into the document. "host HCA-1" and "host HCA-2"
// are two HCAs of the node host; all else is a node or switch of its own, whose
// name is its description with '-' for what a name cannot hold. A name that is
// taken gets -2, -3, ... appended. Switches come first.
func (n *ibnet) nameAll(d *document) {
	names := map[string]bool{}
	for _, b := range n.blocks {
		if b.kind != 'S' {
			continue
		}
		b.name = uniqueName(names, b.self.Desc, "switch")
		s := &fileSwitch{key: n.key(b.line), name: b.name, self: &b.self, enhanced: b.enhanced}
		s.kind = attr[Kind]{v: InfiniBand, set: true, key: s.key}
		s.ports = attr[int64]{v: int64(b.self.NumPorts), set: true, key: s.key}
		d.switches = append(d.switches, s)
	}
	type host struct {
		node    *fileNode
		devices map[string]bool
		ports   int
	}
	hosts := map[string][]*host{}
	for _, b := range n.blocks {
		if b.kind == 'S' {
			continue
		}
		desc, device := b.self.Desc, ""
		if m := ibnetDevice.FindStringSubmatch(desc); m != nil {
			desc, device = m[1], m[2]
		}
		var h *host
		if device != "" {
			for _, x := range hosts[desc] {
				if !x.devices[device] {
					h = x
					break
				}
			}
		}
		if h == nil {
			h = &host{node: &fileNode{key: n.key(b.line), name: uniqueName(names, desc, "host")}, devices: map[string]bool{}}
			d.nodes = append(d.nodes, h.node)
			if device != "" {
				hosts[desc] = append(hosts[desc], h)
			}
		}
		h.devices[device] = true
		b.name, b.first = h.node.name, h.ports
		f := fileHCA{IBNode: b.self}
		for _, g := range b.guids {
			f.ports = append(f.ports, fileHCAPort{name: fmt.Sprintf("ib%d", h.ports), guid: g})
			h.ports++
		}
		h.node.hcas = append(h.node.hcas, f)
	}
}

// uniqueName makes a name of a description that names does not hold yet.
func uniqueName(names map[string]bool, desc, otherwise string) string {
	var b strings.Builder
	for i := range len(desc) {
		c := desc[i]
		ok := alnum(c) || b.Len() > 0 && (c == '_' || c == '.' || c == '-')
		if !ok && b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			c, ok = '-', true
		}
		if ok {
			b.WriteByte(c)
		}
	}
	base := b.String()
	if len(base) > maxName {
		base = base[:maxName]
	}
	base = strings.TrimRight(base, "-")
	if base == "" {
		base = otherwise
	}
	name := base
	for k := 2; names[name]; k++ {
		suffix := fmt.Sprintf("-%d", k)
		name = base[:min(len(base), maxName-len(suffix))] + suffix
	}
	names[name] = true
	return name
}

package topology

// combine puts the generated devices in front of those of the file. An entry
// of the file that names a generated device, or has both ends of a generated
// link, refines it.
func (d *document) combine(o *generated) {
	nodes := map[string]*fileNode{}
	for _, n := range o.nodes {
		nodes[n.name] = n
	}
	rest := []*fileNode{}
	for _, n := range d.nodes {
		if g := nodes[n.name]; g != nil {
			*g = *n
			delete(nodes, n.name) // a second entry of that name is a duplicate
		} else {
			rest = append(rest, n)
		}
	}
	d.nodes = append(o.nodes, rest...)

	switches := map[string]*fileSwitch{}
	for _, s := range o.switches {
		switches[s.name] = s
	}
	more := []*fileSwitch{}
	for _, s := range d.switches {
		if g := switches[s.name]; g != nil {
			s.mode = s.mode.or(g.mode)
			s.kind = s.kind.or(g.kind)
			*g = *s
			delete(switches, s.name)
		} else {
			more = append(more, s)
		}
	}
	d.switches = append(o.switches, more...)

	links := map[[2]string]*fileLink{}
	for _, l := range o.links {
		links[[2]string{l.a.v, l.b.v}] = l
		links[[2]string{l.b.v, l.a.v}] = l
	}
	own := []*fileLink{}
	for _, l := range d.links {
		if g := links[[2]string{l.a.v, l.b.v}]; g != nil {
			g.linkAttrs = l.linkAttrs.or(g.linkAttrs)
			delete(links, [2]string{g.a.v, g.b.v})
			delete(links, [2]string{g.b.v, g.a.v})
		} else {
			own = append(own, l)
		}
	}
	d.links = append(o.links, own...)
}

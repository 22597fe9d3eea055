package topology

import "fmt"

// ibFatTree is the type of generated InfiniBand trees.
const ibFatTree = "ib-fat-tree"

// ibKeys checks the keys of an InfiniBand fat-tree: k alone makes three levels;
// leaves, spines and hosts_per_leaf make two.
func (t *table) ibKeys() {
	_, three := t.m["k"]
	for _, k := range []string{"spines", "leaves", "hosts_per_leaf"} {
		if _, given := t.m[k]; given && three {
			t.r.errorf(t.key(k), "remove it, or k", "a tree of three levels follows from k alone")
		} else if !given && !three {
			t.r.errorf(t.path, fmt.Sprintf("add %s = 2, or k = 4 alone for three levels", k), "an %s of two levels needs %s", ibFatTree, k)
		}
	}
	if _, given := t.m["links_per_pair"]; given && three {
		t.r.errorf(t.key("links_per_pair"), "remove it, or k", "a tree of three levels follows from k alone")
	}
	if _, given := t.m["hosts"]; given {
		t.r.errorf(t.key("hosts"), "remove it", "an %s has no hosts", ibFatTree)
	}
}

// ibFatTree makes a tree of InfiniBand switches with the names and ports of
// the Ethernet ones.
func (o *generated) ibFatTree(r *reader) {
	g := o.g
	if g.k.set {
		o.fatTree(int(g.k.v), o.addIBSwitch, o.addIBHost)
		return
	}
	spines, leaves, perLeaf, perPair := int(g.spines.v), int(g.leaves.v), int(g.perLeaf.v), int(g.perPair.get(1))
	if spines == 0 || leaves == 0 || perLeaf == 0 {
		return
	}
	if n := perLeaf + spines*perPair; n > MaxIBPorts {
		r.errorf(o.key, "make it smaller", "a leaf with %d hosts and %d links to spines has more than %d ports", perLeaf, spines*perPair, MaxIBPorts)
		return
	}
	if n := leaves * perPair; n > MaxIBPorts {
		r.errorf(o.key, "make it smaller, or use k for three levels", "a spine with %d links to leaves has more than %d ports", n, MaxIBPorts)
		return
	}
	o.ibTwoLevels(spines, leaves, perLeaf, perPair)
}

// ibTwoLevels joins every leaf with every spine. Ports of a leaf: hosts, then
// spine 1, spine 2, ...; ports of a spine: leaf 1, leaf 2, ...; parallel links
// have neighbouring ports.
func (o *generated) ibTwoLevels(spines, leaves, perLeaf, perPair int) {
	leaf := func(i int) string { return fmt.Sprintf("leaf%d", i+1) }
	spine := func(i int) string { return fmt.Sprintf("spine%d", i+1) }
	for l := range leaves {
		o.addIBSwitch(leaf(l))
	}
	for s := range spines {
		o.addIBSwitch(spine(s))
	}
	for l := range leaves {
		for h := range perLeaf {
			o.addIBHost(leaf(l), h+1)
		}
	}
	for l := range leaves {
		for s := range spines {
			for i := range perPair {
				o.addLink(fmt.Sprintf("%s:%d", leaf(l), perLeaf+s*perPair+i+1), fmt.Sprintf("%s:%d", spine(s), l*perPair+i+1), o.g.fabricLink)
			}
		}
	}
}

func (o *generated) addIBSwitch(name string) {
	s := &fileSwitch{key: o.key, name: name}
	s.kind = attr[Kind]{v: InfiniBand, set: true, key: o.key}
	o.switches = append(o.switches, s)
}

// addIBHost makes the next host and its link to a port of a switch.
func (o *generated) addIBHost(sw string, port int) {
	name := fmt.Sprintf("h%d", len(o.nodes)+1)
	o.nodes = append(o.nodes, &fileNode{key: o.key, name: name})
	o.addLink(name+":ib0", fmt.Sprintf("%s:%d", sw, port), o.g.hostLink)
}

package topology

import "fmt"

// Limits of one fabric. A host costs a namespace and a TAP, and the kernel
// becomes slow at a thousand of them.
const (
	MaxNodes    = 1024
	MaxSwitches = 1024
	MaxPorts    = 1024 // of one switch
)

// generator is the table [generate].
type generator struct {
	key        string
	kind       attr[string]
	hosts      attr[int64]
	spines     attr[int64]
	leaves     attr[int64]
	perLeaf    attr[int64]
	k          attr[int64]
	perPair    attr[int64]
	hostLink   linkAttrs
	fabricLink linkAttrs
}

var generatorKeys = map[string][]string{
	"star":        {"hosts"},
	"leaf-spine":  {"spines", "leaves", "hosts_per_leaf"},
	"fat-tree":    {"k"},
	"ib-fat-tree": {"spines", "leaves", "hosts_per_leaf", "links_per_pair", "k"}, // see ibKeys
}

// Largest k of the three-tier trees.
const (
	maxK   = 16 // 1024 hosts
	maxIBK = 48 // 27648 hosts
)

func (t *table) generator() *generator {
	types := []string{"fat-tree", "leaf-spine", "star"}
	g := &generator{key: t.path}
	const form = `"star", "leaf-spine", "fat-tree" or "ib-fat-tree"`
	g.kind = get(t, "type", form, "use "+form, func(s string) (string, error) {
		if generatorKeys[s] == nil {
			return "", fmt.Errorf("unknown type %q", s)
		}
		return s, nil
	})
	if _, ok := t.m["type"]; !ok {
		t.r.errorf(t.path, "add type = "+form, "the type is missing")
	}
	g.hosts = t.int("hosts", 1, MaxNodes)
	g.spines = t.int("spines", 1, 64)
	g.leaves = t.int("leaves", 1, 512)
	g.perLeaf = t.int("hosts_per_leaf", 1, 512)
	g.perPair = t.int("links_per_pair", 1, 64)
	most := int64(maxK)
	if g.kind.v == ibFatTree {
		most = maxIBK
	}
	g.k = get(t, "k", fmt.Sprintf("an even integer of 2 to %d", most), fmt.Sprintf("use an even integer of 2 to %d: k = 4 gives 16 hosts and 20 switches", most), func(k int64) (int64, error) {
		if k < 2 || k > most || k%2 != 0 {
			return 0, fmt.Errorf("k = %d makes no fat-tree", k)
		}
		return k, nil
	})
	for _, l := range []struct {
		key string
		to  *linkAttrs
	}{{"host_link", &g.hostLink}, {"fabric_link", &g.fabricLink}} {
		if s := t.sub(l.key); s != nil {
			*l.to = s.linkAttrs()
			s.done()
		}
	}
	if !g.kind.set {
		return g
	}
	if g.kind.v == ibFatTree {
		t.ibKeys()
		return g
	}
	if g.perPair.set {
		t.r.errorf(g.perPair.key, `remove it, or choose type = "`+ibFatTree+`"`, "a %s has no links_per_pair", g.kind.v)
	}
	for _, typ := range types {
		for _, k := range generatorKeys[typ] {
			_, given := t.m[k]
			switch {
			case typ == g.kind.v && !given:
				t.r.errorf(t.path, fmt.Sprintf("add %s = 2", k), "a %s needs %s", typ, k)
			case typ != g.kind.v && given:
				t.r.errorf(t.key(k), "remove it, or choose type = \""+typ+"\"", "a %s has no %s", g.kind.v, k)
			}
		}
	}
	return g
}

// generated is what a generator makes, in the form of the file.
type generated struct {
	key      string
	g        *generator
	nodes    []*fileNode
	switches []*fileSwitch
	links    []*fileLink
}

// run makes the devices; nothing if a number is missing or the fabric too big.
func (g *generator) run(r *reader) *generated {
	out := &generated{key: g.key, g: g}
	if !g.kind.set {
		return out
	}
	hosts, switches := int64(0), int64(0)
	switch g.kind.v {
	case "star":
		hosts, switches = g.hosts.v, 1
	case "leaf-spine":
		hosts, switches = g.leaves.v*g.perLeaf.v, g.leaves.v+g.spines.v
		if !g.spines.set {
			hosts = 0
		}
	case "fat-tree":
		k := g.k.v
		hosts, switches = k*k*k/4, k*k+k*k/4
	case ibFatTree:
		out.ibFatTree(r)
		return out
	}
	if hosts == 0 {
		return out
	}
	if hosts > MaxNodes || switches > MaxSwitches {
		r.errorf(g.key, "make it smaller", "%d hosts and %d switches are more than the %d and %d that a fabric can have", hosts, switches, MaxNodes, MaxSwitches)
		return out
	}
	switch g.kind.v {
	case "star":
		out.star(int(hosts))
	case "leaf-spine":
		out.leafSpine(int(g.spines.v), int(g.leaves.v), int(g.perLeaf.v))
	case "fat-tree":
		out.fatTree(int(g.k.v), out.router, out.addHost)
	}
	return out
}

func (o *generated) router(name string) { o.addSwitch(name, Router) }

func (o *generated) addSwitch(name string, mode Mode) string {
	s := &fileSwitch{key: o.key, name: name}
	s.mode = attr[Mode]{v: mode, set: true, key: o.key}
	o.switches = append(o.switches, s)
	return name
}

// addHost makes the next host and its link to a port of a switch.
func (o *generated) addHost(sw string, port int) {
	name := fmt.Sprintf("h%d", len(o.nodes)+1)
	o.nodes = append(o.nodes, &fileNode{key: o.key, name: name})
	o.addLink(name+":eth0", fmt.Sprintf("%s:%d", sw, port), o.g.hostLink)
}

func (o *generated) addLink(a, b string, attrs linkAttrs) {
	o.links = append(o.links, &fileLink{key: o.key, linkAttrs: attrs,
		a: attr[string]{v: a, set: true, key: o.key}, b: attr[string]{v: b, set: true, key: o.key}})
}

// star: one switch s1, host hN at its port N.
func (o *generated) star(hosts int) {
	s := o.addSwitch("s1", Bridge)
	for i := range hosts {
		o.addHost(s, i+1)
	}
}

// leafSpine: every leaf has a link to every spine. Ports of a leaf: hosts,
// then spines. Port N of a spine leads to leaf N.
func (o *generated) leafSpine(spines, leaves, perLeaf int) {
	for l := range leaves {
		o.addSwitch(fmt.Sprintf("leaf%d", l+1), Router)
	}
	for s := range spines {
		o.addSwitch(fmt.Sprintf("spine%d", s+1), Router)
	}
	for l := range leaves {
		for h := range perLeaf {
			o.addHost(fmt.Sprintf("leaf%d", l+1), h+1)
		}
	}
	for l := range leaves {
		for s := range spines {
			o.addLink(fmt.Sprintf("leaf%d:%d", l+1, perLeaf+s+1), fmt.Sprintf("spine%d:%d", s+1, l+1), o.g.fabricLink)
		}
	}
}

// fatTree is the three-tier tree of k-port switches (Al-Fares et al., SIGCOMM
// 2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores,
// k^3/4 hosts. The j-th aggregation switch of each pod reaches cores
// j*k/2+1 to (j+1)*k/2. Lower ports lead down.
func (o *generated) fatTree(k int, addSwitch func(name string), addHost func(sw string, port int)) {
	half := k / 2
	edge := func(pod, i int) string { return fmt.Sprintf("edge%d", pod*half+i+1) }
	agg := func(pod, i int) string { return fmt.Sprintf("agg%d", pod*half+i+1) }
	for pod := range k {
		for i := range half {
			addSwitch(edge(pod, i))
		}
	}
	for pod := range k {
		for i := range half {
			addSwitch(agg(pod, i))
		}
	}
	for c := range half * half {
		addSwitch(fmt.Sprintf("core%d", c+1))
	}
	for pod := range k {
		for i := range half {
			for h := range half {
				addHost(edge(pod, i), h+1)
			}
		}
	}
	for pod := range k {
		for i := range half {
			for j := range half {
				o.addLink(fmt.Sprintf("%s:%d", edge(pod, i), half+j+1), fmt.Sprintf("%s:%d", agg(pod, j), i+1), o.g.fabricLink)
			}
		}
	}
	for pod := range k {
		for j := range half {
			for c := range half {
				o.addLink(fmt.Sprintf("%s:%d", agg(pod, j), half+c+1), fmt.Sprintf("core%d:%d", j*half+c+1, pod+1), o.g.fabricLink)
			}
		}
	}
}

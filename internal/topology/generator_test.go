package topology

import (
	"fmt"
	"testing"
)

func TestGenerators(t *testing.T) {
	for _, c := range []struct {
		text                   string
		hosts, switches, links int
		degree                 map[string]int // of some devices
		routerSubnets          int
	}{
		{"type = 'star'\nhosts = 1", 1, 1, 1, map[string]int{"s1": 1}, 0},
		{"type = 'star'\nhosts = 64", 64, 1, 64, map[string]int{"s1": 64, "h64": 1}, 0},
		{"type = 'star'\nhosts = 1024", 1024, 1, 1024, map[string]int{"s1": 1024}, 0},
		{"type = 'leaf-spine'\nspines = 2\nleaves = 4\nhosts_per_leaf = 4", 16, 6, 24, map[string]int{"leaf1": 6, "leaf4": 6, "spine2": 4, "h16": 1}, 4},
		{"type = 'leaf-spine'\nspines = 1\nleaves = 1\nhosts_per_leaf = 1", 1, 2, 2, map[string]int{"leaf1": 2, "spine1": 1}, 1},
		{"type = 'fat-tree'\nk = 2", 2, 5, 6, map[string]int{"edge1": 2, "agg2": 2, "core1": 2}, 2},
		{"type = 'fat-tree'\nk = 4", 16, 20, 48, map[string]int{"edge1": 4, "edge8": 4, "agg1": 4, "agg8": 4, "core1": 4, "core4": 4}, 8},
		{"type = 'fat-tree'\nk = 8", 128, 80, 384, map[string]int{"edge32": 8, "agg1": 8, "core16": 8}, 32},
		{"type = 'fat-tree'\nk = 16", 1024, 320, 3072, map[string]int{"edge128": 16, "agg1": 16, "core64": 16}, 128},
	} {
		t.Run(c.text, func(t *testing.T) {
			s := mustParse(t, "[generate]\n"+c.text)
			if len(s.Warnings) > 0 {
				t.Error(s.Warnings)
			}
			if len(s.Nodes) != c.hosts || len(s.Switches) != c.switches || len(s.Links) != c.links {
				t.Errorf("%d hosts, %d switches, %d links; want %d, %d, %d", len(s.Nodes), len(s.Switches), len(s.Links), c.hosts, c.switches, c.links)
			}
			degree := map[string]int{}
			for i, n := range s.Nodes {
				degree[n.Name] = len(n.Interfaces)
				if want := fmt.Sprintf("h%d", i+1); n.Name != want {
					t.Errorf("node %d is %s", i, n.Name)
				}
			}
			for _, w := range s.Switches {
				degree[w.Name] = len(w.Ports)
				for i, p := range w.Ports {
					if p.Number != i+1 {
						t.Errorf("%s: port %d has number %d", w.Name, i, p.Number)
					}
				}
			}
			for name, want := range c.degree {
				if degree[name] != want {
					t.Errorf("%s has %d links, want %d", name, degree[name], want)
				}
			}
			if c.routerSubnets > 0 && len(s.Subnets) != c.routerSubnets {
				t.Errorf("%d subnets, want %d", len(s.Subnets), c.routerSubnets)
			}
			if c.switches > 1 && c.switches < 100 {
				checkRoutes(t, s)
			}
		})
	}
}

// Every host of a fat-tree reaches the other pods by (k/2)^2 ways.
func TestFatTreePaths(t *testing.T) {
	s := mustParse(t, "[generate]\ntype = 'fat-tree'\nk = 4")
	routes := s.Routes()
	var ways func(sw, subnet int) int
	ways = func(sw, subnet int) int {
		for _, v := range s.Switches[sw].VLANs {
			if v.Subnet == subnet {
				return 1
			}
		}
		n := 0
		for _, r := range routes[sw] {
			if r.Prefix == s.Subnets[subnet].Prefixes[0] {
				for _, h := range r.NextHops {
					n += ways(h.Switch, subnet)
				}
			}
		}
		return n
	}
	for subnet := range s.Subnets {
		want := 4 // to another pod
		switch {
		case subnet == 0:
			want = 1 // its own
		case subnet == 1:
			want = 2 // in the pod of edge1
		}
		if n := ways(0, subnet); n != want {
			t.Errorf("edge1 to subnet %d: %d ways, want %d", subnet, n, want)
		}
	}
}

func TestRefine(t *testing.T) {
	s := mustParse(t, `
[generate]
type = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 1
host_link = { rate = "25Gbps", length = "3m" }
fabric_link = { rate = "100Gbps" }
[defaults]
link = { delay = "1us" }
node = { mtu = 9000 }
[qos.deep]
buffer = "32MB"
[[node]]
name = "h2"
ignore_pfc = true
ip = "10.9.0.1/24"
[[node]]
name = "store"
[[switch]]
name = "spine1"
qos = "deep"
[[link]]
a = "spine1:2"
b = "leaf2:2"
loss = 1e-3
up = false
[[link]]
a = "store"
b = "leaf1"
`)
	if n := s.Nodes[1]; !n.IgnorePFC || n.Interfaces[0].Addrs[0].String() != "10.9.0.1/24" || n.Interfaces[0].Gateway4.String() != "10.9.0.254" {
		t.Errorf("h2 is not refined: %+v", n)
	}
	if n := s.Nodes[2]; n.Name != "store" || n.Interfaces[0].Addrs[0].String() != "10.0.1.2/24" || n.Interfaces[0].MTU != 9000 {
		t.Errorf("store: %+v", n)
	}
	if w := s.Switches[2]; w.Mode != Router || w.QoS.Buffer != 32e6 || w.QoS.Profile != "deep" {
		t.Errorf("spine1 is not refined, or lost its mode: %+v", w)
	}
	links := map[string]Link{}
	for _, l := range s.Links {
		links[l.A.Name+" "+l.B.Name] = l
	}
	if l := links["leaf2:2 spine1:2"]; l.Rate != 100e9 || l.Loss != 1e-3 || !l.Down || l.Delay != 1_000_000 {
		t.Errorf("the link is not refined: %+v", l)
	}
	if l := links["h1:eth0 leaf1:1"]; l.Rate != 25e9 || l.Delay != 15_000 || l.Down {
		t.Errorf("the host's link: %+v", l)
	}
	if l := links["store:eth0 leaf1:3"]; l.Rate != DefaultRate || l.Delay != 1_000_000 {
		t.Errorf("the store's link is not at the next free port: %+v", l)
	}
}

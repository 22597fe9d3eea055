package topology

import (
	"net/netip"
	"slices"
	"testing"
)

// checkRoutes follows the routes from every router to every subnet with hosts
// and every loopback: where there is a path, every choice of next hops must
// arrive, and nowhere may a route go in circles.
func checkRoutes(t *testing.T, s *Spec) {
	t.Helper()
	all := s.Routes()
	connected := func(sw int, p netip.Prefix) bool {
		w := &s.Switches[sw]
		return slices.Contains(w.Loopback, p) || slices.ContainsFunc(w.VLANs, func(v VLAN) bool {
			return slices.Contains(s.Subnets[v.Subnet].Prefixes, p)
		})
	}
	find := func(sw int, p netip.Prefix) []NextHop {
		for _, r := range all[sw] {
			if r.Prefix == p {
				return r.NextHops
			}
		}
		return nil
	}
	for sw, routes := range all {
		for _, r := range routes {
			if len(r.NextHops) == 0 || connected(sw, r.Prefix) {
				t.Fatalf("%s: route to %s by %v", s.Switches[sw].Name, r.Prefix, r.NextHops)
			}
			// Breadth first over every next hop; more rounds than routers is a circle.
			at := []int{sw}
			for round := 0; len(at) > 0; round++ {
				if round > len(s.Switches) {
					t.Fatalf("%s: the route to %s goes in circles", s.Switches[sw].Name, r.Prefix)
				}
				var next []int
				for _, x := range at {
					if connected(x, r.Prefix) {
						continue
					}
					hops := find(x, r.Prefix)
					if len(hops) == 0 {
						t.Fatalf("%s: the route to %s ends at %s", s.Switches[sw].Name, r.Prefix, s.Switches[x].Name)
					}
					for _, h := range hops {
						p := s.Switches[x].Ports[h.Port]
						l := s.Links[p.Link]
						peer := l.A
						if l.A.Switch == x {
							peer = l.B
						}
						if !p.Routed || peer.Switch != h.Switch || s.Switches[h.Switch].Ports[peer.Port].MAC != h.MAC {
							t.Fatalf("%s: next hop %+v does not lead over its port", s.Switches[x].Name, h)
						}
						if !slices.Contains(next, h.Switch) {
							next = append(next, h.Switch)
						}
					}
				}
				at = next
			}
		}
	}
}

func TestRoutes(t *testing.T) {
	s, err := Load("leaf-spine-16")
	if err != nil {
		t.Fatal(err)
	}
	checkRoutes(t, s)
	all := s.Routes()
	for sw, routes := range all {
		leaf := sw < 4
		for _, r := range routes {
			want := 1 // down from a spine, or to a spine's own address
			switch {
			case leaf && r.Prefix.Addr().Is4() && r.Prefix.Bits() == 24:
				want = 2
			case !leaf && slices.Contains(s.Switches[9-sw].Loopback, r.Prefix):
				want = 4 // to the other spine over any leaf
			case leaf && (r.Prefix.Bits() == 64 || slices.ContainsFunc(s.Switches[:4], func(w Switch) bool { return slices.Contains(w.Loopback, r.Prefix) })):
				want = 2
			}
			if len(r.NextHops) != want {
				t.Errorf("%s to %s: %d next hops, want %d", s.Switches[sw].Name, r.Prefix, len(r.NextHops), want)
			}
		}
		// 4 subnets and 6 loopbacks of two families, without what is its own.
		want := 2 * (4 + 6 - 1)
		if leaf {
			want -= 2
		}
		if len(routes) != want {
			t.Errorf("%s: %d routes, want %d", s.Switches[sw].Name, len(routes), want)
		}
	}
}

// Two routers on one subnet are equally near; a third finds both.
func TestRoutesToSharedSubnet(t *testing.T) {
	s := mustParse(t, `
[[node]]
name = "h1"
[[node]]
name = "h2"
[[switch]]
name = "b"
[[switch]]
name = "r1"
mode = "router"
[[switch]]
name = "r2"
mode = "router"
[[switch]]
name = "r3"
mode = "router"
[[link]]
a = "h1"
b = "b"
[[link]]
a = "r1"
b = "b"
[[link]]
a = "r2"
b = "b"
[[link]]
a = "r3"
b = "r1"
[[link]]
a = "r3"
b = "r2"
[[link]]
a = "h2"
b = "r3"
`)
	checkRoutes(t, s)
	var got []int
	for _, r := range s.Routes()[3] {
		if r.Prefix == s.Subnets[0].Prefixes[0] {
			for _, h := range r.NextHops {
				got = append(got, h.Switch)
			}
		}
	}
	if !slices.Equal(got, []int{1, 2}) {
		t.Errorf("r3 reaches the shared subnet by switches %v, want 1 and 2", got)
	}
	if a, b := s.Switches[1].VLANs[0].Addrs[0].String(), s.Switches[2].VLANs[0].Addrs[0].String(); a != "10.0.1.254/24" || b != "10.0.1.253/24" {
		t.Errorf("the routers of the shared subnet are %s and %s", a, b)
	}
	if g := s.Nodes[0].Interfaces[0].Gateway4.String(); g != "10.0.1.254" {
		t.Errorf("the gateway of h1 is %s", g)
	}
}

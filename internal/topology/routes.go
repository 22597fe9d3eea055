package topology

import "net/netip"

// Routes returns for each switch, by index, its routes to the prefixes of
// other routers by all equal-cost shortest paths: subnets with hosts in the
// order of Subnets, then loopbacks in the order of Switches. Prefixes that a
// router is connected to have no route; bridges have none at all. Links that
// start down count as links: who forwards skips next hops whose port is down.
func (s *Spec) Routes() [][]Route {
	out := make([][]Route, len(s.Switches))
	dist := make([]int, len(s.Switches))
	for _, d := range s.destinations() {
		s.distances(d.owners, dist, true)
		for i := range s.Switches {
			if dist[i] <= 0 { // an owner, or no path
				continue
			}
			var hops []NextHop
			s.neighbours(i, true, func(port int, peer End) {
				if dist[peer.Switch] == dist[i]-1 {
					hops = append(hops, NextHop{Port: port, MAC: s.Switches[peer.Switch].Ports[peer.Port].MAC, Switch: peer.Switch})
				}
			})
			for _, p := range d.prefixes {
				out[i] = append(out[i], Route{Prefix: p, NextHops: hops})
			}
		}
	}
	return out
}

// destination is a group of prefixes with the routers that are connected to
// them.
type destination struct {
	prefixes []netip.Prefix
	owners   []int
}

func (s *Spec) destinations() []destination {
	l := make([]destination, len(s.Subnets), len(s.Subnets)+len(s.Switches))
	for i, n := range s.Subnets {
		l[i].prefixes = n.Prefixes
	}
	for i, w := range s.Switches {
		for _, v := range w.VLANs {
			l[v.Subnet].owners = append(l[v.Subnet].owners, i)
		}
	}
	for i, w := range s.Switches {
		if len(w.Loopback) > 0 {
			l = append(l, destination{w.Loopback, []int{i}})
		}
	}
	return l
}

// neighbours calls f for each port of a switch that leads to another switch, in
// order; only for routed ports if routed.
func (s *Spec) neighbours(sw int, routed bool, f func(port int, peer End)) {
	for i, p := range s.Switches[sw].Ports {
		l := &s.Links[p.Link]
		peer := l.B
		if l.B.Switch == sw && l.B.Port == i {
			peer = l.A
		}
		if peer.Switch >= 0 && (p.Routed || !routed) {
			f(i, peer)
		}
	}
}

// distances fills dist with the number of links between switches to the
// nearest owner, over routed links only if routed; -1 where there is no path.
func (s *Spec) distances(owners []int, dist []int, routed bool) {
	for i := range dist {
		dist[i] = -1
	}
	queue := make([]int, 0, len(dist))
	for _, o := range owners {
		if dist[o] < 0 {
			dist[o] = 0
			queue = append(queue, o)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		s.neighbours(i, routed, func(_ int, peer End) {
			if dist[peer.Switch] < 0 {
				dist[peer.Switch] = dist[i] + 1
				queue = append(queue, peer.Switch)
			}
		})
	}
}

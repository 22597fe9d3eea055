package route

// FindRoots finds the top of a tree as opensm's updn does: a root is a switch
// that has more than 90 % of the ends of its part of the subnet at one distance
// and more than 5 % at no other. In trees of 20 leaves and more that is true of
// leaves too, so here a switch that is joined to another such switch with a
// smaller sum of hops to the ends is no root. It returns indexes of switches,
// none if there is no root.
func FindRoots(s *Subnet) []int {
	dests, _, err := destinations(s)
	if err != nil {
		return nil
	}
	g := newGraph(s)
	isle, _ := g.islands(dests)
	var l []int
	for _, u := range g.roots(isle, g.endsBySwitch()) {
		l = append(l, int(u))
	}
	return l
}

func (g *graph) endsBySwitch() []int {
	ends := make([]int, g.n)
	for i := range g.s.Ends {
		if e := &g.s.Ends[i]; e.Switch >= 0 {
			ends[e.Switch]++
		}
	}
	return ends
}

func (g *graph) roots(isle []int32, ends []int) (l []int32) {
	total := make([]int, g.n)
	for u, n := range ends {
		total[isle[u]] += n
	}
	dist, queue := make([]uint16, g.n), make([]int32, 0, g.n)
	sum := make([]int, g.n) // of hops to ends; 0: no candidate
	var hist []int
	for u := range g.n {
		n := total[isle[u]]
		if n == 0 {
			continue
		}
		clear(hist)
		queue = g.bfs(u, dist, queue)
		for _, v := range queue {
			for int(dist[v]) >= len(hist) {
				hist = append(hist, 0)
			}
			hist[dist[v]] += ends[v]
			sum[u] += (int(dist[v]) + 1) * ends[v]
		}
		most, some := 0, 0
		for _, x := range hist {
			if x*10 > n*9 {
				most++
			}
			if x*20 > n {
				some++
			}
		}
		if most != 1 || some != 1 {
			sum[u] = 0
		}
	}
	for u := range g.n {
		if sum[u] == 0 {
			continue
		}
		root := true
		for _, e := range g.of(u) {
			root = root && (sum[e.to] == 0 || sum[e.to] >= sum[u])
		}
		if root {
			l = append(l, int32(u))
		}
	}
	return l
}

// center is the switch of an island with the least sum of hops to its ends, or
// to its switches if it has no ends; of equals the one with the lowest GUID.
func (g *graph) center(island int32, isle []int32, ends []int) int32 {
	dist, queue := make([]uint16, g.n), make([]int32, 0, g.n)
	best, sum, any := int32(None), 0, 0
	for u := range g.n {
		if isle[u] == island {
			any += ends[u]
		}
	}
	for u := range g.n {
		if isle[u] != island {
			continue
		}
		queue = g.bfs(u, dist, queue)
		x := 0
		for _, v := range queue {
			if any == 0 {
				x += int(dist[v])
			} else {
				x += int(dist[v]) * ends[v]
			}
		}
		if best == None || x < sum || x == sum && g.s.Switches[u].GUID < g.s.Switches[best].GUID {
			best, sum = int32(u), x
		}
	}
	return best
}

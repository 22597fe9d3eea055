package route

// graph is what is between the switches, in one piece: the edges of switch u
// are edges[first[u]:first[u+1]], in the order of their ports.
type graph struct {
	s     *Subnet
	n     int
	first []int32
	edges []edge
	slot  []int32 // by index in Subnet.Links: the edge that leaves there, or None
	rev   []int32 // by edge: the one in the other direction
}

// edge is a channel: a link in one direction.
type edge struct {
	to   int32
	port uint8  // of the switch that it leaves
	back uint8  // port of the switch that it enters
	cost uint32 // what a path adds to the load: inverse to the rate
}

// unitCost is the cost of a path on the fastest link.
const unitCost = 64

func newGraph(s *Subnet) *graph {
	g := &graph{s: s, n: len(s.Switches), first: make([]int32, len(s.Switches)+1), slot: make([]int32, len(s.Links))}
	fastest, n := uint32(1), 0
	for i := range s.Links {
		if l := &s.Links[i]; l.Switch >= 0 {
			fastest, n = max(fastest, l.Rate), n+1
		}
	}
	g.edges = make([]edge, 0, n)
	for u := range s.Switches {
		for p := 1; p <= int(s.Switches[u].Ports); p++ {
			l := s.Link(u, p)
			slot := &g.slot[int(s.Switches[u].First)+p]
			if *slot = None; !s.carries(u, p, l) {
				continue
			}
			*slot = int32(len(g.edges))
			rate := l.Rate
			if rate == 0 {
				rate = fastest
			}
			cost := min((uint64(fastest)*unitCost+uint64(rate)/2)/uint64(rate), 1<<20)
			g.edges = append(g.edges, edge{l.Switch, uint8(p), l.Port, uint32(cost)})
		}
		g.first[u+1] = int32(len(g.edges))
	}
	g.rev = make([]int32, len(g.edges))
	for i, e := range g.edges {
		g.rev[i] = g.out(int(e.to), e.back)
	}
	return g
}

// carries tells whether a link leads to another switch, and back from there. A
// cable from a switch to itself carries no path.
func (s *Subnet) carries(u, p int, l *Link) bool {
	if v := int(l.Switch); v < 0 || v >= len(s.Switches) || v == u || l.Port == 0 || l.Port > s.Switches[v].Ports {
		return false
	}
	r := s.Link(int(l.Switch), int(l.Port))
	return int(r.Switch) == u && int(r.Port) == p
}

// out is the edge that leaves switch u by a port; None if none does.
func (g *graph) out(u int, port uint8) int32 {
	w := &g.s.Switches[u]
	if port == 0 || port > w.Ports {
		return None
	}
	return g.slot[int(w.First)+int(port)]
}

func (g *graph) of(u int) []edge { return g.edges[g.first[u]:g.first[u+1]] }

// islands numbers the parts of the subnet that no link joins, and says how many
// have a LID in them.
func (g *graph) islands(dests []dest) (of []int32, n int) {
	of = make([]int32, g.n)
	for i := range of {
		of[i] = None
	}
	queue := make([]int32, 0, g.n)
	for u := range g.n {
		if of[u] != None {
			continue
		}
		of[u] = int32(u)
		queue = append(queue[:0], int32(u))
		for i := 0; i < len(queue); i++ {
			for _, e := range g.of(int(queue[i])) {
				if of[e.to] == None {
					of[e.to] = int32(u)
					queue = append(queue, e.to)
				}
			}
		}
	}
	lit := make([]bool, g.n)
	for i := range dests {
		if x := of[dests[i].sw]; !lit[x] {
			lit[x] = true
			n++
		}
	}
	return of, n
}

// far is the distance of what cannot be reached.
const far = 0x7fff

// bfs fills dist with the hops from every switch to t, far where there is no
// way, and returns the switches that there is one from, nearest first, in the
// room of queue.
func (g *graph) bfs(t int, dist []uint16, queue []int32) []int32 {
	for i := range dist {
		dist[i] = far
	}
	dist[t] = 0
	queue = append(queue[:0], int32(t))
	for i := 0; i < len(queue); i++ {
		u := queue[i]
		d := min(dist[u]+1, far-1)
		for _, e := range g.of(int(u)) {
			if dist[e.to] == far {
				dist[e.to] = d
				queue = append(queue, e.to)
			}
		}
	}
	return queue
}

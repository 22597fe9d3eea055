package route

// graph is what is between the switches, in one piece: the edges of switch u
// are edges[first[u]:first[u+1]], in the order of their ports.
type graph struct {
	n     int
	first []int32
	edges []edge
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
	g := &graph{n: len(s.Switches), first: make([]int32, len(s.Switches)+1)}
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
			if l.Switch < 0 || int(l.Switch) == u { // a cable from a switch to itself carries no path
				continue
			}
			rate := l.Rate
			if rate == 0 {
				rate = fastest
			}
			cost := min((uint64(fastest)*unitCost+uint64(rate)/2)/uint64(rate), 1<<20)
			g.edges = append(g.edges, edge{l.Switch, uint8(p), l.Port, uint32(cost)})
		}
		g.first[u+1] = int32(len(g.edges))
	}
	return g
}

func (g *graph) of(u int) []edge { return g.edges[g.first[u]:g.first[u+1]] }

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

package route

import (
	"cmp"
	"slices"
)

// ranking puts the switches into one order from the top to the bottom. Every
// link then has an upper and a lower side, and a path is legal if it never
// turns up after it went down (Up*/Down*; Schroeder et al., Autonet, 1991).
type ranking struct {
	order []int32 // switches, the topmost first
	pos   []int32 // by switch: its place in order
}

// newRanking orders by rank, and by GUID within a rank: a link between equal
// ranks goes up to the lower GUID, as opensm has it.
func newRanking(s *Subnet, rank []uint16) *ranking {
	r := &ranking{order: make([]int32, len(rank)), pos: make([]int32, len(rank))}
	for i := range r.order {
		r.order[i] = int32(i)
	}
	slices.SortFunc(r.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(s.Switches[a].GUID, s.Switches[b].GUID), cmp.Compare(a, b))
	})
	for i, u := range r.order {
		r.pos[u] = int32(i)
	}
	return r
}

// up tells whether the way from u to v goes up.
func (r *ranking) up(u, v int32) bool { return r.pos[v] < r.pos[u] }

// climb is set in a distance whose path goes up first.
const climb = 0x8000

// legal fills dist with the hops of legal paths from every switch to t, such
// that tables by destination alone keep every path legal: a switch that can go
// down to t does so, even if a path up were shorter, since those above it may
// come down through it. The others go up by the nearest. Distances of paths
// that go up have climb set; far is no path.
func (g *graph) legal(r *ranking, t int, dist []uint16, queue []int32) []int32 {
	for i := range dist {
		dist[i] = far
	}
	dist[t] = 0
	queue = append(queue[:0], int32(t))
	for i := 0; i < len(queue); i++ { // those above t
		u := queue[i]
		for _, e := range g.of(int(u)) {
			if dist[e.to] == far && r.up(u, e.to) {
				dist[e.to] = min(dist[u]+1, far-1)
				queue = append(queue, e.to)
			}
		}
	}
	for _, u := range r.order { // what is above u has its distance already
		if dist[u] != far {
			continue
		}
		best := uint16(far)
		for _, e := range g.of(int(u)) {
			if d := dist[e.to] &^ climb; r.up(u, e.to) && d < best {
				best = d
			}
		}
		if best != far {
			dist[u] = min(best+1, far-1) | climb
		}
	}
	return queue
}

// next tells whether a path with the distances row leaves u by e.
func (r *ranking) next(row []uint16, u int, e *edge) bool {
	d, v := row[u], row[e.to]
	if d&climb != 0 {
		return r.up(int32(u), e.to) && v&^climb+1 == d&^climb
	}
	return v&climb == 0 && v+1 == d && !r.up(int32(u), e.to)
}

// rankFrom has the hops to the nearest of some switches; far for those from
// which none can be reached.
func (g *graph) rankFrom(roots []int32) []uint16 {
	rank := make([]uint16, g.n)
	for i := range rank {
		rank[i] = far
	}
	queue := make([]int32, 0, g.n)
	for _, u := range roots {
		if rank[u] == far {
			rank[u] = 0
			queue = append(queue, u)
		}
	}
	for i := 0; i < len(queue); i++ {
		u := queue[i]
		for _, e := range g.of(int(u)) {
			if rank[e.to] == far {
				rank[e.to] = min(rank[u]+1, far-1)
				queue = append(queue, e.to)
			}
		}
	}
	return rank
}

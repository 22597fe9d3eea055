package route

// ways lists, for one destination switch, the edges that shortest paths may
// leave by: those of switch u are edges[first[u]:first[u+1]], indexes into
// graph.edges in the order of ports. It serves all ends at that switch.
type ways struct {
	first []int32
	edges []int32
}

// fill computes the ways by a rule that says which edges are allowed.
func (w *ways) fill(g *graph, allowed func(u int, e *edge) bool) {
	w.first, w.edges = append(w.first[:0], 0), w.edges[:0]
	for u := range g.n {
		for i := g.first[u]; i < g.first[u+1]; i++ {
			if allowed(u, &g.edges[i]) {
				w.edges = append(w.edges, i)
			}
		}
		w.first = append(w.first, int32(len(w.edges)))
	}
}

func (w *ways) of(u int32) []int32 { return w.edges[w.first[u]:w.first[u+1]] }

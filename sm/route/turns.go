package route

// turns numbers the pairs of channels that a packet may take one after the
// other through a switch: edges of the channel dependency graph (Dally and
// Seitz, 1987), whose nodes are the edges of the graph. Switch v with k edges
// has k*k turns from off[v].
type turns struct {
	g     *graph
	off   []int32
	local []int32 // by edge: its number among the edges of the switch it leaves
}

func newTurns(g *graph) *turns {
	t := &turns{g: g, off: make([]int32, g.n+1), local: make([]int32, len(g.edges))}
	for u := range g.n {
		k := g.first[u+1] - g.first[u]
		t.off[u+1] = t.off[u] + k*k
		for i := range k {
			t.local[g.first[u]+i] = i
		}
	}
	return t
}

// count is how many turns there are.
func (t *turns) count() int { return int(t.off[t.g.n]) }

// of is the number of the turn from edge a, which enters a switch, to edge b,
// which leaves it.
func (t *turns) of(a, b int32) int32 {
	v := t.g.edges[a].to
	return t.off[v] + t.local[t.g.rev[a]]*(t.g.first[v+1]-t.g.first[v]) + t.local[b]
}

// after is the first turn from edge a, and the first edge of the switch that it
// enters; turn after+i leads to edge first+i, for i below n.
func (t *turns) after(a int32) (after, first, n int32) {
	v := t.g.edges[a].to
	n = t.g.first[v+1] - t.g.first[v]
	return t.off[v] + t.local[t.g.rev[a]]*n, t.g.first[v], n
}

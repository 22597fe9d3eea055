package route

// walk follows the paths to one LID from every switch at once.
type walk struct {
	g     *graph
	next  []int32 // by switch: the edge that the table has; local or lost
	hops  []int32 // by switch: edges to the destination; None: none leads there
	order []int32 // switches, each after all that send through it; those in loops are missing
	wait  []int32
	guids []int32 // switches by GUID, so that order does not depend on indexes
}

// Values of walk.next beside edges.
const (
	local = -1 // the destination is here
	lost  = -2 // dropped, or sent where nothing or something else is
)

func newWalk(g *graph) *walk {
	return &walk{g: g, next: make([]int32, g.n), hops: make([]int32, g.n), order: make([]int32, 0, g.n), wait: make([]int32, g.n),
		guids: newRanking(g.s, make([]uint16, g.n)).order}
}

// to follows the paths to a LID of a destination, in time linear in switches.
func (w *walk) to(t *Tables, lid uint16, d *dest) {
	clear(w.wait)
	for u := range w.next {
		port := uint8(NoRoute)
		if int(lid) < len(t.LFT[u]) {
			port = t.LFT[u][lid]
		}
		switch {
		case int32(u) == d.sw && port == d.port:
			w.next[u] = local
			continue
		case port == NoRoute:
			w.next[u] = lost
			continue
		}
		w.next[u] = lost
		if e := w.g.out(u, port); e >= 0 {
			w.next[u] = e
			w.wait[w.g.edges[e].to]++
		}
	}
	w.order = w.order[:0]
	for _, u := range w.guids {
		if w.wait[u] == 0 {
			w.order = append(w.order, u)
		}
	}
	for i := 0; i < len(w.order); i++ {
		if e := w.next[w.order[i]]; e >= 0 {
			v := w.g.edges[e].to
			if w.wait[v]--; w.wait[v] == 0 {
				w.order = append(w.order, v)
			}
		}
	}
	for u := range w.hops {
		w.hops[u] = None
	}
	for i := len(w.order) - 1; i >= 0; i-- {
		u := w.order[i]
		switch e := w.next[u]; {
		case e == local:
			w.hops[u] = 0
		case e >= 0 && w.hops[w.g.edges[e].to] >= 0:
			w.hops[u] = w.hops[w.g.edges[e].to] + 1
		}
	}
}

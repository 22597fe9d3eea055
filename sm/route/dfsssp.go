package route

// DFSSSP routes every LID over paths of the fewest hops, of these over the ones
// with the least load, where every path from a switch with ends to an end loads
// each link on it by the ends at the switch, divided by the link's rate; then
// it gives the paths service levels such that those of a level make no credit
// loop (Domke, Hoefler, Nagel: Deadlock-free oblivious routing for arbitrary
// topologies, IPDPS 2011; they and opensm do not look at rates, and they empty
// levels of cycles where this fills levels without making one). Tables.SL
// has the levels, Tables.VLs their number. Free of loops are the paths that
// o.Pairs names; other paths have level 0. The error is ErrVLs if more than
// o.VLs levels are needed, or ErrLIDs.
func DFSSSP(s *Subnet, o Options) (*Tables, error) {
	j, err := newJob(EngineDFSSSP, s)
	if err != nil {
		return nil, err
	}
	j.sssp()
	lanes := o.VLs
	if lanes <= 0 {
		lanes = 8
	}
	if err := newLayering(j, o.Pairs).run(min(lanes, 15)); err != nil {
		return nil, err
	}
	return j.t, nil
}

// sssp fills the tables by shortest paths to one LID after the other, whose
// loads make later ones avoid the links of earlier ones.
func (j *job) sssp() {
	g := j.g
	ends := g.endsBySwitch()
	dist, queue := make([]uint16, g.n), make([]int32, 0, g.n)
	load := make([]uint64, len(g.edges)) // what paths have put on an edge
	cost := make([]uint64, g.n)          // of the path from a switch
	from := make([]uint64, g.n)          // ends whose paths go through a switch
	next := make([]int32, g.n)           // edge
	var w ways
	at := int32(None)
	for i := range j.dests {
		d := &j.dests[i]
		j.local(d)
		if d.sw != at {
			at = d.sw
			queue = g.bfs(int(at), dist, queue)
			w.fill(g, func(u int, e *edge) bool { return dist[u] != far && dist[e.to]+1 == dist[u] })
		}
		for k := range d.n {
			cost[at] = 0
			for _, u := range queue[1:] { // nearest first
				best := uint64(1<<64 - 1)
				for _, x := range w.of(u) {
					e := &g.edges[x]
					if c := cost[e.to] + load[x] + uint64(e.cost); c < best {
						best, next[u] = c, x
					}
				}
				cost[u] = best
				from[u] = uint64(ends[u])
				j.t.LFT[u][d.lid+k] = g.edges[next[u]].port
			}
			if !d.end() {
				continue
			}
			for n := len(queue) - 1; n > 0; n-- {
				u := queue[n]
				x := next[u]
				load[x] += from[u] * uint64(g.edges[x].cost)
				from[g.edges[x].to] += from[u]
			}
		}
	}
}

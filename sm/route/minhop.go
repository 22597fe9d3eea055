package route

// MinHop routes every LID over a path of the fewest hops and balances the
// LIDs over the ports that have one, as opensm's engine of this name does. It
// may make credit loops where the subnet has cycles. The error is ErrLIDs.
func MinHop(s *Subnet, _ Options) (*Tables, error) {
	dests, top, err := destinations(s)
	if err != nil {
		return nil, err
	}
	g := newGraph(s)
	hops := g.matrix()
	t := newTables(EngineMinHop, s, top)
	t.spread(g, dests, func(b *balancer, u, to int) {
		row := hops[to*g.n : (to+1)*g.n]
		want := row[u] - 1
		if row[u] == far {
			return
		}
		for _, e := range g.of(u) {
			if row[e.to] == want {
				b.best = append(b.best, e)
			}
		}
	})
	return t, nil
}

// matrix has the hops from switch u to switch t at t*n+u.
func (g *graph) matrix() []uint16 {
	m := make([]uint16, g.n*g.n)
	queue := make([]int32, 0, g.n)
	for t := range g.n {
		queue = g.bfs(t, m[t*g.n:(t+1)*g.n], queue)
	}
	return m
}

// spread fills all tables with the balancer's choice. The function best appends
// to b.best the edges that paths from u to switch t may leave by.
func (t *Tables) spread(g *graph, dests []dest, best func(b *balancer, u, t int)) {
	b := newBalancer(g.n)
	for u := range g.n {
		b.reset()
		at := int32(None)
		lft := t.LFT[u]
		for i := range dests {
			d := &dests[i]
			if int(d.sw) == u {
				for j := range d.n {
					lft[d.lid+j] = d.port
				}
				continue
			}
			if d.sw != at {
				at, b.best = d.sw, b.best[:0]
				best(b, u, int(at))
			}
			b.fill(lft, d)
		}
	}
}

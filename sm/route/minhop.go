package route

// MinHop routes every LID over a path of the fewest hops and balances the
// LIDs over the ports that have one, as opensm's engine of this name does. It
// may make credit loops where the subnet has cycles. The error is ErrLIDs.
func MinHop(s *Subnet, _ Options) (*Tables, error) {
	j, err := newJob(EngineMinHop, s)
	if err != nil {
		return nil, err
	}
	g := j.g
	hops := g.matrix()
	j.spread(func(b *balancer, u, to int) {
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
	return j.t, nil
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

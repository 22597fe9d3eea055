package route

// UpDown routes every LID over a shortest path that never turns up after it
// went down, so that no credit loop is possible, and balances as MinHop does.
// The roots are o.Roots, or else those of FindRoots. Where neither gives one, an
// island's most central switch is its root, with a warning; opensm gives up
// there. Switches without a legal path between them, such as two roots, have
// no route to each other. The error is ErrLIDs.
func UpDown(s *Subnet, o Options) (*Tables, error) {
	j, err := newJob(EngineUpDown, s)
	if err != nil {
		return nil, err
	}
	g := j.g
	r := newRanking(s, g.rankFrom(j.upDownRoots(o, true)))
	rows, queue := make([]uint16, g.n*g.n), make([]int32, 0, g.n)
	for t := range g.n {
		queue = g.legal(r, t, rows[t*g.n:(t+1)*g.n], queue)
	}
	j.spread(func(b *balancer, u, to int) {
		row := rows[to*g.n : (to+1)*g.n]
		if row[u] == far {
			return
		}
		for i := g.first[u]; i < g.first[u+1]; i++ {
			if e := &g.edges[i]; r.next(row, u, e) {
				b.best = append(b.best, *e)
			}
		}
	})
	j.warnApart()
	return j.t, nil
}

// upDownRoots has at least one root for every island with an end or LID. Warn
// says whether it is worth a warning if that is a guess.
func (j *job) upDownRoots(o Options, warn bool) (l []int32) {
	ends := j.g.endsBySwitch()
	for _, u := range o.Roots {
		if u >= 0 && u < j.g.n {
			l = append(l, int32(u))
		}
	}
	if len(l) == 0 {
		l = j.g.roots(j.isle, ends)
	}
	rooted := make([]bool, j.g.n)
	for _, u := range l {
		rooted[j.isle[u]] = true
	}
	for i := range j.dests {
		x := j.isle[j.dests[i].sw]
		if rooted[x] {
			continue
		}
		rooted[x] = true
		c := j.g.center(x, j.isle, ends)
		l = append(l, c)
		if warn {
			j.t.warnf("no root is known, and no switch is the top of a tree: %s is taken as root", j.name(int(c)))
		}
	}
	return l
}

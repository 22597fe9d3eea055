package route

// job is what every engine works with.
type job struct {
	s     *Subnet
	g     *graph
	dests []dest
	isle  []int32 // see graph.islands
	ends  []bool  // by switch: ends with a LID are at it
	apart int     // pairs of a switch without ends and an end, without a path
	t     *Tables
}

func newJob(e Engine, s *Subnet) (*job, error) {
	dests, top, err := destinations(s)
	if err != nil {
		return nil, err
	}
	j := &job{s: s, g: newGraph(s), dests: dests, t: newTables(e, s, top)}
	j.ends = make([]bool, j.g.n)
	for i := range dests {
		if d := &dests[i]; d.end() {
			j.ends[d.sw] = true
		}
	}
	n := 0
	if j.isle, n = j.g.islands(dests); n > 1 {
		j.t.warnf("the switches make %d islands that do not reach each other", n)
	}
	return j, nil
}

// local gives the LIDs of a destination their port in the table of the switch
// that it is at.
func (j *job) local(d *dest) {
	j.set(int(d.sw), d, d.port)
}

// set gives all LIDs of a destination one port in the table of a switch.
func (j *job) set(u int, d *dest, port uint8) {
	lft := j.t.LFT[u]
	for i := range d.n {
		lft[d.lid+i] = port
	}
}

// miss counts a switch that has no path to a destination though links lead
// there.
func (j *job) miss(u int, d *dest) {
	switch {
	case j.isle[u] != j.isle[d.sw]:
	case d.end() && j.ends[u]:
		j.t.Unreached += int(d.n)
	case d.end() || j.ends[u]:
		j.apart++
	}
}

// warnApart says what up and down paths do not join.
func (j *job) warnApart() {
	if n := j.t.Unreached; n > 0 {
		j.t.warnf("no path goes up and then down in %d pairs of a switch with ends and an end", n)
	}
	if n := j.apart; n > 0 {
		j.t.warnf("no path goes up and then down in %d pairs of an end and a switch without ends: management only", n)
	}
}

// spread fills all tables with the balancer's choice. The function best appends
// to b.best the edges that paths from switch u to switch to may leave by.
func (j *job) spread(best func(b *balancer, u, to int)) {
	b := newBalancer(j.g.n)
	for u := range j.g.n {
		b.reset()
		at := int32(None)
		for i := range j.dests {
			d := &j.dests[i]
			if int(d.sw) == u {
				j.local(d)
				continue
			}
			if d.sw != at {
				at, b.best = d.sw, b.best[:0]
				best(b, u, int(at))
			}
			if len(b.best) == 0 {
				j.miss(u, d)
				continue
			}
			b.fill(j.t.LFT[u], d)
		}
	}
}

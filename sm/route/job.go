package route

// job is what every engine works with.
type job struct {
	s     *Subnet
	g     *graph
	dests []dest
	isle  []int32 // see graph.islands
	t     *Tables
}

func newJob(e Engine, s *Subnet) (*job, error) {
	dests, top, err := destinations(s)
	if err != nil {
		return nil, err
	}
	j := &job{s: s, g: newGraph(s), dests: dests, t: newTables(e, s, top)}
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

// miss counts a switch that has no path to an end though links lead there.
func (j *job) miss(u int, d *dest) {
	if d.end() && j.isle[u] == j.isle[d.sw] {
		j.t.Unreached += int(d.n)
	}
}

// ended tells by switch whether an end with a LID is at it.
func (j *job) ended() []bool {
	l := make([]bool, j.g.n)
	for i := range j.dests {
		if d := &j.dests[i]; d.end() {
			l[d.sw] = true
		}
	}
	return l
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

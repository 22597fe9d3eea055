package route

// Channel is a link between switches in one direction, by where it leaves.
type Channel struct {
	Switch int
	Port   uint8
}

// CreditLoop looks for a cycle in the dependencies between channels of a lane:
// packets of the paths on it can wait for each other's buffers for ever. Lanes
// are service levels. It returns the lane and the channels of the first cycle,
// each waiting for the next and the last for the first; nil if there is none.
// The error is ErrLIDs. Paths that end nowhere count as far as they go.
func CreditLoop(s *Subnet, t *Tables, p Pairs) (lane uint8, loop []Channel, err error) {
	j, err := newJob(t.Engine, s)
	if err != nil {
		return 0, nil, err
	}
	c := newTurns(j.g)
	lanes := j.dependencies(c, t, p)
	all := uint16(0)
	for _, m := range lanes {
		all |= m
	}
	for ; lane < 16; lane++ {
		if all>>lane&1 == 0 {
			continue
		}
		for _, e := range c.cycle(func(turn int32) bool { return lanes[turn]>>lane&1 != 0 }) {
			loop = append(loop, Channel{c.tail(e), j.g.edges[e].port})
		}
		if loop != nil {
			return lane, loop, nil
		}
	}
	return 0, nil, nil
}

// dependencies has for every turn the lanes, a bit each, of the paths over it.
func (j *job) dependencies(c *turns, t *Tables, p Pairs) []uint16 {
	lanes := make([]uint16, c.count())
	w := newWalk(j.g)
	from := make([]uint16, j.g.n) // lanes of the paths from and through a switch
	for i := range j.dests {
		d := &j.dests[i]
		for k := range d.n {
			lid := d.lid + k
			w.to(t, lid, d)
			for u := range from {
				from[u] = 0
				if p.counts(j, int32(u), d) {
					from[u] = 1 << (t.SL(u, lid) & 15)
				}
			}
			for _, u := range w.order {
				c.add(lanes, from, w, u)
			}
			if len(w.order) < j.g.n { // a loop: its turns are dependencies too
				for u := range w.next {
					if w.wait[u] > 0 {
						c.add(lanes, from, w, int32(u))
					}
				}
			}
		}
	}
	return lanes
}

// add takes the paths through switch u one hop on.
func (c *turns) add(lanes, from []uint16, w *walk, u int32) {
	a := w.next[u]
	if a < 0 {
		return
	}
	v := c.g.edges[a].to
	from[v] |= from[u]
	if b := w.next[v]; b >= 0 {
		lanes[c.of(a, b)] |= from[u]
	}
}

// tail is the switch that an edge leaves.
func (c *turns) tail(e int32) int { return int(c.g.edges[c.g.rev[e]].to) }

package route

import "slices"

// dag is a set of turns without cycles that grows (Pearce and Kelly, A dynamic
// topological sort algorithm for directed acyclic graphs, 2006): it keeps an
// order of the edges in which all turns go forward, and repairs it only
// between the two ends of a turn that goes back.
type dag struct {
	c     *turns
	has   []bool // by turn
	never []bool // by turn: it would close a cycle
	pos   []int32
	seen  []uint32 // by edge: the search that saw it
	round uint32
	fwd   []int32
	back  []int32
	slots []int32
	init  []int32
}

// newDAG begins with an order of the edges.
func newDAG(c *turns, order []int32) *dag {
	d := &dag{c: c, has: make([]bool, c.count()), never: make([]bool, c.count()), init: order,
		pos: make([]int32, len(order)), seen: make([]uint32, len(order))}
	d.reset()
	return d
}

// reset takes all turns away.
func (d *dag) reset() {
	clear(d.has)
	clear(d.never)
	for i, e := range d.init {
		d.pos[e] = int32(i)
	}
}

// add adds the turn from edge a to edge b, unless it closes a cycle.
func (d *dag) add(turn, a, b int32) bool {
	if d.never[turn] {
		return false
	}
	if d.pos[a] > d.pos[b] && !d.repair(a, b) {
		d.never[turn] = true
		return false
	}
	d.has[turn] = true
	return true
}

// repair makes b come after a; false if b leads to a.
func (d *dag) repair(a, b int32) bool {
	d.round++
	low, high := d.pos[b], d.pos[a]
	d.fwd = append(d.fwd[:0], b)
	d.seen[b] = d.round
	for i := 0; i < len(d.fwd); i++ {
		turn, first, n := d.c.after(d.fwd[i])
		for k := range n {
			if e := first + k; d.has[turn+k] && d.seen[e] != d.round && d.pos[e] <= high {
				if e == a {
					return false
				}
				d.seen[e] = d.round
				d.fwd = append(d.fwd, e)
			}
		}
	}
	d.back = append(d.back[:0], a)
	d.seen[a] = d.round
	for i := 0; i < len(d.back); i++ {
		x := d.back[i]
		u := d.c.tail(x)
		for k := d.c.g.first[u]; k < d.c.g.first[u+1]; k++ {
			if e := d.c.g.rev[k]; d.seen[e] != d.round && d.pos[e] >= low && d.has[d.c.of(e, x)] {
				d.seen[e] = d.round
				d.back = append(d.back, e)
			}
		}
	}
	byPos := func(x, y int32) int { return int(d.pos[x] - d.pos[y]) }
	slices.SortFunc(d.back, byPos)
	slices.SortFunc(d.fwd, byPos)
	d.slots = d.slots[:0]
	for _, l := range [2][]int32{d.back, d.fwd} {
		for _, e := range l {
			d.slots = append(d.slots, d.pos[e])
		}
	}
	slices.Sort(d.slots)
	for i, e := range append(d.back, d.fwd...) {
		d.pos[e] = d.slots[i]
	}
	return true
}

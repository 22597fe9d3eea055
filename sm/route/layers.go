package route

import "fmt"

// layering moves paths to higher service levels until no level has a cycle of
// turns. A path is a source switch and a LID.
type layering struct {
	*job
	c     *turns
	w     *walk
	ended []bool
	pairs Pairs
	count []uint32 // by turn: paths of the level
	level uint8
	moved bool // paths have gone to the next level
	num   []uint32
	sub   []int32
}

func newLayering(j *job, p Pairs) *layering {
	return &layering{job: j, c: newTurns(j.g), w: newWalk(j.g), ended: j.ended(), pairs: p,
		num: make([]uint32, j.g.n), sub: make([]int32, 0, j.g.n)}
}

// run makes the levels, at most limit of them.
func (l *layering) run(limit int) error {
	l.count = make([]uint32, l.c.count())
	for {
		l.countTurns()
		l.moved = false
		l.clearCycles()
		if !l.moved {
			l.t.VLs = int(l.level) + 1
			return nil
		}
		if l.level++; int(l.level) >= limit {
			return fmt.Errorf("%s: %w: more than %d are needed", EngineDFSSSP, ErrVLs, limit)
		}
	}
}

// has tells whether a path counts and is of the level.
func (l *layering) has(u int32, lid uint16, d *dest) bool {
	return l.t.SL(int(u), lid) == l.level && (l.pairs == AllPairs || d.end() || l.ended[u])
}

// countTurns counts the paths of the level by turn.
func (l *layering) countTurns() {
	clear(l.count)
	for i := range l.dests {
		d := &l.dests[i]
		for k := range d.n {
			lid := d.lid + k
			l.w.to(l.t, lid, d)
			for u := range l.num {
				if l.num[u] = 0; l.has(int32(u), lid, d) {
					l.num[u] = 1
				}
			}
			for _, u := range l.w.order {
				a := l.w.next[u]
				if a < 0 || l.num[u] == 0 {
					continue
				}
				v := l.g.edges[a].to
				l.num[v] += l.num[u]
				if b := l.w.next[v]; b >= 0 {
					l.count[l.c.of(a, b)] += l.num[u]
				}
			}
		}
	}
}

// Colours of edges in clearCycles.
const (
	white = iota // not seen
	grey         // on the stack
	black        // no cycle can be reached from it
)

// clearCycles searches the turns in depth, and when it comes back to an edge on
// the stack it moves the paths of the weakest turn of that cycle: the one with
// the fewest. It goes on below the first turn of the stack that is gone by that.
func (l *layering) clearCycles() {
	type place struct{ edge, turn, first, at, n int32 } // at: of n edges, the next to look at
	colour := make([]uint8, len(l.g.edges))
	var stack []place
	push := func(e int32) {
		colour[e] = grey
		turn, first, n := l.c.after(e)
		stack = append(stack, place{e, turn, first, 0, n})
	}
	for e := range l.g.edges {
		if colour[e] != white {
			continue
		}
		push(int32(e))
		for len(stack) > 0 {
			p := &stack[len(stack)-1]
			if p.at == p.n {
				colour[p.edge] = black
				stack = stack[:len(stack)-1]
				continue
			}
			i := p.at
			to := p.first + i
			p.at++
			if l.count[p.turn+i] == 0 || colour[to] == black {
				continue
			}
			if colour[to] == white {
				push(to)
				continue
			}
			from := len(stack) - 1
			for stack[from].edge != to {
				from--
			}
			weak, least := from, uint32(1<<32-1)
			for k := from; k < len(stack); k++ {
				if q := &stack[k]; l.count[q.turn+q.at-1] < least {
					weak, least = k, l.count[q.turn+q.at-1]
				}
			}
			l.move(stack[weak].edge, stack[weak].first+stack[weak].at-1)
			for k := range stack { // other turns of the stack may have lost their paths too
				if q := &stack[k]; l.count[q.turn+q.at-1] == 0 {
					for _, x := range stack[k+1:] {
						colour[x.edge] = white
					}
					stack = stack[:k+1]
					break
				}
			}
		}
	}
}

// move puts all paths of the level over the turn from edge a to edge b on the
// next level.
func (l *layering) move(a, b int32) {
	u, v := l.c.tail(a), int(l.g.edges[a].to)
	out, on := l.g.edges[a].port, l.g.edges[b].port
	for i := range l.dests {
		d := &l.dests[i]
		if int(d.sw) == v || int(d.sw) == u {
			continue
		}
		for k := range d.n {
			if lid := d.lid + k; l.t.LFT[u][lid] == out && l.t.LFT[v][lid] == on {
				l.lift(int32(u), lid, d)
			}
		}
	}
}

// lift moves the paths to a LID through switch u.
func (l *layering) lift(u int32, lid uint16, d *dest) {
	l.sub = append(l.sub[:0], u)
	for i := 0; i < len(l.sub); i++ {
		x := l.sub[i]
		if l.num[x] = 0; l.has(x, lid, d) {
			l.num[x] = 1
			l.t.setSL(int(x), lid, l.level+1)
		}
		for _, e := range l.g.of(int(x)) {
			if e.to != d.sw && l.t.LFT[e.to][lid] == e.back {
				l.sub = append(l.sub, e.to)
			}
		}
	}
	for i := len(l.sub) - 1; i > 0; i-- { // children before parents
		l.num[l.drop(l.sub[i], lid, d, l.num[l.sub[i]])] += l.num[l.sub[i]]
	}
	n := l.num[u]
	if n == 0 {
		return
	}
	l.moved = true
	for x := u; x != d.sw; {
		x = l.drop(x, lid, d, n)
	}
}

// drop takes n paths from the turn after the edge that switch x sends a LID by,
// and returns where that edge leads.
func (l *layering) drop(x int32, lid uint16, d *dest, n uint32) int32 {
	a := l.g.out(int(x), l.t.LFT[x][lid])
	v := l.g.edges[a].to
	if v != d.sw && n > 0 {
		l.count[l.c.of(a, l.g.out(int(v), l.t.LFT[v][lid]))] -= n
	}
	return v
}

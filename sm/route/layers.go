package route

import (
	"cmp"
	"fmt"
	"slices"
)

// layering gives paths, which are pairs of a source switch and a LID, service
// levels so that no level has a cycle of turns: level by level it goes through
// the paths that have none yet and takes each that closes no cycle with those
// that it took. A turn that would close one always will, so it is looked at
// once in a level, however many paths have it.
type layering struct {
	*job
	c     *turns
	w     *walk
	pairs Pairs
	dag   *dag
	need  []bool  // by switch: a path through it has no level yet
	ok    []bool  // by switch: its path to the LID can be on the level
	fresh []int32 // turns that a path adds
	left  int     // paths without a level
}

// noSL marks paths without a level.
const noSL = 0xff

func newLayering(j *job, p Pairs) *layering {
	return &layering{job: j, c: newTurns(j.g), w: newWalk(j.g), pairs: p, ok: make([]bool, j.g.n), need: make([]bool, j.g.n)}
}

// run makes the levels, at most limit of them.
func (l *layering) run(limit int) error {
	has := make([]bool, l.c.count())
	l.each(func(lid uint16, d *dest) {
		for u := range l.ok {
			l.ok[u] = l.pairs.counts(l.job, int32(u), d)
		}
		for _, u := range l.w.order {
			if a := l.w.next[u]; a >= 0 && l.ok[u] {
				v := l.g.edges[a].to
				l.ok[v] = true
				if b := l.w.next[v]; b >= 0 {
					has[l.c.of(a, b)] = true
				}
			}
		}
	})
	if l.c.cycle(func(turn int32) bool { return has[turn] }) == nil {
		return nil // most trees need no levels
	}
	l.each(func(lid uint16, d *dest) {
		for u := range l.ok {
			if l.pairs.counts(l.job, int32(u), d) && l.w.next[u] >= 0 {
				l.t.setSL(u, lid, noSL)
			}
		}
	})
	l.dag = newDAG(l.c, l.first())
	for level := range limit {
		l.dag.reset()
		l.left = 0
		l.each(func(lid uint16, d *dest) { l.take(lid, uint8(level)) })
		if l.left == 0 {
			l.t.VLs = level + 1
			return nil
		}
	}
	return fmt.Errorf("%s: %w: more than %d are needed", EngineDFSSSP, ErrVLs, limit)
}

// each follows the paths to every LID.
func (l *layering) each(f func(lid uint16, d *dest)) {
	for i := range l.dests {
		d := &l.dests[i]
		for k := range d.n {
			l.w.to(l.t, d.lid+k, d)
			f(d.lid+k, d)
		}
	}
}

// take puts the paths to a LID on a level, those of the nearest switches first.
// A path can be there if the rest of it can and its first turn closes no cycle.
func (l *layering) take(lid uint16, level uint8) {
	clear(l.need)
	for _, u := range l.w.order {
		if l.t.sl[u][lid] == noSL {
			l.need[u] = true
		}
		if a := l.w.next[u]; a >= 0 && l.need[u] {
			l.need[l.g.edges[a].to] = true
		}
	}
	for i := len(l.w.order) - 1; i >= 0; i-- {
		u := l.w.order[i]
		a := l.w.next[u]
		l.ok[u] = true
		if a < 0 || !l.need[u] {
			continue
		}
		v := l.g.edges[a].to
		b := l.w.next[v]
		if b >= 0 {
			turn := l.c.of(a, b)
			l.ok[u] = l.ok[v] && (l.dag.has[turn] || l.dag.add(turn, a, b))
		}
		switch {
		case l.t.sl[u][lid] != noSL:
		case l.ok[u]:
			l.t.sl[u][lid] = level
		default:
			l.left++
		}
	}
}

// first is the order of channels that levels begin with: of trees one in which
// all paths go forward, the channels up from the bottom to the top, then those
// down.
func (l *layering) first() []int32 {
	r := newRanking(l.s, l.g.rankFrom(l.upDownRoots(Options{}, false)))
	order := make([]int32, len(l.g.edges))
	key := make([]int32, len(l.g.edges))
	for i := range order {
		order[i] = int32(i)
		u, v := l.c.tail(int32(i)), l.g.edges[i].to
		if r.up(int32(u), v) {
			key[i] = -r.pos[u]
		} else {
			key[i] = r.pos[u] + 1
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(key[a], key[b]), cmp.Compare(a, b)) })
	return order
}

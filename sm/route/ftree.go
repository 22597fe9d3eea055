package route

import "fmt"

// fatTree is the state of the engine. Every end has a main path, down from one
// switch at the top, and all other switches send to the main path if they can
// reach it. Loads are by edge, of main paths only.
type fatTree struct {
	*job
	r        *ranking
	row      []uint16 // distances to the switch of the destination
	queue    []int32
	ways     ways
	down, up []uint32 // by edge: main paths
	via      []uint32 // by switch: main paths down through it
	main     []bool   // by switch: its path to the destination is the main one
	chosen   []int32  // by switch on the main path: the edge down
	at       int32    // the destination's switch that ways are of
	lost     uint16   // a LID without a path, for the error
}

// FatTree routes trees of 2 to 8 levels so that the paths to every end come
// down through one switch of each level, and the ends of a leaf are spread over
// what is above: permutations of ends that are shifts do not block (Zahavi,
// D-Mod-K, 2010; opensm's ftree counts loads to the same end). Without
// o.Roots all switches with ends must be leaves. Two switches that have no path
// up and then down between them have no route to each other.
//
// The error is ErrNotFatTree, also if two ends have no such path though links
// join them; ErrLMC if an end has several LIDs; or ErrLIDs.
func FatTree(s *Subnet, o Options) (*Tables, error) {
	j, err := newJob(EngineFatTree, s)
	if err != nil {
		return nil, err
	}
	for i := range j.dests {
		if d := &j.dests[i]; d.n > 1 {
			return nil, fmt.Errorf("%s: %w: 0x%x has %d", EngineFatTree, ErrLMC, d.lid, d.n)
		}
	}
	r, err := j.levels(o)
	if err != nil {
		return nil, err
	}
	n, m := j.g.n, len(j.g.edges)
	f := &fatTree{job: j, r: r, row: make([]uint16, n), down: make([]uint32, m), up: make([]uint32, m),
		via: make([]uint32, n), main: make([]bool, n), chosen: make([]int32, n), at: None}
	for i := range j.dests {
		f.route(&j.dests[i])
	}
	if j.t.Unreached > 0 {
		return nil, fmt.Errorf("%w: no path up and then down from %d switches, one of them to LID 0x%x", ErrNotFatTree, j.t.Unreached, f.lost)
	}
	j.warnApart()
	return j.t, nil
}

// route gives one destination its ports in all tables.
func (f *fatTree) route(d *dest) {
	if d.sw != f.at {
		f.at = d.sw
		f.queue = f.g.legal(f.r, int(d.sw), f.row, f.queue)
		f.ways.fill(f.g, func(u int, e *edge) bool { return f.row[u] != far && f.r.next(f.row, u, e) })
	}
	clear(f.main)
	f.trunk(d)
	f.local(d)
	for _, u := range f.r.order {
		switch x := f.row[u]; {
		case u == d.sw:
		case x == far:
			before := f.t.Unreached
			if f.miss(int(u), d); f.t.Unreached > before {
				f.lost = d.lid
			}
		case x&climb == 0:
			f.descend(u, d)
		default:
			f.ascend(u, d)
		}
	}
}

// trunk chooses the main path from the destination's switch to the top: at each
// step the upper switch whose link down has the fewest main paths, of equals
// the one with the fewest through it, then the lowest port.
func (f *fatTree) trunk(d *dest) {
	for u := d.sw; ; {
		f.main[u] = true
		best, to := int32(None), int32(None)
		for i := f.g.first[u]; i < f.g.first[u+1]; i++ {
			v := f.g.edges[i].to
			if !f.r.up(u, v) || f.row[v] != f.row[u]+1 {
				continue
			}
			e := f.g.rev[i]
			if best == None || f.less(e, best) {
				best, to = e, v
			}
		}
		if best == None {
			return
		}
		f.chosen[to] = best
		if d.end() {
			f.down[best] += f.g.edges[best].cost
			f.via[to]++
		}
		u = to
	}
}

// less orders edges down by load; their upper ends may differ.
func (f *fatTree) less(a, b int32) bool {
	x, y := f.down[a]+f.g.edges[a].cost, f.down[b]+f.g.edges[b].cost
	if x != y {
		return x < y
	}
	return f.via[f.g.edges[f.g.rev[a]].to] < f.via[f.g.edges[f.g.rev[b]].to]
}

// descend sets the way down of a switch above the destination.
func (f *fatTree) descend(u int32, d *dest) {
	best := f.chosen[u]
	if !f.main[u] {
		best = None
		for _, e := range f.ways.of(u) {
			if best == None || f.down[e]+f.g.edges[e].cost < f.down[best]+f.g.edges[best].cost {
				best = e
			}
		}
	}
	if best != None {
		f.set(int(u), d, f.g.edges[best].port)
	}
}

// ascend sets the way up of a switch that is not above the destination: to the
// main path if one of the ways leads there, by the port with the least load.
func (f *fatTree) ascend(u int32, d *dest) {
	best := int32(None)
	for _, e := range f.ways.of(u) {
		if best == None || f.better(e, best) {
			best = e
		}
	}
	if best == None {
		return
	}
	e := &f.g.edges[best]
	f.main[u] = f.main[e.to]
	if f.main[u] && d.end() {
		f.up[best] += e.cost
	}
	f.set(int(u), d, e.port)
}

func (f *fatTree) better(a, b int32) bool {
	x, y := &f.g.edges[a], &f.g.edges[b]
	if f.main[x.to] != f.main[y.to] {
		return f.main[x.to]
	}
	return f.up[a]+x.cost < f.up[b]+y.cost
}

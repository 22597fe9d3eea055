package route

import "fmt"

// maxLevels is the most levels that a fat tree may have, as in opensm.
const maxLevels = 8

// levels ranks the switches of a fat tree. Without roots the leaves are the
// switches with ends, and a switch is as high above them as it has hops to the
// nearest; with roots the rank is the hops to the nearest root, and ends may be
// at any switch. No link may join two switches of a rank.
func (j *job) levels(o Options) (*ranking, error) {
	g := j.g
	var from []int32
	for _, u := range o.Roots {
		if u >= 0 && u < g.n {
			from = append(from, int32(u))
		}
	}
	given := len(from) > 0
	if !given {
		for u, ok := range j.ends {
			if ok {
				from = append(from, int32(u))
			}
		}
	}
	rank := g.rankFrom(from)
	high := uint16(0)
	for u, x := range rank {
		switch {
		case x != far:
			high = max(high, x)
		case len(g.of(u)) > 0 || j.s.Switches[u].LID != 0:
			return nil, fmt.Errorf("%w: %s has no way to a root or leaf", ErrNotFatTree, j.name(u))
		}
	}
	for u := range g.n {
		for _, e := range g.of(u) {
			if rank[u] == rank[e.to] {
				return nil, fmt.Errorf("%w: a link joins %s and %s, which have the same level", ErrNotFatTree, j.name(u), j.name(int(e.to)))
			}
		}
	}
	if n := int(high) + 1; n < 2 || n > maxLevels {
		return nil, fmt.Errorf("%w: the switches have %d levels, 2 to %d are a tree", ErrNotFatTree, n, maxLevels)
	}
	if !given { // the top is what is farthest from the leaves
		for u := range rank {
			if rank[u] != far {
				rank[u] = high - rank[u]
			}
		}
	}
	return newRanking(j.s, rank), nil
}

func (j *job) name(u int) string { return fmt.Sprintf("switch 0x%016x", j.s.Switches[u].GUID) }

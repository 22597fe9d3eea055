package route

// Report is what Check finds. Pairs are of a source switch and a LID; a path of
// an end goes as that of its switch.
type Report struct {
	Paths     int // pairs with a path that ends where the LID is
	Broken    int // pairs whose path loops, leads nowhere or to the wrong port
	Unreached int // pairs of two ends that links join, without an entry
	Apart     int // the same, where one side is a switch's own port 0
	Longer    int // paths with more hops than the fewest possible
	MaxHops   int // most links between switches on a path
	Faults    []Fault
}

// Fault is an entry of a table that does not lead to its LID.
type Fault struct {
	Switch int // index
	LID    uint16
	Port   uint8 // the entry
	Loop   bool  // the path comes back; else it is dropped or goes astray
}

// maxFaults is how many faults a report lists.
const maxFaults = 16

// OK tells whether every entry leads to its LID, and from every end there is a
// path to every end that links join it with.
func (r *Report) OK() bool { return r.Broken == 0 && r.Unreached == 0 }

// Check follows the path from every switch to every LID of a subnet. The error
// is ErrLIDs.
func Check(s *Subnet, t *Tables) (*Report, error) {
	j, err := newJob(t.Engine, s)
	if err != nil {
		return nil, err
	}
	r, w := &Report{}, newWalk(j.g)
	dist, queue, at := make([]uint16, j.g.n), make([]int32, 0, j.g.n), int32(None)
	for i := range j.dests {
		d := &j.dests[i]
		if d.sw != at {
			at = d.sw
			queue = j.g.bfs(int(at), dist, queue)
		}
		for k := range d.n {
			w.to(t, d.lid+k, d)
			for u, h := range w.hops {
				switch {
				case h >= 0:
					r.Paths++
					r.MaxHops = max(r.MaxHops, int(h))
					if int(h) > int(dist[u]) {
						r.Longer++
					}
				case t.port(u, d.lid+k) != NoRoute:
					r.fault(w, t, u, d.lid+k)
				case dist[u] == far:
				case d.end() && j.ends[u]:
					r.Unreached++
				default:
					r.Apart++
				}
			}
		}
	}
	return r, nil
}

func (t *Tables) port(u int, lid uint16) uint8 {
	if int(lid) >= len(t.LFT[u]) {
		return NoRoute
	}
	return t.LFT[u][lid]
}

func (r *Report) fault(w *walk, t *Tables, u int, lid uint16) {
	r.Broken++
	if len(r.Faults) == maxFaults {
		return
	}
	v := int32(u)
	steps := 0
	for ; w.next[v] >= 0 && steps <= w.g.n; steps++ {
		v = w.g.edges[w.next[v]].to
	}
	r.Faults = append(r.Faults, Fault{Switch: u, LID: lid, Port: t.port(u, lid), Loop: steps > w.g.n})
}

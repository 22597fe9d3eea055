package route

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRandom routes connected subnets of any form with all engines.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	trees, loops, levels := 0, 0, 0
	for i := range 300 {
		if s := levelled(r); i%2 == 0 {
			if tab, err := FatTree(s, Options{}); err == nil {
				compute(t, EngineFatTree, s, Options{})
				legalAndShortest(t, s, tab, nil)
				trees++
			} else if !errors.Is(err, ErrNotFatTree) {
				t.Fatal(err)
			}
		}
		s := random(r, uint8(i/3%3))
		for _, e := range engines {
			if e == EngineFatTree {
				continue
			}
			o := Options{Pairs: Pairs(i % 3)}
			if e == EngineUpDown {
				o.Roots = []int{r.IntN(len(s.Switches))}
			}
			tab, rep := compute(t, e, s, o)
			if !rep.OK() || tab.Unreached > 0 {
				t.Fatalf("%s, %v: %+v", e, s, rep)
			}
			lane, l, _ := CreditLoop(s, tab, PortPairs)
			if (l != nil) != slowLoop(s, tab) {
				t.Fatalf("%s, %v: loop %v, by brute force %v", e, s, l, slowLoop(s, tab))
			}
			if l != nil {
				realLoop(t, s, tab, lane, l)
				loops++
			}
			if e == EngineUpDown {
				legalAndShortest(t, s, tab, o.Roots)
			}
			levels = max(levels, tab.VLs)
			again, _ := Compute(e, s, o)
			if !tab.Equal(again) {
				t.Fatalf("%s: two runs differ", e)
			}
		}
	}
	t.Logf("%d fat trees, %d loops, up to %d levels", trees, loops, levels)
	if trees < 20 || loops < 10 || levels < 2 {
		t.Error("the subnets are too tame")
	}
}

// legalAndShortest checks with an oracle of its own that no path turns up after
// it went down, and, where no link joins equal ranks, that it has the fewest
// hops of those that do not. Roots nil: the ranks of a fat tree.
func legalAndShortest(t *testing.T, s *Subnet, tab *Tables, roots []int) {
	t.Helper()
	n := len(s.Switches)
	rank := make([]int, n)
	for u := range rank {
		rank[u] = -1
	}
	var queue []int
	for u := range n {
		leaf := slices.ContainsFunc(s.Ends, func(e End) bool { return int(e.Switch) == u })
		if roots == nil && leaf || slices.Contains(roots, u) {
			rank[u] = 0
			queue = append(queue, u)
		}
	}
	each := func(u int, f func(port, v int)) {
		for p := 1; p <= int(s.Switches[u].Ports); p++ {
			if l := s.Link(u, p); l.Switch >= 0 {
				f(p, int(l.Switch))
			}
		}
	}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		each(u, func(_, v int) {
			if rank[v] < 0 {
				rank[v] = rank[u] + 1
				queue = append(queue, v)
			}
		})
	}
	strict := true
	for u := range n {
		if roots == nil {
			rank[u] = -rank[u]
		}
	}
	up := func(u, v int) bool {
		if rank[u] == rank[v] {
			return s.Switches[v].GUID < s.Switches[u].GUID
		}
		return rank[v] < rank[u]
	}
	for u := range n {
		each(u, func(_, v int) { strict = strict && rank[u] != rank[v] })
	}
	for from := range n {
		best := make([][2]int, n) // hops by phase: still up, gone down
		for u := range best {
			best[u] = [2]int{-1, -1}
		}
		best[from][0] = 0
		q := [][2]int{{from, 0}}
		for len(q) > 0 {
			x := q[0]
			q = q[1:]
			each(x[0], func(_, v int) {
				phase := 1
				if up(x[0], v) {
					phase = 0
				}
				if phase < x[1] || best[v][phase] >= 0 {
					return
				}
				best[v][phase] = best[x[0]][x[1]] + 1
				q = append(q, [2]int{v, phase})
			})
		}
		for _, d := range s.Ends {
			for i := range uint16(1) << d.LMC {
				hops, down := 0, false
				if tab.LFT[from][d.LID] == NoRoute {
					if best[d.Switch] != [2]int{-1, -1} {
						t.Fatalf("%v: no path from %d to LID %d", s, from, d.LID)
					}
					continue
				}
				for u := from; u != int(d.Switch); hops++ {
					v := int(s.Link(u, int(tab.LFT[u][d.LID+i])).Switch)
					if up(u, v) && down {
						t.Fatalf("%v: the path from %d to LID %d turns up at %d", s, from, d.LID+i, u)
					}
					down = !up(u, v)
					u = v
				}
				want := best[d.Switch][0]
				if x := best[d.Switch][1]; want < 0 || x >= 0 && x < want {
					want = x
				}
				if hops < want || strict && hops != want {
					t.Fatalf("%v: %d hops from %d to LID %d, legal are %d", s, hops, from, d.LID+i, want)
				}
			}
		}
	}
}

type turn struct{ a, b Channel }

// slowTurns follows every path by itself; paths of one level only.
func slowTurns(s *Subnet, tab *Tables, lane uint8) map[turn]bool {
	m := map[turn]bool{}
	for from := range s.Switches {
		for _, d := range s.Ends {
			for i := range uint16(1) << d.LMC {
				slowPath(s, tab, lane, from, d.LID+i, m)
			}
		}
	}
	for _, e := range s.Ends {
		for _, w := range s.Switches {
			slowPath(s, tab, lane, int(e.Switch), w.LID, m)
		}
	}
	return m
}

func slowPath(s *Subnet, tab *Tables, lane uint8, u int, lid uint16, m map[turn]bool) {
	if tab.SL(u, lid) != lane {
		return
	}
	for last := (Channel{}); ; {
		p := tab.LFT[u][lid]
		if p == 0 || p == NoRoute || s.Link(u, int(p)).Switch < 0 {
			return
		}
		c := Channel{u, p}
		if last.Port != 0 {
			m[turn{last, c}] = true
		}
		last, u = c, int(s.Link(u, int(p)).Switch)
	}
}

func slowLoop(s *Subnet, tab *Tables) bool {
	for lane := range uint8(tab.VLs) {
		next := map[Channel][]Channel{}
		for x := range slowTurns(s, tab, lane) {
			next[x.a] = append(next[x.a], x.b)
		}
		state := map[Channel]int{}
		var visit func(c Channel) bool
		visit = func(c Channel) bool {
			state[c] = 1
			for _, n := range next[c] {
				if state[n] == 1 || state[n] == 0 && visit(n) {
					return true
				}
			}
			state[c] = 2
			return false
		}
		for c := range next {
			if state[c] == 0 && visit(c) {
				return true
			}
		}
	}
	return false
}

// realLoop checks that a loop is made of turns that paths take.
func realLoop(t *testing.T, s *Subnet, tab *Tables, lane uint8, l []Channel) {
	t.Helper()
	m := slowTurns(s, tab, lane)
	for i, c := range l {
		if !m[turn{c, l[(i+1)%len(l)]}] {
			t.Fatalf("no path turns from %v to %v", c, l[(i+1)%len(l)])
		}
	}
}

package route

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// compute runs an engine and the checks that hold for its results.
func compute(t *testing.T, e Engine, s *Subnet, o Options) (*Tables, *Report) {
	t.Helper()
	tab, err := Compute(e, s, o)
	if err != nil {
		t.Fatalf("%s, %v: %v", e, s, err)
	}
	r, err := Check(s, tab)
	if err != nil || r.Broken > 0 {
		t.Fatalf("%s, %v: %+v, %v", e, s, r, err)
	}
	if (e == EngineMinHop || e == EngineDFSSSP) && (r.Longer > 0 || r.Unreached > 0 || r.Apart > 0) {
		t.Errorf("%s, %v: %+v", e, s, r)
	}
	if e != EngineMinHop {
		for _, p := range []Pairs{EndPairs, PortPairs, AllPairs} {
			if e == EngineDFSSSP && p > o.Pairs {
				continue
			}
			if lane, l, err := CreditLoop(s, tab, p); err != nil || l != nil {
				t.Errorf("%s, %v: loop in lane %d: %v, %v", e, s, lane, l, err)
			}
		}
	}
	return tab, r
}

func TestTrees(t *testing.T) {
	for name, s := range map[string]*Subnet{
		"one leaf above": twoLevels(2, 1, 3, 0), "two levels": twoLevels(6, 4, 14, 0), "wide": twoLevels(30, 10, 3, 0),
		"three levels": threeLevels(4, 0), "k = 8": threeLevels(8, 0),
	} {
		for _, e := range engines {
			tab, r := compute(t, e, s, Options{})
			if !r.OK() || r.Longer > 0 || tab.VLs != 1 || tab.Unreached > 0 || len(tab.Warnings) > 0 {
				t.Errorf("%s, %s: %+v %v", name, e, r, tab.Warnings)
			}
			if lane, l, _ := CreditLoop(s, tab, EndPairs); l != nil {
				t.Errorf("%s, %s: loop in lane %d: %v", name, e, lane, l)
			}
		}
	}
}

// TestTreeBalance: in a full tree every link between switches has the same
// number of ends routed over it, down and up.
func TestTreeBalance(t *testing.T) {
	s := threeLevels(8, 0) // 32 leaves with 4 ends, 32 above, 16 on top
	for _, e := range engines {
		tab, _ := compute(t, e, s, Options{})
		load := portLoad(s, tab)
		for u := range s.Switches {
			for p := 1; p <= 8; p++ {
				up, want := u < 32 && p > 4 || u >= 32 && u < 64 && p > 4, 1
				switch {
				case u < 32 && !up:
					continue
				case u < 32:
					want = 31 * 4 / 4 // all others over four ports
				case up:
					want = 28 * 4 / 4 // all of other pods
				case u < 64:
					want = 4 // those of the leaf: all of them are routed here
				default:
					want = 16 // those of a pod
				}
				if n := load[u][p]; n != want {
					t.Errorf("%s: switch %d, port %d: %d routes, want %d", e, u, p, n, want)
				}
			}
		}
	}
}

// portLoad counts LIDs of ends by switch and port.
func portLoad(s *Subnet, t *Tables) [][256]int {
	load := make([][256]int, len(s.Switches))
	for u := range load {
		for _, e := range s.Ends {
			for i := range uint16(1) << e.LMC {
				load[u][t.LFT[u][e.LID+i]]++
			}
		}
	}
	return load
}

// TestFatTreeTrunks: traffic to an end comes down over one switch of each level,
// and the ends of the tree are spread over the top evenly.
func TestFatTreeTrunks(t *testing.T) {
	s := threeLevels(8, 0)
	tab, _ := compute(t, EngineFatTree, s, Options{})
	tops := make([]int, len(s.Switches))
	for _, d := range s.Ends {
		used := map[int]bool{}
		for _, x := range s.Ends {
			for u := int(x.Switch); u != int(d.Switch); {
				u = int(s.Link(u, int(tab.LFT[u][d.LID])).Switch)
				if u >= 64 && !used[u] {
					used[u] = true
					tops[u]++
				}
			}
		}
		if len(used) != 1 {
			t.Fatalf("LID %d is reached through %v", d.LID, used)
		}
	}
	for u := 64; u < 80; u++ {
		if tops[u] != 128/16 {
			t.Errorf("top %d is used by %d ends", u, tops[u])
		}
	}
}

func TestFatTreeRefuses(t *testing.T) {
	split := newShape(0).sw(4, 8).ends(0, 2).ends(1, 2).join(0, 2, edr).join(1, 3, edr)
	split.sw(1, 8).ends(4, 1).join(4, 2, edr).join(4, 3, edr) // 0 and 1 meet in a leaf only
	deep := newShape(0).sw(18, 4).ends(0, 1)
	for i := range 17 {
		deep.join(i, i+1, edr)
	}
	for name, c := range map[string]struct {
		s   *Subnet
		err error
		msg string
	}{
		"ring":       {ring(6, 2, 0), ErrNotFatTree, "same level"},
		"torus":      {torus(4, 4, 1), ErrNotFatTree, "same level"},
		"one switch": {newShape(0).sw(1, 4).ends(0, 3).Subnet, ErrNotFatTree, "1 levels"},
		"no end":     {newShape(0).sw(2, 4).join(0, 1, edr).Subnet, ErrNotFatTree, "no way"},
		"split":      {split.Subnet, ErrNotFatTree, "no path up and then down"},
		"deep":       {deep.Subnet, ErrNotFatTree, "18 levels"},
		"LMC":        {twoLevels(2, 2, 2, 1), ErrLMC, "has 2"},
	} {
		if _, err := FatTree(c.s, Options{}); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.msg) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := FatTree(ring(4, 1, 0), Options{Roots: []int{0}}); err != nil {
		t.Error(err) // a ring of four is a tree from any root
	}
}

func TestMissingLinks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		s := threeLevels(4, 0)
		for range 3 {
			u := r.IntN(16)
			s.Cut(u, 3+r.IntN(2)) // an uplink
		}
		for _, e := range engines {
			if e == EngineFatTree {
				if tab, err := FatTree(s, Options{}); err == nil {
					if rep, _ := Check(s, tab); !rep.OK() {
						t.Errorf("%+v", rep)
					}
				} else if !errors.Is(err, ErrNotFatTree) {
					t.Error(err)
				}
				continue
			}
			compute(t, e, s, Options{})
		}
	}
}

func TestRings(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 8, 300} {
		s := ring(n, 1, 0)
		for _, e := range engines {
			if e == EngineFatTree {
				continue
			}
			tab, r := compute(t, e, s, Options{})
			if !r.OK() {
				t.Errorf("ring of %d, %s: %+v", n, e, r)
			}
			_, l, _ := CreditLoop(s, tab, EndPairs)
			if (e == EngineMinHop && n >= 4) != (l != nil) {
				t.Errorf("ring of %d, %s: loop %v", n, e, l)
			}
			if e == EngineDFSSSP && n >= 5 && tab.VLs != 2 {
				t.Errorf("ring of %d: %d levels", n, tab.VLs)
			}
			if e == EngineUpDown && n > 2 && len(tab.Warnings) == 0 {
				t.Error("a ring has a root")
			}
		}
	}
}

func TestTorus(t *testing.T) {
	s := torus(6, 5, 2)
	tab, _ := compute(t, EngineMinHop, s, Options{})
	if _, l, _ := CreditLoop(s, tab, EndPairs); l == nil {
		t.Error("minhop makes no loop in a torus")
	} else {
		realLoop(t, s, tab, 0, l)
	}
	if _, r := compute(t, EngineUpDown, s, Options{}); !r.OK() {
		t.Errorf("%+v", r)
	}
	tab, _ = compute(t, EngineDFSSSP, s, Options{Pairs: AllPairs})
	t.Logf("dfsssp: %d levels", tab.VLs)
	if _, err := DFSSSP(s, Options{VLs: tab.VLs - 1}); !errors.Is(err, ErrVLs) {
		t.Error(err)
	}
	if _, err := tab.SL2VL(tab.VLs - 1); err == nil {
		t.Error("too few lanes will do")
	}
	if m, err := tab.SL2VL(8); err != nil || m[1] != 1 || m[9] != 1 {
		t.Error(m, err)
	}
}

func TestIslands(t *testing.T) {
	s := twoLevels(4, 2, 2, 0)
	for _, u := range []int{2, 3} {
		s.Cut(u, 4) // 2 and 3 have spine 5 no more
	}
	for _, u := range []int{0, 1} {
		s.Cut(u, 3)
	}
	for _, e := range engines {
		tab, r := compute(t, e, s, Options{})
		if !r.OK() || len(tab.Warnings) != 1 || !strings.Contains(tab.Warnings[0], "2 islands") {
			t.Errorf("%s: %+v %v", e, r, tab.Warnings)
		}
		if tab.LFT[0][s.Ends[0].LID] == NoRoute || tab.LFT[0][s.Ends[7].LID] != NoRoute {
			t.Errorf("%s: %v", e, tab.LFT[0])
		}
	}
}

func TestRoots(t *testing.T) {
	for _, c := range []struct {
		s    *Subnet
		from int
		n    int
	}{{twoLevels(2, 2, 4, 0), 2, 2}, {twoLevels(30, 4, 4, 0), 30, 4}, {threeLevels(4, 0), 16, 4}, {threeLevels(12, 0), 144, 36}, {ring(5, 1, 0), 0, 0}} {
		l := FindRoots(c.s)
		if len(l) != c.n {
			t.Errorf("%v: %d roots, want %d", c.s, len(l), c.n)
		}
		for i, u := range l {
			if u != c.from+i {
				t.Errorf("%v: root %d", c.s, u)
			}
		}
	}
}

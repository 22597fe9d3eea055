package route

import (
	"slices"
	"testing"
)

func TestBlocks(t *testing.T) {
	blocks := func(a, b []uint8) (l []int) {
		Blocks(a, b, func(n int, x *[BlockSize]uint8) {
			if n*BlockSize < len(b) && !slices.Equal(x[:min(BlockSize, len(b)-n*BlockSize)], b[n*BlockSize:min(len(b), n*BlockSize+BlockSize)]) {
				t.Errorf("block %d: %v", n, x)
			}
			l = append(l, n)
		})
		return l
	}
	a := slices.Repeat([]uint8{NoRoute}, 4*BlockSize)
	b := slices.Clone(a)
	if l := blocks(a, b); l != nil {
		t.Error(l)
	}
	b[0], b[63], b[130] = 1, 2, 3
	if l := blocks(a, b); !slices.Equal(l, []int{0, 2}) {
		t.Error(l)
	}
	if l := blocks(nil, b); !slices.Equal(l, []int{0, 2}) {
		t.Error(l)
	}
	if l := blocks(b, nil); !slices.Equal(l, []int{0, 2}) {
		t.Error(l)
	}
	if l := blocks(b[:70], b); !slices.Equal(l, []int{2}) {
		t.Error(l)
	}
}

// TestChange: after a link or a switch has gone an engine runs again, and what
// is left is reached; few tables change.
func TestChange(t *testing.T) {
	for _, e := range engines {
		s := threeLevels(8, 0)
		was, _ := compute(t, e, s, Options{})
		cut := s.Clone()
		cut.Cut(0, 5) // a leaf's first uplink
		is, r := compute(t, e, cut, Options{})
		if !r.OK() || is.Equal(was) {
			t.Errorf("%s: %+v", e, r)
		}
		changed := 0
		for u := range s.Switches {
			Blocks(was.LFT[u], is.LFT[u], func(int, *[BlockSize]uint8) { changed++ })
		}
		if all := len(s.Switches) * len(is.LFT[0]) / BlockSize; changed == 0 || changed == all {
			t.Errorf("%s: %d blocks of %d change", e, changed, all)
		}
		gone := s.Clone()
		gone.CutSwitch(64) // one of the top
		is, r = compute(t, e, gone, Options{})
		if !r.OK() || len(is.Warnings) > 0 || slices.ContainsFunc(is.LFT[64], func(p uint8) bool { return p != NoRoute }) {
			t.Errorf("%s: %+v %v", e, r, is.Warnings)
		}
		if back, _ := compute(t, e, s, Options{}); !back.Equal(was) {
			t.Errorf("%s: the subnet was changed", e)
		}
		gone.CutSwitch(1) // a leaf: its ends go too
		if _, r = compute(t, e, gone, Options{}); !r.OK() {
			t.Errorf("%s: %+v", e, r)
		}
	}
}

// TestFaults: what is wrong in tables is found.
func TestFaults(t *testing.T) {
	s := twoLevels(3, 2, 2, 0) // leaves 0-2 with ends at ports 1 and 2, spines 3 and 4
	lid := s.Ends[0].LID
	for name, c := range map[string]struct {
		f       func(l [][]uint8)
		broken  int
		missing int
		longer  int
		loop    bool
	}{
		"loop":       {func(l [][]uint8) { l[1][lid], l[3][lid] = 3, 2 }, 3, 0, 0, true},
		"dropped":    {func(l [][]uint8) { l[3][lid] = NoRoute; l[1][lid], l[2][lid] = 4, 3 }, 1, 0, 0, false},
		"wrong end":  {func(l [][]uint8) { l[0][lid] = 2 }, 5, 0, 0, false},
		"no port":    {func(l [][]uint8) { l[0][lid] = 9 }, 5, 0, 0, false},
		"port 0":     {func(l [][]uint8) { l[0][lid] = 0 }, 5, 0, 0, false},
		"end before": {func(l [][]uint8) { l[2][lid] = 1 }, 1, 0, 0, false},
		"missing":    {func(l [][]uint8) { l[1][lid] = NoRoute }, 0, 1, 0, false},
		"detour":     {func(l [][]uint8) { l[1][lid], l[2][lid], l[3][lid], l[4][lid] = 4, 4, 2, 1 }, 0, 0, 1, false},
		"far switch": {func(l [][]uint8) { l[3][s.Switches[4].LID] = NoRoute }, 0, 0, 0, false},
	} {
		tab, _ := compute(t, EngineMinHop, s, Options{})
		c.f(tab.LFT)
		r, err := Check(s, tab)
		if err != nil || r.Broken != c.broken || r.Unreached != c.missing || r.Longer != c.longer || r.OK() != (c.broken+c.missing == 0) {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		if len(r.Faults) != c.broken || c.broken > 0 && (r.Faults[0].LID != lid || r.Faults[0].Loop != c.loop) {
			t.Errorf("%s: %+v", name, r.Faults)
		}
		if name == "far switch" && r.Apart != 1 {
			t.Errorf("%+v", r)
		}
		if _, _, err := CreditLoop(s, tab, AllPairs); err != nil {
			t.Error(err)
		}
	}
}

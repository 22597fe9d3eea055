package route

import (
	"errors"
	"slices"
	"testing"
)

// TestLMC: the LIDs of an end go through different spines.
func TestLMC(t *testing.T) {
	for lmc := range uint8(3) {
		s := twoLevels(4, 4, 4, lmc)
		for _, e := range engines {
			if e == EngineFatTree && lmc > 0 {
				continue
			}
			tab, r := compute(t, e, s, Options{})
			if !r.OK() || r.Longer > 0 {
				t.Errorf("LMC %d, %s: %+v", lmc, e, r)
			}
			for _, d := range s.Ends {
				for u := range 4 {
					used := map[uint8]bool{}
					for i := range uint16(1) << lmc {
						used[tab.LFT[u][d.LID+i]] = true
					}
					if want := 1 << lmc; u != int(d.Switch) && len(used) != want && e != EngineDFSSSP {
						t.Errorf("LMC %d, %s: switch %d uses %d ports to LID %d", lmc, e, u, len(used), d.LID)
					} else if u == int(d.Switch) && len(used) != 1 {
						t.Error("an end has one port")
					}
				}
			}
			load := portLoad(s, tab)
			for u := range 4 {
				for p := 5; p <= 8; p++ {
					if load[u][p] != 12<<lmc/4 {
						t.Errorf("LMC %d, %s: switch %d, port %d: %d LIDs", lmc, e, u, p, load[u][p])
					}
				}
			}
		}
	}
}

// TestLMCParallel: two links to each of two spines: four LIDs use all of them,
// two LIDs different spines.
func TestLMCParallel(t *testing.T) {
	for lmc := uint8(1); lmc < 3; lmc++ {
		x := newShape(lmc).sw(4, 8).ends(0, 1).ends(1, 1)
		for leaf := range 2 {
			x.join(leaf, 2, edr).join(leaf, 2, edr).join(leaf, 3, edr).join(leaf, 3, edr)
		}
		tab, _ := compute(t, EngineMinHop, x.Subnet, Options{})
		l := tab.LFT[0][x.Ends[1].LID:][:1<<lmc]
		want := [][]uint8{1: {2, 4}, 2: {2, 4, 3, 5}}[lmc]
		if !slices.Equal(l, want) {
			t.Errorf("LMC %d: ports %v, want %v", lmc, l, want)
		}
	}
}

// TestWidths: a port with twice the rate has twice the LIDs.
func TestWidths(t *testing.T) {
	x := newShape(0).sw(2, 40).ends(0, 1).ends(1, 24)
	x.join(0, 1, edr).join(0, 1, 2*edr).join(0, 1, edr)
	for _, e := range engines {
		if e == EngineFatTree {
			continue // both switches have ends
		}
		tab, _ := compute(t, e, x.Subnet, Options{})
		n := portLoad(x.Subnet, tab)[0]
		if n[2] != 6 || n[3] != 12 || n[4] != 6 {
			t.Errorf("%s: LIDs per port %v", e, n[2:5])
		}
	}
	y := newShape(0).sw(4, 40).ends(0, 12).ends(1, 12).join(0, 2, 2*edr).join(0, 3, edr).join(1, 2, 2*edr).join(1, 3, edr)
	tab, _ := compute(t, EngineFatTree, y.Subnet, Options{})
	n := portLoad(y.Subnet, tab)[0]
	if n[13] != 8 || n[14] != 4 {
		t.Errorf("ftree: LIDs per port %v", n[13:15])
	}
}

func TestLinkRate(t *testing.T) {
	for _, c := range []struct {
		width, speed, ext uint8
		want              uint32
	}{{1, 1, 0, 2000}, {2, 1, 0, 8000}, {2, 4, 0, 32000}, {8, 2, 0, 48000}, {2, 4, 1, 54545}, {2, 4, 2, 100_000},
		{16, 4, 4, 100_000}, {4, 4, 8, 800_000}, {3, 1, 0, 0}, {2, 3, 0, 0}, {2, 4, 3, 0}, {0, 1, 0, 0}} {
		if got := LinkRate(c.width, c.speed, c.ext); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestBadLIDs(t *testing.T) {
	for name, f := range map[string]func(s *Subnet){
		"twice":     func(s *Subnet) { s.Ends[0].LID = s.Ends[1].LID },
		"of both":   func(s *Subnet) { s.Ends[0].LID = s.Switches[1].LID },
		"unaligned": func(s *Subnet) { s.Ends[0].LID, s.Ends[0].LMC = 0x401, 1 },
		"high":      func(s *Subnet) { s.Ends[0].LID = 0xc000 },
		"wraps":     func(s *Subnet) { s.Ends[0].LID, s.Ends[0].LMC = 0xff80, 7 },
	} {
		s := twoLevels(2, 2, 2, 0)
		f(s)
		for _, e := range engines {
			if _, err := Compute(e, s, Options{}); !errors.Is(err, ErrLIDs) {
				t.Errorf("%s, %s: %v", name, e, err)
			}
		}
	}
	s := twoLevels(2, 2, 2, 0)
	s.Ends[0].LID, s.Switches[2].LID = 0, 0 // not managed yet
	s.Ends[1].LID = maxLID
	for _, e := range engines {
		tab, r := compute(t, e, s, Options{})
		if !r.OK() || tab.TopLID != maxLID || len(tab.LFT[0]) != 0xc000 {
			t.Errorf("%s: %+v, %x", e, r, tab.TopLID)
		}
	}
	if _, err := Compute("lash", s, Options{}); !errors.Is(err, ErrEngine) {
		t.Error(err)
	}
	if tab, err := Compute(EngineMinHop, &Subnet{}, Options{}); err != nil || len(tab.LFT) != 0 {
		t.Error(err)
	}
}

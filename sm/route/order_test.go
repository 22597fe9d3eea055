package route

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// shuffled is the same subnet built in another order, and where its switches
// are now.
func shuffled(r *rand.Rand, s *Subnet) (*Subnet, []int) {
	x, at := &Subnet{}, make([]int, len(s.Switches))
	for _, u := range r.Perm(len(s.Switches)) {
		w := s.Switches[u]
		at[u] = x.AddSwitch(w.GUID, w.LID, w.LMC, int(w.Ports))
	}
	for _, i := range r.Perm(len(s.Ends)) {
		e := s.Ends[i]
		x.JoinEnd(x.AddEnd(e.GUID, e.LID, e.LMC), at[e.Switch], int(e.Port), s.Link(int(e.Switch), int(e.Port)).Rate)
	}
	for _, u := range r.Perm(len(s.Switches)) {
		for p := 1; p <= int(s.Switches[u].Ports); p++ {
			if l := s.Link(u, p); l.Switch >= 0 {
				x.JoinSwitches(at[u], p, at[l.Switch], int(l.Port), l.Rate)
			}
		}
	}
	return x, at
}

func TestOrderOfBuildDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 40 {
		s := random(r, uint8(i%3))
		switch i {
		case 0:
			s = golden(t)
		case 1:
			s = threeLevels(4, 0)
		case 2:
			s = torus(5, 6, 2)
		case 3:
			s = ring(7, 2, 1)
		}
		x, at := shuffled(r, s)
		for _, e := range engines {
			a, err := Compute(e, s, Options{Pairs: PortPairs})
			b, err2 := Compute(e, x, Options{Pairs: PortPairs})
			if (err == nil) != (err2 == nil) {
				t.Fatal(err, err2)
			}
			if err != nil {
				continue
			}
			if a.VLs != b.VLs || !slices.Equal(a.Warnings, b.Warnings) {
				t.Errorf("%s: %d levels and %d; %v and %v", e, a.VLs, b.VLs, a.Warnings, b.Warnings)
			}
			for u := range s.Switches {
				if !slices.Equal(a.LFT[u], b.LFT[at[u]]) {
					t.Fatalf("%s, %v: tables of switch %d differ", e, s, u)
				}
				for lid := range uint16(len(a.LFT[u])) {
					if a.SL(u, lid) != b.SL(at[u], lid) {
						t.Fatalf("%s, %v: levels of switch %d differ", e, s, u)
					}
				}
			}
		}
		group := func(s *Subnet) Tree {
			g := Group{MLID: 0xc000}
			for i, e := range s.Ends {
				if e.LID%3 != 0 {
					g.Members = append(g.Members, Member{End: int32(i)})
				}
			}
			l, err := Multicast(s, []Group{g})
			if err != nil {
				t.Fatal(err)
			}
			return l[0]
		}
		a, b := group(s), group(x)
		for _, p := range a.Ports {
			k := slices.IndexFunc(b.Ports, func(q SwitchPorts) bool { return q.Switch == at[p.Switch] })
			if k < 0 || b.Ports[k].Mask != p.Mask {
				t.Fatalf("%v: trees differ at switch %d", s, p.Switch)
			}
		}
		if a.Root >= 0 && at[a.Root] != b.Root || len(a.Ports) != len(b.Ports) {
			t.Fatalf("roots %d and %d", a.Root, b.Root)
		}
	}
}

func TestPath(t *testing.T) {
	s := twoLevels(3, 2, 2, 0)
	tab, _ := compute(t, EngineMinHop, s, Options{})
	var l []Channel
	add := func(c Channel) { l = append(l, c) }
	if lid := s.Ends[0].LID; !tab.Path(s, 1, lid, add) || !slices.Equal(l, []Channel{{1, 3}, {3, 1}}) {
		t.Errorf("%v", l)
	}
	l = nil
	if !tab.Path(s, 2, s.Switches[4].LID, add) || !slices.Equal(l, []Channel{{2, 4}}) || !tab.Path(s, 0, s.Ends[1].LID, add) || len(l) != 1 {
		t.Errorf("%v", l)
	}
	tab.LFT[0][s.Ends[0].LID] = 2
	if tab.Path(s, 1, s.Ends[0].LID, add) || tab.Path(s, 0, 1000, add) || tab.Path(s, 0, 0, add) {
		t.Error("a path that leads nowhere arrives")
	}
}

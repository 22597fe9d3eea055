package route

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// flood sends a packet of a group from a member and counts what every end and
// every port 0 gets; it fails if a switch sees the packet twice.
func flood(t *testing.T, s *Subnet, tree *Tree, from Member) map[Member]int {
	t.Helper()
	mask := map[int]PortMask{}
	for _, p := range tree.Ports {
		mask[p.Switch] = p.Mask
	}
	got, seen := map[Member]int{}, map[int]bool{}
	type hop struct{ sw, port int }
	q := []hop{{int(from.Switch), 0}}
	if from.End >= 0 {
		q[0] = hop{int(s.Ends[from.End].Switch), int(s.Ends[from.End].Port)}
	}
	for len(q) > 0 {
		x := q[0]
		q = q[1:]
		if seen[x.sw] {
			t.Fatalf("group %x: switch %d sees a packet twice", tree.MLID, x.sw)
		}
		seen[x.sw] = true
		m := mask[x.sw]
		for p := range 256 {
			if !m.Has(p) || p == x.port {
				continue
			}
			if p == 0 {
				got[Member{None, int32(x.sw)}]++
				continue
			}
			switch l := s.Link(x.sw, p); {
			case l.End >= 0:
				got[Member{End: l.End}]++
			case l.Switch >= 0:
				q = append(q, hop{int(l.Switch), int(l.Port)})
			default:
				t.Fatalf("group %x: switch %d sends to nothing", tree.MLID, x.sw)
			}
		}
	}
	return got
}

// delivered checks that a packet from any member or sender reaches the other
// members once and nobody else.
func delivered(t *testing.T, s *Subnet, g Group, tree *Tree) {
	t.Helper()
	for _, from := range append(slices.Clone(g.Members), g.Senders...) {
		if slices.Contains(tree.Lost, from) {
			continue
		}
		got := flood(t, s, tree, from)
		for _, m := range g.Members {
			want := 1
			if m == from || slices.Contains(tree.Lost, m) {
				want = 0
			}
			if got[m] != want {
				t.Fatalf("group %x: from %v to %v: %d packets", g.MLID, from, m, got[m])
			}
			delete(got, m)
		}
		if len(got) > 0 {
			t.Fatalf("group %x: strangers get %v", g.MLID, got)
		}
	}
}

func TestMulticastRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		s := random(r, 0)
		var groups []Group
		for i := range 5 {
			g := Group{MLID: 0xc000 + uint16(i)}
			for e := range s.Ends {
				switch r.IntN(4) {
				case 0:
					g.Members = append(g.Members, Member{End: int32(e)})
				case 1:
					g.Senders = append(g.Senders, Member{End: int32(e)})
				}
			}
			if r.IntN(2) == 0 {
				g.Members = append(g.Members, Member{None, int32(r.IntN(len(s.Switches)))})
			}
			groups = append(groups, g)
		}
		trees, err := Multicast(s, groups)
		if err != nil {
			t.Fatal(err)
		}
		for i := range trees {
			if len(trees[i].Lost) > 0 {
				t.Fatalf("%v", trees[i].Lost)
			}
			delivered(t, s, groups[i], &trees[i])
			links := 0 // a tree has one link less than switches
			for _, p := range trees[i].Ports {
				for port := 1; port < 255; port++ {
					if p.Mask.Has(port) && s.Link(p.Switch, port).Switch >= 0 {
						links++
					}
				}
			}
			if n := len(trees[i].Ports); n > 0 && links != 2*(n-1) {
				t.Fatalf("%d switches and %d half links", n, links)
			}
		}
	}
}

func TestMulticastTree(t *testing.T) {
	s := twoLevels(4, 2, 3, 0) // switches: leaves 0-3, spines 4 and 5; ends 3 a leaf
	at := func(l ...int32) (m []Member) {
		for _, e := range l {
			m = append(m, Member{End: e})
		}
		return m
	}
	for _, c := range []struct {
		members, senders []Member
		root             int
		switches         []int
	}{
		{at(0, 1), nil, 0, []int{0}},
		{at(0), nil, 0, []int{0}},
		{at(0, 1, 3), nil, 0, []int{0, 1, 4}},
		{at(0, 3, 6, 9), nil, 4, []int{0, 1, 2, 3, 4}},
		{at(0), at(11), 0, []int{0, 3, 4}},
		{nil, nil, None, nil},
		{[]Member{{None, 5}}, nil, 5, []int{5}},
	} {
		g := Group{0xc001, c.members, c.senders}
		l, err := Multicast(s, []Group{g})
		if err != nil {
			t.Fatal(err)
		}
		var on []int
		for _, p := range l[0].Ports {
			on = append(on, p.Switch)
		}
		if l[0].Root != c.root || !slices.Equal(on, c.switches) {
			t.Errorf("%v: root %d, switches %v", c, l[0].Root, on)
		}
		delivered(t, s, g, &l[0])
	}
	s.Cut(3, 4)
	s.Cut(3, 5)
	g := Group{0xc001, at(0, 1, 9), at(10)}
	if l, _ := Multicast(s, []Group{g}); !slices.Equal(l[0].Lost, at(9, 10)) || l[0].Root != 0 {
		t.Errorf("%+v", l[0])
	}
	for _, g := range []Group{{MLID: 1}, {MLID: 0xffff}, {MLID: 0xc000, Members: at(12)}, {MLID: 0xc000, Senders: []Member{{None, 6}}}} {
		if _, err := Multicast(s, []Group{g}); err == nil {
			t.Errorf("%+v is valid", g)
		}
	}
	if _, err := Multicast(s, []Group{{MLID: 1}}); !errors.Is(err, ErrLIDs) {
		t.Error(err)
	}
}

func TestPortMask(t *testing.T) {
	var m PortMask
	for _, p := range []int{0, 15, 16, 63, 64, 200, 254} {
		m.Set(p)
		if !m.Has(p) || m.Position(p/16)>>(p%16)&1 != 1 {
			t.Error(p)
		}
	}
	if m.Position(0) != 0x8001 || m.Position(15) != 1<<14 || m.Has(1) || m.Position(5) != 0 {
		t.Errorf("%x", m)
	}
}

package route

import (
	"testing"

	"cnuas/internal/topology"
)

// fromSpec gives the InfiniBand devices of a topology LIDs in their order.
func fromSpec(t *testing.T, spec *topology.Spec) *Subnet {
	t.Helper()
	s, lid := &Subnet{}, uint16(1)
	ends := map[[2]int]int{}
	for _, w := range spec.Switches {
		s.AddSwitch(uint64(w.IB.GUID), lid, 0, w.IB.NumPorts)
		lid++
	}
	for i, n := range spec.Nodes {
		for k, p := range n.IBPorts {
			ends[[2]int{i, k}] = s.AddEnd(uint64(p.GUID), lid, 0)
			lid++
		}
	}
	for _, l := range spec.Links {
		a, b := l.A, l.B
		if a.Switch < 0 {
			a, b = b, a
		}
		port := func(e topology.End) int { return spec.Switches[e.Switch].Ports[e.Port].Number }
		rate := uint32(l.Rate / 1e6)
		if b.Switch >= 0 && s.JoinSwitches(a.Switch, port(a), b.Switch, port(b), rate) ||
			b.Switch < 0 && s.JoinEnd(ends[[2]int{b.Node, b.Port}], a.Switch, port(a), rate) {
			continue
		}
		t.Fatalf("cannot join %s and %s", l.A.Name, l.B.Name)
	}
	return s
}

func TestSpec(t *testing.T) {
	for _, text := range []string{
		"[generate]\ntype='ib-fat-tree'\nk=8",
		"[generate]\ntype='ib-fat-tree'\nspines=3\nleaves=4\nhosts_per_leaf=6\nlinks_per_pair=2\nfabric_link={width=8}",
	} {
		spec, problems := topology.Parse("f.toml", []byte(text))
		if spec == nil {
			t.Fatal(problems)
		}
		s := fromSpec(t, spec)
		for _, e := range engines {
			tab, r := compute(t, e, s, Options{})
			if !r.OK() || r.Longer > 0 || tab.VLs != 1 || len(tab.Warnings) > 0 {
				t.Errorf("%s: %+v %v", e, r, tab.Warnings)
			}
			if _, l, _ := CreditLoop(s, tab, EndPairs); l != nil {
				t.Errorf("%s: %v", e, l)
			}
		}
	}
}

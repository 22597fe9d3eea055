package rack

import (
	"testing"

	"cnuas/internal/topology"

	"github.com/google/go-cmp/cmp"
)

func TestShares(t *testing.T) {
	shelves := []topology.RackShelf{{Feeds: []int{0, 1}}, {}, {Feeds: []int{1, 2}}}
	for _, c := range []struct {
		up   []bool
		want []float64
	}{
		{[]bool{true, true, true}, []float64{300, 0, 600}},
		{[]bool{true, true, false}, []float64{500, 0, 400}}, // node 2 has no other shelf
		{[]bool{false, false, true}, []float64{100, 0, 800}},
		{[]bool{false, false, false}, []float64{300, 0, 600}},
	} {
		got := shares(shelves, func(i int) bool { return c.up[i] }, []float64{100, 400, 400})
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("up %v: %s", c.up, d)
		}
	}
}

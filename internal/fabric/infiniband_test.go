package fabric

import (
	"strings"
	"testing"

	"cnuas/internal/topology"
)

// Fabrics with InfiniBand are refused until their devices exist.
func TestInfiniBandIsRefused(t *testing.T) {
	for _, name := range []string{"ib-two-hosts", "ib-fat-tree", "hybrid"} {
		s, err := topology.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Build(s, Options{}); err == nil || !strings.Contains(err.Error(), "InfiniBand switches are not built yet") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package conformance

import (
	"fmt"
	"testing"

	"cnuas/modbus/orv3"
)

// TestPlan: the reads are those that a public bus master makes of these maps
// when it has learnt which registers there are.
func TestPlan(t *testing.T) {
	for kind, want := range map[string]string{
		"hpr-psu":     "[[0 58] [60 40] [101 3] [105 18] [124 2]]",
		"hpr-bbu":     "[[0 32] [48 2] [52 29] [90 13] [104 18] [123 1] [133 38] [179 54] [234 5] [256 7] [288 4] [293 4] [298 4] [304 5] [310 4]]",
		"hpr-pmm-psu": "[[0 60] [76 15] [92 16] [112 13]]",
		"hpr-pmm-bbu": "[[0 60] [76 15] [92 16] [112 13]]",
	} {
		k, ok := orv3.KindOf(kind)
		if !ok {
			t.Fatalf("no kind %s", kind)
		}
		if got := fmt.Sprint(merged(k.Map)); got != want {
			t.Errorf("%s: %s\nwant %s", kind, got, want)
		}
	}
}

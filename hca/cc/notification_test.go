package cc

import (
	"testing"

	"cnuas/internal/sim"
)

func TestNotificationPoint(t *testing.T) {
	var n NotificationPoint
	for _, r := range []struct {
		at   sim.Time
		want bool
	}{{0, true}, {1, false}, {49_999, false}, {50_000, true}, {99_999, false}, {500_000, true}, {500_001, false}} {
		if got := n.Marked(r.at*sim.Nanosecond, 50*sim.Microsecond); got != r.want {
			t.Errorf("mark at %d ns: CNP %v, want %v", r.at, got, r.want)
		}
	}
}

package daemon

import (
	"strings"
	"testing"
	"time"

	"cnuas/internal/realtime"
	"cnuas/internal/sim"
	"cnuas/internal/status"
)

func span(events, late uint64, slip, engine sim.Time, cpu time.Duration) realtime.Stats {
	return realtime.Stats{Wall: time.Second, CPU: cpu, Events: events, Late: late, Slip: slip, Engine: engine}
}

func TestVerdict(t *testing.T) {
	const sec = sim.Second
	clean := span(1e6, 1e4, 0, sec, 600*time.Millisecond)
	for _, c := range []struct {
		name   string
		spans  []realtime.Stats
		ring   status.Ring
		broken []string
		want   []string // parts of reasons; none: faithful
	}{
		{"idle", nil, status.Ring{}, nil, nil},
		{"clean", []realtime.Stats{clean}, status.Ring{}, nil, nil},
		{"a little slip", []realtime.Stats{span(1e6, 0, sec/100, sec, time.Second)}, status.Ring{}, nil, nil},
		{"overload", []realtime.Stats{span(1e6, 0, sec/2, sec/2, time.Second)}, status.Ring{}, nil, []string{"slipped 50.0%", "a scale of 2.4 or more"}},
		{"no processor", []realtime.Stats{span(1e6, 0, sec/2, sec/2, 200*time.Millisecond)}, status.Ring{}, nil, []string{"slipped 50.0%", "other programs"}},
		{"an idle hour hides nothing", append(make([]realtime.Stats, 3600), span(1e6, 0, sec/2, sec/2, time.Second)), status.Ring{}, nil, []string{"slipped 50.0%"}},
		{"slip while idle does not count", []realtime.Stats{span(5, 0, sec/2, sec/2, 0), clean}, status.Ring{}, nil, nil},
		{"late", []realtime.Stats{span(1e6, 6e5, 0, sec, time.Second)}, status.Ring{}, nil, []string{"60.0% of the events were handled late"}},
		{"ring", []realtime.Stats{clean}, status.Ring{TxDropped: 3}, nil, []string{"3 frames of h1's kernel were lost"}},
		{"not taken", []realtime.Stats{clean}, status.Ring{RxDropped: 2}, nil, []string{"2 frames for h1's kernel"}},
		{"conservation", []realtime.Stats{clean}, status.Ring{}, []string{"switch s1: 5 came in"}, []string{"switch s1: 5 came in"}},
	} {
		var a activity
		for _, s := range c.spans {
			a.add(s)
		}
		s := &status.Fabric{Scale: 1, Nodes: []status.Node{{Name: "h1", Interfaces: []status.Interface{{Ring: c.ring}}}}}
		judge(s, a, c.broken)
		if s.Verdict.Faithful != (len(c.want) == 0) {
			t.Errorf("%s: %s", c.name, s.Verdict)
		}
		for _, w := range c.want {
			if !strings.Contains(s.Verdict.String(), w) {
				t.Errorf("%s: %q lacks %q", c.name, s.Verdict, w)
			}
		}
	}
}

// A second that was lost altogether must not give an infinite or negative
// scale.
func TestFaithfulScale(t *testing.T) {
	for _, c := range []struct{ scale, share, want float64 }{{1, 0, 1.2}, {1, 0.5, 2.4}, {2, 0.75, 9.6}, {1, 1, 120}, {1, 1.2, 120}} {
		if got := faithfulScale(c.scale, c.share); got < c.want*0.999 || got > c.want*1.001 {
			t.Errorf("scale %g, %g lost: %g, want %g", c.scale, c.share, got, c.want)
		}
	}
}

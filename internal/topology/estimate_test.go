package topology

import (
	"fmt"
	"strings"
	"testing"
)

func TestLoadEstimate(t *testing.T) {
	rate := func(r string, mtu int) string {
		return pair(fmt.Sprintf("[defaults]\nlink.rate = %q\nnode.mtu = %d", r, mtu))
	}
	for _, c := range []struct {
		name, text      string
		pair            int64
		scale, allScale int
		faithful        bool
	}{
		{"10 Gb/s", rate("10Gbps", 4200), 10e9, 1, 1, true},
		{"25 Gb/s", rate("25Gbps", 4200), 25e9, 1, 2, true},
		{"40 Gb/s", rate("40Gbps", 4200), 40e9, 2, 4, false},
		{"100 Gb/s", rate("100Gbps", 4200), 100e9, 4, 8, false},
		{"100 Gb/s, jumbo frames", rate("100Gbps", 9000), 100e9, 4, 8, false},
		{"400 Gb/s", rate("400Gbps", 4200), 400e9, 16, 32, false},
		{"10 Gb/s, packets of 1024", rate("10Gbps", 1500), 10e9, 1, 2, true},
		{"25 Gb/s, packets of 1024", rate("25Gbps", 1500), 25e9, 3, 5, false},
		{"one fast host alone", "[[link]]\na = 'h1'\nb = 's1'\nrate = '100Gbps'\n" + pair(""), 10e9, 1, 5, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustParse(t, c.text).Load()
			if l.PairRate != c.pair || l.Scale != c.scale || l.AllScale != c.allScale {
				t.Errorf("%+v, want pair %d, scales %d and %d", l, c.pair, c.scale, c.allScale)
			}
			if faithful := !strings.Contains(l.String(), "NOT FAITHFUL"); faithful != c.faithful || !c.faithful && !strings.Contains(l.String(), fmt.Sprintf("--scale %d", c.scale)) {
				t.Errorf("it says %q", l)
			}
		})
	}
}

// What is shipped runs in real time, except what is meant not to.
func TestShippedScale(t *testing.T) {
	for _, name := range Shipped() {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if l := s.Load(); (l.Scale > 1) != strings.HasSuffix(name, "-100g") {
			t.Errorf("%s: %v", name, l)
		}
	}
}

func TestFrameHops(t *testing.T) {
	// 8 hosts of 10 Gb/s, frames of 4242 bytes with gap, two devices each.
	s := mustParse(t, "[generate]\ntype = 'star'\nhosts = 8")
	if got, want := s.Load().FrameHops, 8*2*10e9/8/4242; got < want*0.999 || got > want*1.001 {
		t.Errorf("star: %g, want %g", got, want)
	}
	// Edge, aggregation, core, aggregation, edge, host.
	s = mustParse(t, "[generate]\ntype = 'fat-tree'\nk = 4")
	if got, want := s.Load().FrameHops, 16*6*10e9/8/4242; got < want*0.999 || got > want*1.001 {
		t.Errorf("fat-tree: %g, want %g", got, want)
	}
}

package daemon

import (
	"testing"

	"cnuas/internal/fabric"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
)

func TestPower(t *testing.T) {
	p := &topology.NodePower{Idle: 400, Peak: 1000}
	for _, c := range []struct {
		tx, rx uint64
		rate   int64
		want   float64
	}{
		{0, 0, 10e9, 400},
		{125e6, 0, 10e9, 1000},     // 0.1 s at line rate
		{0, 62_500_000, 10e9, 700}, // half of it, the other way
		{125e6, 125e6, 10e9, 1000}, // both ways
		{125e6, 0, 20e9, 700},      // one of two ports
		{999e6, 0, 10e9, 1000},     // a burst that the sample cut late
		{125e6, 0, 0, 400},         // no port has a link
	} {
		before := fabric.Traffic{TxBytes: 7, RxBytes: 9}
		now := fabric.Traffic{TxBytes: 7 + c.tx, RxBytes: 9 + c.rx, Rate: c.rate}
		if w := power(p, now, before, 100*sim.Millisecond); w != c.want {
			t.Errorf("tx %d rx %d at %d b/s: %g W, want %g", c.tx, c.rx, c.rate, w, c.want)
		}
	}
}

func TestLoads(t *testing.T) {
	s := &topology.Spec{Nodes: []topology.Node{{Power: &topology.NodePower{Idle: 100, Peak: 200}}, {Power: &topology.NodePower{Idle: 10, Peak: 10}}}}
	l := newLoads(s)
	check := func(when string, want ...float64) {
		t.Helper()
		for i, w := range l.watts() {
			if w != want[i] {
				t.Errorf("%s: node %d draws %g W, want %g", when, i, w, want[i])
			}
		}
	}
	check("before the first sample", 100, 10)
	l.sample(s, sim.Second, []fabric.Traffic{{TxBytes: 1e9, Rate: 8e9}, {Rate: 8e9}})
	check("at line rate", 200, 10)
	l.setCompute(1, 500)
	check("computing", 200, 510)
	l.sample(s, sim.Second, []fabric.Traffic{{TxBytes: 2e9, Rate: 8e9}, {Rate: 8e9}})
	check("when no time has passed", 200, 510)
	l.sample(s, 2*sim.Second, []fabric.Traffic{{TxBytes: 1e9, Rate: 8e9}, {Rate: 8e9}})
	check("idle again", 100, 510)
}

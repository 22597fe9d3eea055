package sm_test

import (
	"fmt"
	"testing"

	"cnuas/internal/sim"
	"cnuas/sm"
	"cnuas/sm/route"
	"cnuas/sm/smtest"
)

// flapping pulls and plugs cables at random while the subnet is swept, and
// plugs them all in the end. It returns what the fabric is then.
func flapping(t *testing.T, seed uint64, loss float64, engine route.Engine) string {
	t.Helper()
	f := smtest.FatTree(sim.NewEngine(seed), 4, smtest.EDR())
	f.Loss = loss
	rng := f.Eng.NewProc().NewRand(seed)
	m := f.Manage(f.Node("h1").Ports[1], sm.Config{Engine: engine, Timeout: 5 * sim.Millisecond, Sweep: sim.Second})
	m.Start()
	type cable struct{ a, b *smtest.Port }
	var out []cable
	own := f.Node("h1").Ports[1]
	for range 120 {
		f.Run(sim.Time(rng.IntN(400)) * sim.Microsecond)
		n := f.Nodes[rng.IntN(len(f.Nodes))]
		p := n.Ports[1+rng.IntN(len(n.Ports)-1)]
		if p.Peer != nil && p != own && p.Peer != own && len(out) < 6 {
			out = append(out, cable{p, f.Pull(p)})
		} else if len(out) > 0 {
			k := rng.IntN(len(out))
			f.Plug(out[k].a, out[k].b)
			out = append(out[:k], out[k+1:]...)
		}
	}
	for _, c := range out {
		f.Plug(c.a, c.b)
	}
	f.Loss = 0
	f.Run(10 * sim.Second)
	if s := m.Status(); s.Stats.Nodes != 36 || s.Stats.SweepErrors != 0 || s.Sweeping != "idle" {
		t.Errorf("seed %d: %d nodes, %s, %v", seed, s.Stats.Nodes, s.Sweeping, s.Errors)
	}
	if v := m.Subnet().Verify(); !v.OK() {
		t.Errorf("seed %d: %v", seed, v.Lines())
	}
	reach(t, f)
	return f.State() + fmt.Sprint(m.Status())
}

// TestFlapping: cables come and go at any moment of sweeps, without and with
// SMPs lost. Two runs with one seed are the same to the byte.
func TestFlapping(t *testing.T) {
	for seed := range uint64(12) {
		engine := []route.Engine{route.EngineMinHop, route.EngineUpDown, route.EngineFatTree, route.EngineDFSSSP}[seed%4]
		a := flapping(t, seed, float64(seed%3)*0.05, engine)
		if b := flapping(t, seed, float64(seed%3)*0.05, engine); a != b {
			t.Errorf("seed %d: two runs differ", seed)
		}
	}
}

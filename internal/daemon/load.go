package daemon

import (
	"context"
	"sync"
	"time"

	"cnuas/internal/fabric"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
)

// loadPeriod is how often the nodes' traffic is looked at: a client that polls a
// power supply twice a second sees a burst of half a second.
const loadPeriod = 100 * time.Millisecond

// loads are the watts that the nodes draw: what they need when idle, what their
// traffic costs on top, and what a workload computes.
//
// A goroutine of its own samples the fabric, so that the rack's clock never
// waits for the fabric's.
type loads struct {
	mu      sync.Mutex
	traffic []float64 // watts of idling and of traffic, by node
	compute []float64 // watts of computing, on top

	last []fabric.Traffic
	at   sim.Time
}

func newLoads(s *topology.Spec) *loads {
	l := &loads{traffic: make([]float64, len(s.Nodes)), compute: make([]float64, len(s.Nodes)), last: make([]fabric.Traffic, len(s.Nodes))}
	for i := range s.Nodes {
		l.traffic[i] = s.Nodes[i].Power.Idle
	}
	return l
}

// watts are what the nodes draw now, in the order of the Spec.
func (l *loads) watts() []float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := make([]float64, len(l.traffic))
	for i := range w {
		w[i] = l.traffic[i] + l.compute[i]
	}
	return w
}

// now is the same, and how much of it is computing.
func (l *loads) now() (watts, compute []float64) {
	watts = l.watts()
	l.mu.Lock()
	defer l.mu.Unlock()
	return watts, append([]float64(nil), l.compute...)
}

// setCompute sets what a node draws for computing, beside what its traffic
// costs.
func (l *loads) setCompute(node int, watts float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compute[node] = watts
}

// sample takes what the ports have carried up to a moment of simulated time.
func (l *loads) sample(s *topology.Spec, now sim.Time, t []fabric.Traffic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	span := now - l.at
	if span <= 0 {
		return // the engine stands still: it is behind, or has nothing to do
	}
	for i := range t {
		l.traffic[i] = power(s.Nodes[i].Power, t[i], l.last[i], span)
	}
	copy(l.last, t)
	l.at = now
}

// power grows from idle to peak with the share of the line rate that the busier
// direction carried.
func power(p *topology.NodePower, now, before fabric.Traffic, span sim.Time) float64 {
	bytes := max(now.TxBytes-before.TxBytes, now.RxBytes-before.RxBytes)
	share := 0.0
	if now.Rate > 0 {
		share = min(1, float64(bytes)*8/(float64(now.Rate)*span.Seconds()))
	}
	return p.Idle + share*(p.Peak-p.Idle)
}

// watchLoad samples until ctx ends.
func (d *Daemon) watchLoad(ctx context.Context) {
	t := time.NewTicker(loadPeriod)
	defer t.Stop()
	traffic := make([]fabric.Traffic, len(d.spec().Nodes))
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		var now sim.Time
		d.loop.Do(func() {
			now = d.fab.Engine.Now()
			for i := range traffic {
				traffic[i] = d.fab.Traffic(i)
			}
		})
		d.loads.sample(d.spec(), now, traffic)
	}
}

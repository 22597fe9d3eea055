package rack

import (
	"context"
	"time"
)

// period of housekeeping: a client that reads a power supply twice a second
// sees a load that is a fifth of that old at most.
const period = 100 * time.Millisecond

// housekeep does what no event asks for, until the context ends. The loads are
// asked for outside of the engine's thread: the one who knows them may be slow.
func (r *Rack) housekeep(ctx context.Context) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		var watts []float64
		if r.opt.Nodes != nil {
			watts = r.opt.Nodes()
		}
		r.Do(func() {
			if r.stopped() {
				return
			}
			r.load(watts)
			for _, s := range r.segs {
				s.tty.tick()
				s.sock.tick()
			}
		})
	}
}

// stopped tells whether terminals and sockets are closed.
func (r *Rack) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// shares are the watts that each shelf gives, by its index: a node that is fed
// by several shelves draws the same from each.
func (r *Rack) shares(nodes []float64) []float64 {
	feeds := make([]int, len(nodes))
	for _, s := range r.spec.Shelves {
		for _, n := range s.Feeds {
			if n < len(nodes) {
				feeds[n]++
			}
		}
	}
	w := make([]float64, len(r.spec.Shelves))
	for i, s := range r.spec.Shelves {
		for _, n := range s.Feeds {
			if n < len(nodes) {
				w[i] += nodes[n] / float64(feeds[n])
			}
		}
	}
	return w
}

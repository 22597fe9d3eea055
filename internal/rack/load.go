package rack

import (
	"context"
	"time"

	"cnuas/internal/topology"
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
// by several shelves draws the same from each whose busbar is up. Where none is,
// from all: that is what meets the first that comes back.
func shares(shelves []topology.RackShelf, powered func(shelf int) bool, nodes []float64) []float64 {
	feeds, live := make([]int, len(nodes)), make([]int, len(nodes))
	on := make([]bool, len(shelves))
	for i, s := range shelves {
		on[i] = len(s.Feeds) > 0 && powered(i)
		for _, n := range s.Feeds {
			if n >= len(nodes) {
				continue
			}
			if feeds[n]++; on[i] {
				live[n]++
			}
		}
	}
	w := make([]float64, len(shelves))
	for i, s := range shelves {
		for _, n := range s.Feeds {
			switch {
			case n >= len(nodes):
			case live[n] == 0:
				w[i] += nodes[n] / float64(feeds[n])
			case on[i]:
				w[i] += nodes[n] / float64(live[n])
			}
		}
	}
	return w
}

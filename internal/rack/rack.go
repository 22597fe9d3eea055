package rack

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"cnuas/internal/realtime"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/modbus/bus"
	"cnuas/modbus/orv3"
	"cnuas/modbus/pty"
)

// Options of a rack.
type Options struct {
	// Dir is an existing directory that gets a link to the terminal of each
	// segment, by the segment's name, and its socket, NAME.sock. Below the
	// directory of the fabric's journal, both are removed with it.
	Dir string
	// Log takes what happens while the rack runs; nil: nobody does.
	Log func(format string, a ...any)
	// Seed of all random draws: two racks with one seed differ by their clients
	// only.
	Seed uint64
	// Nodes returns the watts that each node of the Spec draws now, in their
	// order. It is called ten times a second, not on the engine's thread; it
	// may block. nil: no node draws anything.
	Nodes func() []float64
}

// Rack is a running rack. Methods without a word about it may be called from
// any thread.
type Rack struct {
	opt  Options
	spec *topology.Rack
	eng  *sim.Engine
	loop *realtime.Loop
	hub  *pty.Hub
	segs []*segment

	plant   *orv3.Plant
	modules map[string]*module // by name, "shelf1/psu3"

	mu     sync.Mutex
	began  bool
	ended  chan struct{} // Run has returned
	closed bool
}

// New builds the segments and all that is on them; nothing runs before Run.
// Close it in any case.
func New(s *topology.Rack, o Options) (*Rack, error) {
	r, err := newRack(s, o)
	if err != nil {
		return nil, err
	}
	if err := r.populate(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// newRack builds the segments without slaves.
func newRack(s *topology.Rack, o Options) (*Rack, error) {
	r := &Rack{opt: o, spec: s, eng: sim.NewEngine(o.Seed), ended: make(chan struct{}), modules: map[string]*module{}}
	var err error
	if r.loop, err = realtime.New(r.eng, realtime.Config{}); err != nil {
		return nil, fmt.Errorf("rack: %w", err)
	}
	if r.hub, err = pty.NewHub(); err != nil {
		return nil, errors.Join(fmt.Errorf("rack: %w", err), r.Close())
	}
	if err := r.loop.AddFD(r.hub.FD(), clients{r}); err != nil {
		return nil, errors.Join(fmt.Errorf("rack: %w", err), r.Close())
	}
	for _, x := range s.Segments {
		if err := r.addSegment(x, r.hub); err != nil {
			return nil, errors.Join(fmt.Errorf("rack: %w", err), r.Close())
		}
	}
	return r, nil
}

// clients is the rack as the one who is told of terminals opened and closed.
type clients struct{ r *Rack }

// Readable implements realtime.Poller.
func (c clients) Readable() { c.r.hub.Drain() }

// Run runs the rack until the context ends or Close. It returns nil then.
func (r *Rack) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	if r.began {
		r.mu.Unlock()
		return errors.New("rack: it runs already, or has run")
	}
	r.began = true
	r.mu.Unlock()
	defer close(r.ended)

	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, r.loop.Stop)
	defer stop()
	var w sync.WaitGroup
	w.Go(func() { r.housekeep(ctx) })
	err := r.loop.Run()
	cancel()
	w.Wait()
	if err != nil && !errors.Is(err, realtime.ErrClosed) { // stopped before it had begun
		return fmt.Errorf("rack: %w", err)
	}
	return nil
}

// Do runs f on the calling thread with the engine held, which segments, plant
// and engine may only be used with. f must not block.
func (r *Rack) Do(f func()) { r.loop.Do(f) }

// Loop drives the engine; others may have it watch their descriptors, in Do.
func (r *Rack) Loop() *realtime.Loop { return r.loop }

// Engine of the rack, not that of the fabric.
func (r *Rack) Engine() *sim.Engine { return r.eng }

func (r *Rack) segment(name string) *segment {
	for _, s := range r.segs {
		if s.spec.Name == name {
			return s
		}
	}
	return nil
}

// Segment returns a segment by name, nil if there is none. Use it in Do.
func (r *Rack) Segment(name string) *bus.Segment {
	if s := r.segment(name); s != nil {
		return s.bus
	}
	return nil
}

// TTY is the path of the segment's terminal, "/dev/pts/N"; "" if there is no
// such segment.
func (r *Rack) TTY(segment string) string {
	if s := r.segment(segment); s != nil {
		return s.tty.p.Path()
	}
	return ""
}

// Link is the path of the link to the segment's terminal, which has the same
// name whenever the rack is up.
func (r *Rack) Link(segment string) string {
	if s := r.segment(segment); s != nil {
		return s.link
	}
	return ""
}

// Socket is the path of the segment's stream socket: the bytes on the wire, at
// the segment's line.
func (r *Rack) Socket(segment string) string {
	if s := r.segment(segment); s != nil {
		return s.sock.path
	}
	return ""
}

// Clients are the programs on a segment: the terminal first, then the
// connections of the socket.
func (r *Rack) Clients(segment string) (l []Client) {
	if s := r.segment(segment); s != nil {
		r.Do(func() { l = s.clients() })
	}
	return l
}

// Close stops Run, waits for it, and removes terminals, links and sockets.
func (r *Rack) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	began := r.began
	r.mu.Unlock()
	var errs []error
	// Before the loop's own descriptors are gone.
	r.Do(func() {
		for _, s := range r.segs {
			errs = append(errs, s.close())
		}
		if r.hub != nil {
			r.loop.RemoveFD(r.hub.FD())
			errs = append(errs, r.hub.Close())
		}
	})
	r.loop.Stop()
	if began {
		<-r.ended
	}
	return errors.Join(errs...)
}

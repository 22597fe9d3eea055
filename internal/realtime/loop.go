package realtime

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cnuas/internal/sim"
)

// Loop drives one engine. Methods other than Do, Stop, Stats, Since and Mark
// are for the time before Run or for callers that hold the engine: event
// handlers, Pollers, and functions in Do.
type Loop struct {
	eng *sim.Engine
	cfg Config

	mu      sync.Mutex    // the engine is held
	arrived atomic.Uint64 // calls of Do that asked for the engine
	entered atomic.Uint64 // calls of Do that got it
	turning atomic.Bool   // the loop waits for the engine

	work    Work
	wqes    WQECounter
	commit  func()
	flush   []func()
	fds     fdSet
	poll    *poller
	tid     atomic.Int32  // of the thread in Run, 0 outside
	cpu0    time.Duration // what that thread had used before
	began   bool
	stop    atomic.Bool
	closed  bool
	t0      time.Time
	clock   clock
	asleep  bool     // in epoll, or about to be
	until   sim.Time // asleep until this time
	st      counters
	mark    counters
	markMax sim.Time
	evs     []event
}

// ErrClosed is returned by Run on a loop that ran before.
var ErrClosed = errors.New("realtime: the loop has ended")

// New returns a loop that drives e. It holds descriptors until Run returns or,
// if Run is never called, until Stop.
func New(e *sim.Engine, cfg Config) (*Loop, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p, err := newPoller()
	if err != nil {
		return nil, fmt.Errorf("realtime: %w", err)
	}
	l := &Loop{eng: e, cfg: cfg, poll: p, until: sim.Forever, commit: func() {}}
	l.clock = clock{scale: cfg.Scale, lim: cfg.Limits}
	return l, nil
}

// SetWork sets the doorbells and rings to look after. Before Run.
func (l *Loop) SetWork(w Work) error {
	l.work = w
	l.wqes, _ = w.(WQECounter)
	if fd := w.FD(); fd >= 0 {
		return l.AddFD(fd, drainer{w})
	}
	return nil
}

type drainer struct{ w Work }

func (d drainer) Readable() { d.w.Drain() }

// SetCommit sets what makes the effects of a turn visible to programs. It is
// called after the events of each turn and after each function in Do; it must
// cost next to nothing when there are no effects.
func (l *Loop) SetCommit(f func()) { l.commit = f }

// AddFlusher adds what is called at the end of each turn and of each Do, after
// the commit: writes to TAPs.
func (l *Loop) AddFlusher(f func()) { l.flush = append(l.flush, f) }

// Scale is wall time per simulated time.
func (l *Loop) Scale() float64 { return l.cfg.Scale }

// Stop makes Run return, and forbids it if it has not been called.
func (l *Loop) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop.Store(true)
	if l.began {
		l.wake()
		return
	}
	l.close()
}

func (l *Loop) close() {
	if !l.closed {
		l.closed = true
		l.poll.close()
	}
}

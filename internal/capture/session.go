package capture

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Config of a Session. The zero value captures everything.
type Config struct {
	Filter    *Filter   // nil: every frame; its language knows none of InfiniBand's
	SnapLen   int       // bytes kept of a frame; 0: all
	RingBytes int       // memory between engine and writer; 0: DefaultRingBytes
	Base      time.Time // wall time of simulated time 0, for the stamps
}

// DefaultRingBytes holds about 16 ms of a 2 GB/s flow.
const DefaultRingBytes = 32 << 20

// minFrame is the least length of a frame without FCS (IEEE 802.3 clause 4.4.2).
const minFrame = 60

// Session is one capture of any number of ports.
type Session struct {
	cfg      Config
	ring     ring
	scratch  []byte // where the engine's thread materialises a frame
	sleeping atomic.Bool
	wake     chan struct{}

	mu   sync.Mutex
	taps []*Tap
}

// NewSession returns a session without ports.
func NewSession(c Config) *Session {
	if c.RingBytes <= 0 {
		c.RingBytes = DefaultRingBytes
	}
	s := &Session{cfg: c, scratch: make([]byte, 0, 16<<10), wake: make(chan struct{}, 1)}
	s.ring.init(c.RingBytes)
	return s
}

// Tap returns an observer for one more Ethernet port, to be given to
// link.Port.AddObserver. name is what the port is called in the capture.
func (s *Session) Tap(name string) *Tap { return s.TapLink(name, Ethernet) }

// TapLink is Tap for a port of either kind. One session may have both.
func (s *Session) TapLink(name string, l LinkType) *Tap {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Tap{s: s, index: uint16(len(s.taps)), name: name, link: l}
	s.taps = append(s.taps, t)
	return t
}

// Lost is the number of frames for which the ring had no room.
func (s *Session) Lost() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n uint64
	for _, t := range s.taps {
		n += t.lost.Load()
	}
	return n
}

// Run writes the stream to w until ctx ends, then what is left in the ring and
// the statistics. Remove the taps from their ports before ctx is ended, else
// the last frames may be missing. It returns an error only if w does.
func (s *Session) Run(ctx context.Context, w io.Writer) error {
	if _, err := w.Write(appendHeader(nil, Header{Base: s.cfg.Base, SnapLen: s.cfg.SnapLen, Filter: s.cfg.Filter.String()})); err != nil {
		return fmt.Errorf("capture: write stream: %w", err)
	}
	announced := 0
	// Polled, not signalled per frame: waking a thread costs the engine more
	// than the frame does. Only an idle writer waits to be woken.
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for {
		ended := ctx.Err() != nil
		some, err := s.drain(w, &announced)
		if err != nil {
			return fmt.Errorf("capture: write stream: %w", err)
		}
		switch {
		case ended:
			return s.finish(w, announced)
		case some:
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
		default:
			s.sleep(ctx)
		}
	}
}

// sleep waits until the ring is not empty or ctx ends.
func (s *Session) sleep(ctx context.Context) {
	s.sleeping.Store(true)
	if _, some := s.ring.pending(); !some {
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
	}
	s.sleeping.Store(false)
}

// drain writes what the ring holds. Ports are announced after the ring's end
// was read, so that every port is known before its first frame.
func (s *Session) drain(w io.Writer, announced *int) (some bool, err error) {
	until, some := s.ring.pending()
	var msg []byte
	s.mu.Lock()
	for ; *announced < len(s.taps); *announced++ {
		msg = appendPort(msg, uint16(*announced), s.taps[*announced].name, s.taps[*announced].link)
	}
	s.mu.Unlock()
	a, b := s.ring.peek(until)
	for _, part := range [][]byte{msg, a, b} {
		if len(part) == 0 {
			continue
		}
		if _, err := w.Write(part); err != nil {
			return some, err
		}
	}
	s.ring.free(until)
	return some, nil
}

// finish writes the statistics of the ports that the reader knows, and the end.
func (s *Session) finish(w io.Writer, announced int) error {
	var msg []byte
	s.mu.Lock()
	for i, t := range s.taps[:announced] {
		msg = appendStats(msg, Stats{Port: i, Received: t.received.Load(), Lost: t.lost.Load()})
	}
	s.mu.Unlock()
	if _, err := w.Write(appendEnd(msg)); err != nil {
		return fmt.Errorf("capture: write stream: %w", err)
	}
	return nil
}

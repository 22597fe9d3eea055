package link

import (
	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// Pause is the receiving side of priority-based flow control at one port
// (IEEE 802.1Q clause 36.2): which priorities the peer has stopped, and until
// when. The device that owns the port asks Paused before it hands out a frame.
type Pause struct {
	port  *Port
	until [8]sim.Time
	timer sim.Timer
	mask  uint8 // priorities that are stopped now

	Ignore bool // a station that does not obey; frames are counted all the same

	Received   uint64      // PFC frames
	RxPriority [8]uint64   // PFC frames that stopped the priority
	Stopped    [8]sim.Time // total time the priority was stopped, closed intervals
	since      [8]sim.Time
}

// Init binds the state to its port.
func (s *Pause) Init(p *Port) {
	s.port = p
	s.timer.Init(p.Proc(), s, 0, 0)
}

// Port is the port whose transmissions the state governs.
func (s *Pause) Port() *Port { return s.port }

// Paused is the set of priorities that must not be sent now, bit n for n.
func (s *Pause) Paused() uint8 { return s.mask }

// StoppedFor returns the total time for which the priority has been stopped.
func (s *Pause) StoppedFor(prio int, now sim.Time) sim.Time {
	t := s.Stopped[prio]
	if s.mask&(1<<prio) != 0 {
		t += now - s.since[prio]
	}
	return t
}

// Apply obeys f if it is a PFC frame and reports whether it was one. The
// caller keeps the frame. A transmission that has begun is not interrupted.
func (s *Pause) Apply(f *frame.Frame) bool {
	var p wire.PFC
	if !p.Decode(f.Data) {
		return false
	}
	s.Received++
	now := s.port.Proc().Now()
	for i := range 8 {
		if p.Enable&(1<<i) == 0 {
			continue
		}
		if p.Time[i] != 0 {
			s.RxPriority[i]++
		}
		if s.Ignore {
			continue
		}
		s.set(i, now, now+s.port.Rate().BitTime(int64(p.Time[i])*wire.QuantumBits))
	}
	s.rearm(now)
	return true
}

// Clear resumes every priority, as a port does whose link went down.
func (s *Pause) Clear() {
	now := s.port.Proc().Now()
	for i := range 8 {
		s.set(i, now, now)
	}
	s.rearm(now)
}

func (s *Pause) set(i int, now, until sim.Time) {
	s.until[i] = until
	bit := uint8(1) << i
	switch {
	case until > now && s.mask&bit == 0:
		s.mask |= bit
		s.since[i] = now
	case until <= now && s.mask&bit != 0:
		s.mask &^= bit
		s.Stopped[i] += now - s.since[i]
	}
}

func (s *Pause) rearm(now sim.Time) {
	next := sim.Forever
	for i := range 8 {
		if s.mask&(1<<i) != 0 && s.until[i] < next {
			next = s.until[i]
		}
	}
	if next == sim.Forever {
		s.timer.Stop()
	} else {
		s.timer.Reset(next)
	}
	s.port.Kick()
}

// HandleEvent implements sim.Handler: a pause has run out.
func (s *Pause) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	for i := range 8 {
		if s.mask&(1<<i) != 0 && s.until[i] <= now {
			s.set(i, now, s.until[i])
		}
	}
	s.rearm(now)
}

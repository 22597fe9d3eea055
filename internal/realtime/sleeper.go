package realtime

import (
	"time"

	"cnuas/internal/sim"
)

// sleeper decides when the loop sleeps and for how long.
type sleeper struct {
	l      *Loop
	slept  bool          // the present turn follows a sleep
	woke   time.Duration // when the last sleep ended
	idle   time.Duration // since when turns find nothing; valid if idling
	idling bool
	wqes0  uint64 // work requests taken before the last sleep
	armed  bool
}

// decide is called at the end of a turn that began at wall. If the loop is to
// sleep it returns for how long, negative for ever, and the loop counts as
// asleep from now on: a Do that comes before epoll does still wakes it.
func (s *sleeper) decide(wall time.Duration, busy bool) (time.Duration, bool) {
	l := s.l
	if s.slept {
		s.slept, s.woke = false, wall
	}
	if busy {
		s.idling = false
		if s.armed && wall-s.woke > lazyDisarm {
			s.armed = false
			l.work.Disarm()
		}
		return 0, false
	}
	if !s.idling {
		s.idling, s.idle = true, wall
	}
	if wall-s.idle < l.cfg.Spin && l.taken()-s.wqes0 >= uint64(l.cfg.BurstWQEs) {
		return 0, false
	}
	next, ok := l.eng.Next()
	d := time.Duration(-1)
	if ok {
		// The turn took time; what remains is counted from now.
		if d = l.clock.wallOf(next) - time.Since(l.t0); d < near {
			return 0, false
		}
	}
	if l.work != nil {
		s.armed = true
		if l.work.Arm() {
			s.idling = false
			return 0, false
		}
	}
	if l.stop.Load() {
		return 0, false
	}
	l.asleep, l.until = true, sim.Forever
	if ok {
		l.until = next
	}
	l.st.sleeps++
	s.wqes0, s.slept, s.idling = l.taken(), true, false
	return d, true
}

// taken is how many work requests came from programs so far.
func (l *Loop) taken() uint64 {
	if l.wqes != nil {
		return l.wqes.WQEs()
	}
	return l.st.sweeps
}

package nic

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// storm is a sick NIC: one that sends pause frames although it could receive,
// as NICs with a failed receive pipeline do.
type storm struct {
	nic    *NIC
	timer  sim.Timer
	mask   uint8
	quanta uint16   // pause time in each frame
	period sim.Time // between frames
	duty   float64

	end   sim.Timer
	until sim.Time // sim.Forever: until it is ended
}

// stormPeriod is how often a storm that is not continuous pauses the peer. It
// is stretched at low rates, where it would be few quanta, and shortened at
// high ones, where it would be more than a frame can say.
const (
	stormPeriod    = 100 * sim.Microsecond
	minStormQuanta = 1000 // a duty cycle is then kept to 0.1 %
	maxQuanta      = 0xffff
)

func (s *storm) init(n *NIC) {
	s.nic = n
	s.timer.Init(n.port.Proc(), s, stormFrame, 0)
	s.end.Init(n.port.Proc(), s, stormEnd, 0)
}

// Kinds of events.
const (
	stormFrame = iota // the next pause frame is due
	stormEnd          // the storm has lasted for as long as it should
)

// Storm makes the NIC stop the peer's priorities in prios (bit n for n) for the
// share duty of the time, above 0 and up to 1; duty 1 never lets them send. 0
// for either ends the storm and resumes them at once, as its end does after d;
// d 0 or less: it has none. First pause and resume leave d apart, except that
// each waits for a frame that is on the wire, the resume for the pause too.
func (n *NIC) Storm(prios uint8, duty float64, d sim.Time) {
	s := &n.storm
	if duty <= 0 || duty != duty {
		prios = 0
	}
	if stop := s.mask &^ prios; stop != 0 {
		s.send(stop, 0)
	}
	s.mask, s.duty = prios, min(duty, 1)
	s.timer.Stop()
	s.end.Stop()
	if prios == 0 {
		return
	}
	s.until = sim.Forever
	if now := n.port.Proc().Now(); d > 0 && d < sim.Forever-now {
		s.until = now + d
		s.end.Reset(s.until)
	}
	s.start()
}

// Storming returns the priorities that a storm stops now, 0 for none, the share
// of the time, and when it ends by itself, sim.Forever for never.
func (n *NIC) Storming() (prios uint8, duty float64, until sim.Time) {
	return n.storm.mask, n.storm.duty, n.storm.until
}

func (s *storm) start() {
	rate := s.nic.port.Rate()
	if rate == 0 || !s.nic.port.Up() {
		return // linkChanged begins it
	}
	quantum := func(n int64) sim.Time { return rate.BitTime(n * wire.QuantumBits) }
	if s.duty == 1 {
		// Refreshed at half time, so that a frame that waits on the wire
		// behind another does not let the peer through.
		s.quanta, s.period = maxQuanta, quantum(maxQuanta)/2
	} else {
		s.period = max(min(stormPeriod, quantum(maxQuanta)), quantum(minStormQuanta))
		q := float64(s.period) * s.duty / (float64(quantum(1000)) / 1000)
		s.quanta = uint16(min(max(q+0.5, 1), maxQuanta))
	}
	s.HandleEvent(s.nic.port.Proc().Now(), stormFrame, 0)
}

// HandleEvent implements sim.Handler.
func (s *storm) HandleEvent(now sim.Time, kind uint32, _ uint64) {
	if kind == stormEnd {
		s.nic.Storm(0, 0, 0)
		return
	}
	s.send(s.mask, s.quanta)
	s.timer.Reset(now + s.period)
}

func (s *storm) linkChanged(up bool) {
	s.timer.Stop()
	if up && s.mask != 0 {
		s.start()
	}
}

func (s *storm) send(prios uint8, quanta uint16) {
	n := s.nic
	if !n.port.Up() {
		return
	}
	p := wire.PFC{Enable: prios}
	for i := range p.Time {
		if prios&(1<<i) != 0 {
			p.Time[i] = quanta
			if quanta != 0 {
				n.count.PauseSent[i]++
			}
		}
	}
	f := n.pool.Get()
	p.Encode(f.Head(wire.PFCLen), n.cfg.MAC)
	f.WireLen()
	n.count.TxPFC++
	n.port.SendControl(f)
}

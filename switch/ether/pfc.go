package ether

import (
	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	switching "cnuas/switch"
)

// Read IEEE 802.1Q-2018 clause 36 (priority-based flow control) before editing.
//
// Xoff asks for PauseQuanta; while a priority stays stopped that is repeated
// when half of the time has passed, so that the sender does not begin again
// when the repetition has to wait for a frame on the wire. Xon is a time of 0.

// control ends a MAC control frame: it obeys it if it is PFC.
func (s *Switch) control(p *port, f *frame.Frame) {
	before := p.pause.RxPriority
	if !p.pause.Apply(f) {
		s.reject(p, f, 0, switching.DropControl)
		return
	}
	p.count.PFCRecv++
	for c := range before {
		p.count.PauseRecv[c] += p.pause.RxPriority[c] - before[c]
	}
	s.pool.Put(f)
}

// Stop implements switching.FlowControl: what arrived at a port went above its
// threshold.
func (s *Switch) Stop(i, prio int) {
	p := s.ports[i]
	p.stopping |= 1 << prio
	s.sendPFC(p, 1<<prio, s.cfg.PauseQuanta)
	if !p.refresh.Armed() {
		p.refresh.Reset(s.eng.Now() + s.refreshAfter(p))
	}
}

// Resume implements switching.FlowControl. It is called while a port takes a
// frame out; if that is the very port whose sender may go on, the PFC frame
// must wait until the port has begun to send, hence the event.
func (s *Switch) Resume(i, prio int) {
	s.proc.At(s.eng.Now(), s, opResume, uint64(i)<<8|uint64(prio))
}

// resumeLate sends Xon, unless the priority was stopped again meanwhile.
func (s *Switch) resumeLate(p *port, prio int) {
	bit := uint8(1) << prio
	if p.stopping&bit == 0 || s.buffer.Stopped(p.index)&bit != 0 {
		return
	}
	p.stopping &^= bit
	if p.stopping == 0 {
		p.refresh.Stop()
	}
	s.sendPFC(p, bit, 0)
}

func (s *Switch) refreshAfter(p *port) sim.Time {
	return p.link.Rate().BitTime(int64(s.cfg.PauseQuanta)*wire.QuantumBits) / 2
}

func (s *Switch) refreshPFC(p *port, now sim.Time) {
	if p.stopping == 0 {
		return
	}
	s.sendPFC(p, p.stopping, s.cfg.PauseQuanta)
	p.refresh.Reset(now + s.refreshAfter(p))
}

// sendPFC tells the peer of p to stop the priorities in mask, or to go on.
func (s *Switch) sendPFC(p *port, mask uint8, quanta uint16) {
	if !p.link.Up() {
		return
	}
	h := wire.PFC{Enable: mask}
	for c := range h.Time {
		if mask&(1<<c) != 0 {
			h.Time[c] = quanta
			if quanta != 0 {
				p.count.PauseSent[c]++
			}
		}
	}
	p.count.PFCSent++
	f := s.pool.Get()
	h.Encode(f.Head(wire.PFCLen), PortMAC(s.cfg.MAC, p.index))
	f.WireLen()
	p.link.SendControl(f)
}

// Stopping is the set of priorities that port i has told its peer to stop.
func (s *Switch) Stopping(i int) uint8 { return s.ports[i].stopping }

// Paused is the set of priorities that the peer of port i has stopped.
func (s *Switch) Paused(i int) uint8 { return s.ports[i].pause.Paused() }

var _ interface {
	Receive(int, *frame.Frame)
	Dequeue(int) *frame.Frame
} = (*Switch)(nil)

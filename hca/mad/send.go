package mads

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// send is a message under way: a request that waits for its response, or an
// RMPP message whose segments are being sent.
type send struct {
	num   int
	a     *Agent // nil: not in use
	class mad.Class
	tid   uint64
	msg   Message // Data is a copy
	tries int
	timer sim.Timer
	rmpp  *mad.RMPPSender // nil: a single MAD, or all segments have arrived
}

// Acknowledgements of RMPP segments are waited for as long as for a response
// but not longer than ackTime, and at least ackTries times.
const (
	ackTime  = 2 * sim.Second
	ackTries = 3
)

// Send sends a copy of m. With a Timeout, or if it is an RMPP message, the
// handler is told how it ended: by ReceiveMAD with the response or by SendDone.
// What is lost on the way without either is not reported.
//
// Errors: ErrInvalid, ErrClosed, ErrDuplicate, ErrNoMemory, and those of
// hca.Device.SendMAD.
func (a *Agent) Send(m *Message) error {
	t := a.t
	if a.closed {
		return ErrClosed
	}
	p := m.Packet()
	if len(m.Data) < mad.PacketLen && !a.segments(m.Data) || len(m.Data) < mad.HeaderLen {
		return ErrInvalid
	}
	c := p.Class()
	if c.Subn() != (a.reg.QP == 0) || m.Timeout < 0 || m.Retries < 0 || m.Retries > 1024 {
		return ErrInvalid
	}
	tid := p.TID()
	if !m.KeepTID && !isResponse(p) && c != mad.ClassComm {
		tid = uint64(a.id)<<32 | tid&0xffffffff
	}
	long := a.segments(m.Data)
	if !long && m.Timeout == 0 {
		b := t.out[:copy(t.out[:], m.Data[:mad.PacketLen])]
		mad.Packet(b).SetTID(tid)
		return t.put(a.reg.QP, &m.Addr, b)
	}
	if len(m.Data) > MaxMessage {
		return ErrInvalid
	}
	if a.pending[tid] != nil {
		return ErrDuplicate
	}
	if t.inFlight >= MaxSends || len(a.pending) >= MaxAgentSends {
		t.Count.Overload++
		return ErrNoMemory
	}
	s := t.newSend(a, m, tid)
	if long {
		return t.start(s)
	}
	if err := t.put(a.reg.QP, &s.msg.Addr, s.msg.Data); err != nil {
		t.release(s)
		return err
	}
	s.timer.Reset(t.proc.Now() + m.Timeout)
	return nil
}

// segments tells whether the layer cuts data into segments.
func (a *Agent) segments(data []byte) bool {
	if !a.reg.RMPP || len(data) < mad.HeaderLen+12 {
		return false
	}
	c := mad.Packet(data).Class()
	return c.HasRMPP() && mad.RMPP(data).Active() && mad.RMPP(data).Type() == mad.RMPPData && len(data) >= headLen(c)
}

// headLen is where the data of an RMPP class begins.
func headLen(c mad.Class) int {
	switch {
	case c == mad.ClassSubnAdm:
		return 56
	case c.HasOUI():
		return 40
	}
	return 36
}

func (t *Table) newSend(a *Agent, m *Message, tid uint64) *send {
	var s *send
	if n := len(t.free); n > 0 {
		s = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		s = &send{num: len(t.sends)}
		s.timer.Init(t.proc, t, opSend, uint64(s.num))
		t.sends = append(t.sends, s)
	}
	s.a, s.class, s.tid, s.tries, s.rmpp = a, m.Packet().Class(), tid, 0, nil
	data := append(s.msg.Data[:0], m.Data...)
	s.msg = *m
	s.msg.Data = data
	if !a.segments(m.Data) {
		s.msg.Data = data[:mad.PacketLen]
	}
	mad.Packet(s.msg.Data).SetTID(tid)
	a.pending[tid] = s
	t.inFlight++
	return s
}

// keepBytes is how large a buffer is kept for the next send.
const keepBytes = 4096

// release forgets a send. Its buffer may be used again at once.
func (t *Table) release(s *send) {
	t.detach(s)
	t.recycle(s)
}

func (t *Table) detach(s *send) {
	s.timer.Stop()
	delete(s.a.pending, s.tid)
	s.a, s.rmpp = nil, nil
	t.inFlight--
}

func (t *Table) recycle(s *send) {
	if cap(s.msg.Data) > keepBytes {
		s.msg.Data = nil
	}
	t.free = append(t.free, s)
}

// expire is called when nothing came in time.
func (t *Table) expire(now sim.Time, s *send) {
	switch {
	case s.a == nil:
	case s.rmpp != nil:
		t.expireRMPP(now, s)
	case s.tries < s.msg.Retries && !s.a.segments(s.msg.Data):
		s.tries++
		t.Count.Retries++
		// A port that cannot send now may at the next time.
		_ = t.put(s.a.reg.QP, &s.msg.Addr, s.msg.Data)
		s.timer.Reset(now + s.msg.Timeout)
	default:
		t.Count.Timeouts++
		t.fail(s, ErrTimeout)
	}
}

// fail ends a send and tells its handler; err may be nil.
func (t *Table) fail(s *send, err error) {
	a, m := s.a, s.msg
	t.detach(s) // the handler may send the same once more
	a.h.SendDone(a, &m, err)
	t.recycle(s)
}

// Cancel drops the agent's sends with the cookie, and tells how many they were.
// Nothing is reported of them.
func (a *Agent) Cancel(cookie uint64) (n int) {
	for _, s := range a.t.sends {
		if s.a == a && s.msg.Cookie == cookie {
			a.t.release(s)
			n++
		}
	}
	return n
}

func (t *Table) dropSends(a *Agent) {
	for _, s := range t.sends {
		if s.a == a {
			t.release(s)
		}
	}
}

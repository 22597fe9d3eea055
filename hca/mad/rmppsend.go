package mads

import (
	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// start begins to send an RMPP message.
func (t *Table) start(s *send) error {
	wait := s.msg.Timeout
	if wait == 0 || wait > ackTime {
		wait = ackTime
	}
	h := headLen(s.class)
	s.rmpp = mad.NewRMPPSender(mad.RMPPSegments{Header: h - 36, Data: mad.PacketLen - h, Total: len(s.msg.Data) - h}, int64(wait), max(s.msg.Retries, ackTries))
	if err := t.pump(s); err != nil {
		t.release(s)
		return err
	}
	return nil
}

// pump sends what the window has room for. A segment that cannot be sent now
// is repeated like one that was lost; the error is of the first.
func (t *Table) pump(s *send) (first error) {
	now := int64(t.proc.Now())
	for {
		n, ok := s.rmpp.Next(now)
		if !ok {
			break
		}
		if err := t.put(s.a.reg.QP, &s.msg.Addr, t.segment(s, n)); err != nil && n == 1 {
			first = err
		}
	}
	if at, ok := s.rmpp.Deadline(); ok {
		s.timer.Reset(sim.Time(at))
	}
	return first
}

// segment makes the MAD of segment n.
func (t *Table) segment(s *send, n int) []byte {
	b, h := t.out[:], headLen(s.class)
	clear(b)
	copy(b, s.msg.Data[:h])
	from, to := s.rmpp.Segments.Range(n)
	copy(b[h:], s.msg.Data[h+from:h+to])
	f := s.rmpp.Segments.Fields(n)
	f.Encode(b)
	return b
}

// expireRMPP is called when no acknowledgement came in time.
func (t *Table) expireRMPP(now sim.Time, s *send) {
	if st := s.rmpp.Expire(int64(now)); st != mad.RMPPOK {
		t.Count.Timeouts++
		t.control(s.a, &s.msg.Addr, s.msg.Packet(), mad.RMPPFields{Type: mad.RMPPAbort, Flags: mad.RMPPActive, Status: st})
		t.fail(s, ErrTimeout)
		return
	}
	t.Count.Retries++
	_ = t.pump(s)
}

// answered takes an ACK, STOP or ABORT for a message that is being sent.
func (t *Table) answered(s *send, f mad.RMPPFields) {
	if st := s.rmpp.Receive(int64(t.proc.Now()), f); st != mad.RMPPOK {
		t.control(s.a, &s.msg.Addr, s.msg.Packet(), mad.RMPPFields{Type: mad.RMPPAbort, Flags: mad.RMPPActive, Status: st})
	}
	st, done := s.rmpp.Done()
	switch {
	case !done:
		_ = t.pump(s)
	case st != mad.RMPPOK || f.Type != mad.RMPPAck:
		t.Count.Aborted++
		t.fail(s, ErrAborted)
	case s.msg.Timeout > 0: // it has arrived: now the response
		s.rmpp = nil
		s.timer.Reset(t.proc.Now() + s.msg.Timeout)
	default:
		t.fail(s, nil)
	}
}

// control sends an RMPP packet without data: one like the MAD that the
// transfer began with, of the same direction.
func (t *Table) control(a *Agent, to *hca.MADAddress, like mad.Packet, f mad.RMPPFields) {
	b := t.out[:]
	clear(b)
	copy(b, like[:headLen(like.Class())])
	f.RespTime = mad.RMPPNoRespTime
	f.Encode(b)
	_ = t.put(a.reg.QP, to, b) // as good as lost on the way
}

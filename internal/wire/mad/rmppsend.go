package mad

// RMPPSegments says how a message is cut: every segment repeats Header bytes
// of the class's own header, which count as payload, and has Data bytes of the
// message (IBTA vol. 1 §13.6.2.1; 20 and 200 for subnet administration).
type RMPPSegments struct {
	Header, Data int
	Total        int // bytes of the message
}

// SASegments cuts the records of an answer of subnet administration.
func SASegments(total int) RMPPSegments { return RMPPSegments{20, SADataLen, total} }

// Count is the number of segments, at least one.
func (s RMPPSegments) Count() int { return max(1, (s.Total+s.Data-1)/s.Data) }

// Range is the part of the message that segment n has, from 1.
func (s RMPPSegments) Range(n int) (from, to int) {
	from = min((n-1)*s.Data, s.Total)
	return from, min(from+s.Data, s.Total)
}

// Fields are the RMPP header of segment n.
func (s RMPPSegments) Fields(n int) RMPPFields {
	f := RMPPFields{Type: RMPPData, Flags: RMPPActive, RespTime: RMPPNoRespTime, Data1: uint32(n)}
	last := s.Count()
	if n == 1 {
		f.Flags |= RMPPFirst
		f.Data2 = uint32(s.Total + last*s.Header)
	}
	if n == last {
		f.Flags |= RMPPLast
		from, to := s.Range(n)
		f.Data2 = uint32(to - from + s.Header)
	}
	return f
}

// RMPPSender is the sender of one message (IBTA vol. 1 §13.6.6.1). It has no
// clock and sends nothing: ask Next what to send until it says no, and give it
// the ACKs that come and the time when Deadline has passed. Times are in any
// unit.
type RMPPSender struct {
	Segments RMPPSegments
	Timeout  int64 // how long to wait for an ACK
	Retries  int   // how often to send again without one

	next, window, acked int
	sent                int // the highest segment that was ever sent
	tries               int
	waiting             bool
	back                bool // what follows acked was sent again for an ACK
	deadline            int64
	status              RMPPStatus
	ended               bool
}

// NewRMPPSender returns the sender of a message. The first window is one
// segment.
func NewRMPPSender(s RMPPSegments, timeout int64, retries int) *RMPPSender {
	return &RMPPSender{Segments: s, Timeout: timeout, Retries: retries, next: 1, window: 1}
}

// Next is the segment to send now, if the window has one.
func (s *RMPPSender) Next(now int64) (segment int, ok bool) {
	if s.ended || s.next > min(s.window, s.Segments.Count()) {
		return 0, false
	}
	s.sent = max(s.sent, s.next)
	s.next++
	s.waiting, s.deadline = true, now+s.Timeout
	return s.next - 1, true
}

// Receive takes a packet that came back. If abort is not RMPPOK an ABORT with
// that status is to be sent.
func (s *RMPPSender) Receive(now int64, f RMPPFields) (abort RMPPStatus) {
	if s.ended {
		return RMPPOK
	}
	switch f.Type {
	case RMPPAck:
	case RMPPStop, RMPPAbort:
		s.end(f.Status)
		return RMPPOK
	default:
		return RMPPOK // not for a sender
	}
	seg, win := int(f.Data1), int(f.Data2)
	switch {
	case seg > s.sent:
		return s.end(RMPPSegmentTooBig)
	case win < seg:
		return s.end(RMPPWindowTooSmall)
	case seg < s.acked: // old
		return RMPPOK
	}
	if seg > s.acked || win > s.window {
		s.tries, s.back = 0, false
		s.next, s.deadline = max(s.next, seg+1), now+s.Timeout
	} else if !s.back {
		// The same once more: what is behind has been lost. It is sent again once
		// for each position, else the ACKs of what is sent again would have it sent
		// again, and so on.
		s.back = true
		s.next, s.deadline = seg+1, now+s.Timeout
	}
	s.acked, s.window = seg, max(s.window, win)
	if seg == s.Segments.Count() {
		s.end(RMPPOK)
	}
	return RMPPOK
}

// Deadline is when to call Expire, if ok.
func (s *RMPPSender) Deadline() (t int64, ok bool) { return s.deadline, s.waiting && !s.ended }

// Expire goes back to the first segment that was not acknowledged, or gives up:
// then an ABORT with the status is to be sent.
func (s *RMPPSender) Expire(now int64) (abort RMPPStatus) {
	if t, ok := s.Deadline(); !ok || now < t {
		return RMPPOK
	}
	if s.tries >= s.Retries {
		return s.end(RMPPTooManyRetries)
	}
	s.tries++
	s.next, s.deadline = s.acked+1, now+s.Timeout
	return RMPPOK
}

// Done tells whether the transaction has ended, and with what.
func (s *RMPPSender) Done() (st RMPPStatus, done bool) { return s.status, s.ended }

func (s *RMPPSender) end(st RMPPStatus) RMPPStatus {
	s.ended, s.status = true, st
	return st
}

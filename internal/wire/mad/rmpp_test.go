package mad

import (
	"bytes"
	"testing"
)

func TestRMPPSegments(t *testing.T) {
	for _, tt := range []struct{ total, count, first, last int }{
		{0, 1, 20, 20}, {112, 1, 132, 132}, {200, 1, 220, 220}, {201, 2, 241, 21}, {400, 2, 440, 220}, {1344, 7, 1484, 164},
	} {
		s := SASegments(tt.total)
		n := s.Count()
		f, l := s.Fields(1), s.Fields(n)
		if n != tt.count || f.Flags&RMPPFirst == 0 || l.Flags&RMPPLast == 0 || int(f.Data2) != tt.first || int(l.Data2) != tt.last || f.Data1 != 1 || int(l.Data1) != n {
			t.Errorf("%d bytes: %d segments, first %+v, last %+v", tt.total, n, f, l)
		}
		at := 0
		for i := 1; i <= n; i++ {
			from, to := s.Range(i)
			if from != at {
				t.Errorf("%d bytes: segment %d from %d", tt.total, i, from)
			}
			at = to
		}
		if at != tt.total {
			t.Errorf("%d bytes: %d in segments", tt.total, at)
		}
	}
}

func TestRMPPHeader(t *testing.T) {
	p := make(RMPP, PacketLen)
	f := RMPPFields{Type: RMPPData, RespTime: RMPPNoRespTime, Flags: RMPPActive | RMPPFirst, Data1: 1, Data2: 1484}
	f.Encode(p)
	if want := []byte{1, 1, 0xfb, 0, 0, 0, 0, 1, 0, 0, 5, 0xcc}; !bytes.Equal(p[24:36], want) {
		t.Errorf("% x, want % x", p[24:36], want)
	}
	if p.Fields() != f || !p.Active() || p.Version() != RMPPVersion || p.NewWindowLast() != 1484 {
		t.Errorf("%+v", p.Fields())
	}
}

// transfer moves a message over a way that loses what drop says.
func transfer(t testing.TB, message []byte, window int, drop func() bool) (got []byte, st RMPPStatus, sent int) {
	t.Helper()
	seg := SASegments(len(message))
	s := NewRMPPSender(seg, 100, 5)
	r := NewRMPPReceiver(seg.Header, window, 0)
	now := int64(0)
	for range 100000 {
		if st, done := s.Done(); done {
			return r.Data(), st, sent
		}
		n, ok := s.Next(now)
		if !ok {
			d, waits := s.Deadline()
			if !waits {
				t.Fatal("neither sends nor waits")
			}
			now = d
			s.Expire(now)
			continue
		}
		sent++
		now++
		if drop() {
			continue
		}
		from, to := seg.Range(n)
		payload := make([]byte, seg.Data) // a MAD is always whole
		copy(payload, message[from:to])
		reply, _ := r.Receive(seg.Fields(n), payload)
		if reply.Type == RMPPAbort || reply.Type == RMPPStop {
			t.Fatalf("receiver: %+v", reply)
		}
		if reply.Type == RMPPAck && !drop() {
			if a := s.Receive(now, reply); a != RMPPOK {
				t.Fatalf("sender: abort %d on %+v", a, reply)
			}
		}
	}
	t.Fatal("no end")
	return nil, 0, 0
}

func TestRMPPTransfer(t *testing.T) {
	message := make([]byte, 12345)
	for i := range message {
		message[i] = byte(i * 31 >> 3)
	}
	never := func() bool { return false }
	for _, n := range []int{0, 1, 200, 201, 12345} {
		for _, window := range []int{1, 3, 64} {
			got, st, sent := transfer(t, message[:n], window, never)
			if st != RMPPOK || !bytes.Equal(got, message[:n]) || sent != SASegments(n).Count() {
				t.Errorf("%d bytes, window %d: status %d, %d bytes, %d packets", n, window, st, len(got), sent)
			}
		}
	}
	x := uint32(3)
	lossy := func() bool { x = x*1664525 + 1013904223; return x>>24 < 50 } // every fifth
	for _, window := range []int{1, 3, 16} {
		got, st, _ := transfer(t, message, window, lossy)
		if st != RMPPOK || !bytes.Equal(got, message) {
			t.Errorf("window %d with loss: status %d, %d bytes", window, st, len(got))
		}
	}
	if _, st, sent := transfer(t, message, 4, func() bool { return true }); st != RMPPTooManyRetries || sent != 6 {
		t.Errorf("nothing arrives: status %d after %d packets", st, sent)
	}
}

func TestRMPPSenderErrors(t *testing.T) {
	for _, tt := range []struct {
		f    RMPPFields
		st   RMPPStatus
		done bool
	}{
		{RMPPFields{Type: RMPPAck, Data1: 1, Data2: 5}, RMPPOK, false},
		{RMPPFields{Type: RMPPAck, Data1: 2, Data2: 5}, RMPPSegmentTooBig, true},
		{RMPPFields{Type: RMPPAck, Data1: 1, Data2: 0}, RMPPWindowTooSmall, true},
		{RMPPFields{Type: RMPPAbort, Status: RMPPUnspecified}, RMPPUnspecified, true},
		{RMPPFields{Type: RMPPStop, Status: RMPPNoResources}, RMPPNoResources, true},
		{RMPPFields{Type: RMPPData}, RMPPOK, false},
	} {
		s := NewRMPPSender(SASegments(1000), 10, 1)
		if n, ok := s.Next(0); n != 1 || !ok {
			t.Fatal("no first segment")
		}
		s.Receive(1, tt.f)
		if st, done := s.Done(); st != tt.st || done != tt.done {
			t.Errorf("%+v: status %d, done %v", tt.f, st, done)
		}
	}
}

func TestRMPPReceiverErrors(t *testing.T) {
	pay := make([]byte, 200)
	on := RMPPActive
	for _, tt := range []struct {
		f  RMPPFields
		st RMPPStatus
	}{
		{RMPPFields{Type: RMPPData, Flags: on, Data1: 1}, RMPPBadFirst},
		{RMPPFields{Type: RMPPData, Flags: on | RMPPFirst, Data1: 2}, RMPPBadFirst},
		{RMPPFields{Type: RMPPData, Flags: on, Data1: 2}, RMPPSegmentTooBig},
		{RMPPFields{Type: RMPPData, Flags: on | RMPPFirst | RMPPLast, Data1: 1, Data2: 221}, RMPPBadLastPayload},
		{RMPPFields{Type: RMPPData, Flags: on | RMPPFirst | RMPPLast, Data1: 1, Data2: 19}, RMPPBadLastPayload},
	} {
		r := NewRMPPReceiver(20, 4, 0)
		if got, done := r.Receive(tt.f, pay); got.Type != RMPPAbort || got.Status != tt.st || done {
			t.Errorf("%+v: %+v", tt.f, got)
		}
	}
	r := NewRMPPReceiver(20, 4, 150)
	if got, _ := r.Receive(RMPPFields{Type: RMPPData, Flags: on | RMPPFirst, Data1: 1}, pay); got.Type != RMPPStop || got.Status != RMPPNoResources {
		t.Errorf("too long: %+v", got)
	}
	r = NewRMPPReceiver(20, 4, 0)
	if got, done := r.Receive(RMPPFields{Type: RMPPAck, Flags: on}, pay); got.Type != 0 || done {
		t.Errorf("an ACK: %+v", got)
	}
}

// FuzzRMPP gives sender and receiver any packets: they keep to their limits.
func FuzzRMPP(f *testing.F) {
	f.Add(uint16(1000), []byte{1, 3, 1, 220, 1, 5, 2, 120, 2, 1, 1, 5, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, total uint16, script []byte) {
		s := NewRMPPSender(SASegments(int(total)), 10, 3)
		r := NewRMPPReceiver(20, 4, 4000)
		pay := make([]byte, SADataLen)
		now := int64(0)
		for ; len(script) >= 4; script = script[4:] {
			now += 5
			for range 100 {
				n, ok := s.Next(now)
				if !ok {
					break
				}
				if n < 1 || n > s.Segments.Count() {
					t.Fatalf("segment %d of %d", n, s.Segments.Count())
				}
			}
			x := RMPPFields{Type: RMPPType(script[0] & 7), Flags: RMPPFlags(script[1]&7) | 1, Data1: uint32(script[2]), Data2: uint32(script[3])}
			s.Receive(now, x)
			s.Expire(now)
			r.Receive(x, pay)
			if len(r.Data()) > 4000 {
				t.Fatal("longer than permitted")
			}
		}
	})
}

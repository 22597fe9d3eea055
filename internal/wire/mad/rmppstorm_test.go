package mad

import "testing"

// TestRMPPNoStorm: segments and ACKs get lost, come twice and late. However
// many there are, the sender does not send without measure: what one ACK makes
// it repeat does not bring ACKs that make it repeat more.
func TestRMPPNoStorm(t *testing.T) {
	rng := uint32(1)
	chance := func(percent uint32) bool {
		rng = rng*1664525 + 1013904223
		return rng>>8%100 < percent
	}
	for _, window := range []int{1, 8, 64} {
		for _, percent := range []uint32{0, 2, 10, 30} {
			data := make([]byte, 200*500-7)
			for i := range data {
				data[i] = byte(i * 7)
			}
			s, r := NewRMPPSender(SASegments(len(data)), 50, 20), NewRMPPReceiver(20, window, 0)
			type packet struct {
				at  int64
				f   RMPPFields
				pay []byte
			}
			var wire []packet
			now, sent, whole := int64(0), 0, false
			put := func(f RMPPFields, pay []byte) {
				if chance(percent) {
					return
				}
				p := packet{now + 1, f, pay}
				if chance(percent) {
					p.at += 3
				}
				wire = append(wire, p)
				if chance(percent) {
					wire = append(wire, p)
				}
			}
			for ; now < 100_000 && sent < 100_000; now++ {
				if _, done := s.Done(); done {
					break
				}
				for n, ok := s.Next(now); ok; n, ok = s.Next(now) {
					from, to := s.Segments.Range(n)
					pay := make([]byte, SADataLen)
					copy(pay, data[from:to])
					put(s.Segments.Fields(n), pay)
					sent++
				}
				due := wire
				wire = nil
				for _, p := range due {
					switch {
					case p.at > now:
						wire = append(wire, p)
					case p.f.Type == RMPPData:
						reply, done := r.Receive(p.f, p.pay)
						if whole = whole || done; reply.Type != 0 {
							put(reply, nil)
						}
					default:
						s.Receive(now, p.f)
					}
				}
				s.Expire(now)
			}
			st, done := s.Done()
			if !done || st != RMPPOK || !whole || string(r.Data()) != string(data) {
				t.Errorf("window %d, %d %%: %v, %v, %d of %d bytes", window, percent, st, done, len(r.Data()), len(data))
			}
			// Going back costs at most what is on its way, for each loss.
			if most := 500 + 500*int(percent)*(2+min(window, 16))/20; sent > most {
				t.Errorf("window %d, %d %%: %d segments sent for 500, at most %d are expected", window, percent, sent, most)
			}
			t.Logf("window %d, %d %%: %d segments in %d ticks", window, percent, sent, now)
		}
	}
}

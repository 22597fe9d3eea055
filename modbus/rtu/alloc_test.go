package rtu

import "testing"

func TestServeAllocates(t *testing.T) {
	m := newModel()
	s := NewSlave(0x90, m, AllOptions())
	buf := make([]byte, 0, MaxADU)
	for _, in := range []string{"90 03 00 00 00 7D", "90 04 00 00 00 0A", "90 06 00 01 00 02", "90 10 00 01 00 02 04 00 01 00 02",
		"90 14 07 06 00 04 00 01 00 10", "90 01 00 00 07 D0", "90 05 00 01 FF 00", "90 0F 00 00 00 0A 02 FF 03",
		"90 16 00 04 00 F2 00 25", "90 17 00 03 00 02 00 0E 00 01 02 00 FF", "90 08 00 00 A5 37", "90 0B", "90 0C", "90 11",
		"90 03 00 00 00 00", "91 03 00 00 00 01", "00 06 00 01 00 02", "00 10 00 01 00 02 04 00 01 00 02", "90 41"} {
		req := adu(in)
		if n := testing.AllocsPerRun(100, func() { s.Serve(0, req, buf) }); n != 0 {
			t.Errorf("%s: %v allocations", in, n)
		}
	}
}

func TestFramerAllocates(t *testing.T) {
	f := NewFramer(line, 0)
	c := chars(line, then(then(just([]byte{0}, adu("90 03 00 50 00 02")), 5*ms, adu("90 03 04 12 34 56 78")), 5*ms, hx("01 02 03 04 05 06 07 08 09")))
	n := 0
	handle := func(*Frame) { n++ }
	if a := testing.AllocsPerRun(100, func() {
		f.Reset()
		drive(f, c, false, handle)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if n < 101*3 {
		t.Errorf("%d frames", n)
	}
}

// One poll of one slave: request heard, served, reply heard.
func BenchmarkPoll(b *testing.B) {
	s := NewSlave(0x90, newModel(), Options{})
	f := NewFramer(line, 0)
	req, reply := AppendRead(nil, 0x90, 3, 0x50, 16), AppendCRC(append([]byte{0x90, 3, 32}, make([]byte, 32)...))
	c := chars(line, then(just(req), 5*ms, reply))
	r, a := c[:len(req)], c[len(req):]
	buf := make([]byte, 0, MaxADU)
	handle := func(fr *Frame) {
		if fr.Kind == Request {
			s.Serve(fr.End, fr.ADU, buf)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Feed(r[len(r)-1].At, r, handle)
		f.Feed(a[len(a)-1].At, a, handle)
	}
}

// What hostile input costs: frames that begin everywhere and end nowhere, a
// pause after each character.
func BenchmarkHostile(b *testing.B) {
	f := NewFramer(line, 50*ms)
	var in []burst
	for i := range held {
		in = append(in, burst{5 * ms, []byte{[4]byte{0x90, 0x10, 0x17, 0x40}[i%4]}, 0})
	}
	c := chars(line, in)
	b.ReportAllocs()
	for b.Loop() {
		f.Reset()
		drive(f, c, false, func(*Frame) {})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(c)), "ns/char")
}

package rtu

import (
	"fmt"
	"testing"

	"cnuas/internal/sim"
)

const ms = sim.Millisecond

// req and rep are what a frame shows as.
func req(s string) string { return "request " + hex(adu(s)) }
func rep(s string) string { return "reply " + hex(adu(s)) }

func noise(n int, b Bad) string { return fmt.Sprintf("noise %d (%v)", n, b) }

// pieces cuts b into bursts of the given sizes with gap between them.
func pieces(b []byte, gap sim.Time, sizes ...int) []burst {
	var p []burst
	for _, n := range sizes {
		p = append(p, burst{gap, b[:n], 0})
		b = b[n:]
	}
	return append(p, burst{gap, b, 0})
}

func then(b []burst, after sim.Time, data []byte) []burst { return append(b, burst{after, data, 0}) }

func TestFramer(t *testing.T) {
	const r1, a1 = "90 03 00 50 00 02", "90 03 04 12 34 56 78"
	const r2, a2 = "91 03 00 50 00 01", "91 03 02 00 07"
	const w1 = "90 06 01 21 00 5A"
	spoilt := func(s string) []byte {
		b := adu(s)
		b[len(b)-1] ^= 0x10
		return b
	}
	// A reply of 90h whose data are a request to 91h, with its CRC.
	inner := adu("91 06 00 10 00 01")
	nested := AppendCRC(append(hx("90 03 08"), inner...))
	nested2 := append([]byte(nil), nested...)
	nested2[3+8] ^= 0xFF // its own CRC is wrong, that inside is right
	for _, c := range []struct {
		name      string
		tolerance sim.Time
		in        []burst
		want      []string
	}{
		{"request, reply", 0, then(just(adu(r1)), 5*ms, adu(a1)), []string{req(r1), rep(a1)}},
		{"reply of nobody asked", 0, just(adu(a1)), []string{rep(a1)}},
		{"exception", 0, then(just(adu(r1)), 5*ms, adu("90 83 02")), []string{req(r1), rep("90 83 02")}},
		{"two without a pause", 0, just(adu(r1), adu(r2)), []string{req(r1), req(r2)}},
		{"request and reply glued", 0, just(adu(r1), adu(a1)), []string{req(r1), rep(a1)}},
		{"1+7", 50 * ms, pieces(adu(r1), 40*ms, 1), []string{req(r1)}},
		{"6+2", 50 * ms, pieces(adu(r1), 40*ms, 6), []string{req(r1)}},
		{"2+1+1+4", 50 * ms, pieces(adu(r1), 51*ms, 2, 1, 1), []string{req(r1)}},
		{"1+7 on a wire", 0, pieces(adu(r1), 5*ms, 1), []string{noise(1, BadShort), noise(7, BadCRC)}},
		{"10h in pieces", 50 * ms, pieces(adu("90 10 00 62 00 02 04 65 00 00 00"), 20*ms, 6, 1, 3), []string{req("90 10 00 62 00 02 04 65 00 00 00")}},
		{"pieces too far apart", 50 * ms, then(pieces(adu(r1), 60*ms, 3), 60*ms, adu(r2)),
			[]string{noise(3, BadShort), noise(5, BadCRC), req(r2)}},
		{"a pause of just t3.5 + tolerance", 10 * ms, []burst{{0, adu(r1)[:3], 0}, {line.T35() + 10*ms, adu(r2), 0}},
			[]string{noise(3, BadShort), req(r2)}},
		{"absent slave, next request", 0, then(just(adu(r1)), 70*ms, adu(r2)), []string{req(r1), req(r2)}},
		{"absent slave, next request within any reply's time", 50 * ms, then(just(adu(r1)), 5*ms, adu(r2)), []string{req(r1), req(r2)}},
		{"absent slave, repeated", 0, then(just(adu(r1)), 70*ms, adu(r1)), []string{req(r1), req(r1)}},
		// 90 03 04 ... may begin a reply of 9 bytes: the pause behind 8 decides.
		{"repeat that begins like the reply", 50 * ms, then(just(adu("90 03 04 00 00 02")), 70*ms, adu("90 03 04 00 00 02")),
			[]string{req("90 03 04 00 00 02"), req("90 03 04 00 00 02")}},
		{"echo of a write is a reply", 0, then(just(adu(w1)), 5*ms, adu(w1)), []string{req(w1), rep(w1)}},
		{"a late one is a repetition", 0, then(just(adu(w1)), 300*ms, adu(w1)), []string{req(w1), req(w1)}},
		{"05, 16h, 08 too", 0, then(then(then(then(then(just(adu("90 05 00 01 FF 00")), 5*ms, adu("90 05 00 01 FF 00")),
			5*ms, adu("90 16 00 04 00 F2 00 25")), 5*ms, adu("90 16 00 04 00 F2 00 25")),
			5*ms, adu("90 08 00 00 A5 37")), 5*ms, adu("90 08 00 00 A5 37")),
			[]string{req("90 05 00 01 FF 00"), rep("90 05 00 01 FF 00"), req("90 16 00 04 00 F2 00 25"), rep("90 16 00 04 00 F2 00 25"),
				req("90 08 00 00 A5 37"), rep("90 08 00 00 A5 37")}},
		{"reply of 10h", 0, then(just(adu("90 10 00 62 00 01 02 65 00")), 5*ms, adu("90 10 00 62 00 01")),
			[]string{req("90 10 00 62 00 01 02 65 00"), rep("90 10 00 62 00 01")}},
		{"a request inside a reply", 0, then(just(adu("90 03 00 00 00 04")), 5*ms, nested), []string{req("90 03 00 00 00 04"), "reply " + hex(nested)}},
		{"a request inside a reply of nobody asked", 0, just(nested), []string{"reply " + hex(nested)}},
		{"a request inside a broken reply", 0, then(just(adu("90 03 00 00 00 04")), 5*ms, nested2),
			[]string{req("90 03 00 00 00 04"), noise(len(nested2), BadCRC)}},
		{"a request at the end of a reply cut short", 0, then(just(adu("90 03 00 00 00 0A")), 5*ms, append(hx("90 03 14 00 00"), inner...)),
			[]string{req("90 03 00 00 00 0A"), noise(5+len(inner), BadShort)}},
		{"a request inside a reply in pieces", 50 * ms, then(pieces(append(adu("90 03 00 00 00 04"), nested...), 10*ms, 8, 3, 8), 70*ms, adu(r2)),
			[]string{req("90 03 00 00 00 04"), "reply " + hex(nested), req(r2)}},
		{"stray before", 0, just([]byte{0}, adu(r1)), []string{noise(1, BadShort), req(r1)}},
		{"strays before both", 0, just([]byte{0xFF, 0xFF}, adu(r1), adu(r2)), []string{noise(2, BadShort), req(r1), req(r2)}},
		{"stray behind", 0, then(just(adu(r1), []byte{0}), 5*ms, adu(a1)), []string{req(r1), noise(1, BadShort), rep(a1)}},
		{"stray behind, guest", 50 * ms, then(just(adu(r1), []byte{0}), 5*ms, adu(a1)), []string{req(r1), noise(1, BadShort), rep(a1)}},
		{"stray before a reply", 0, then(just(adu(r1)), 5*ms, append([]byte{0}, adu(a1)...)), []string{req(r1), noise(1, BadShort), rep(a1)}},
		{"damaged strays around", 0, []burst{{0, []byte{0}, FramingError}, {0, adu(r1), 0}, {0, []byte{0}, FramingError}},
			[]string{noise(1, BadChar), req(r1), noise(1, BadChar)}},
		{"wrong CRC, next is served", 0, then(just(spoilt(r1)), 5*ms, adu(r2)), []string{noise(8, BadCRC), req(r2)}},
		{"wrong CRC, guest", 50 * ms, then(just(spoilt(r1)), 5*ms, adu(r2)), []string{noise(8, BadCRC), req(r2)}},
		{"wrong CRC of a reply, guest", 50 * ms, then(then(just(adu(r1)), 5*ms, spoilt(a1)), 5*ms, adu(r2)),
			[]string{req(r1), noise(9, BadCRC), req(r2)}},
		{"parity error", 0, []burst{{0, adu(r1)[:3], 0}, {0, adu(r1)[3:4], ParityError}, {0, adu(r1)[4:], 0}, {5 * ms, adu(r2), 0}},
			[]string{noise(8, BadChar), req(r2)}},
		{"overrun", 0, []burst{{0, adu(r1)[:3], 0}, {0, adu(r1)[4:5], Overrun}, {0, adu(r1)[5:], 0}}, []string{noise(7, BadOver)}},
		{"another baud", 0, []burst{{0, make([]byte, 12), FramingError | Break}, {5 * ms, adu(r2), 0}}, []string{noise(12, BadChar), req(r2)}},
		{"short", 0, just(adu(r1)[:5]), []string{noise(5, BadShort)}},
		{"unknown function code", 0, just(adu("90 41 01 02 03")), []string{req("90 41 01 02 03")}},
		{"unknown function code, guest", 50 * ms, then(pieces(adu("90 41 01 02 03"), 10*ms, 2), 5*ms, adu(r2)), []string{req("90 41 01 02 03"), req(r2)}},
		{"byte count too small", 0, just(adu("90 10 00 62 00 02 02 65 00 00 00")), []string{req("90 10 00 62 00 02 02 65 00 00 00")}},
		{"byte count too large", 0, just(adu("90 10 00 62 00 02 08 65 00 00 00")), []string{req("90 10 00 62 00 02 08 65 00 00 00")}},
		{"08/00 with more data", 0, just(adu("90 08 00 00 01 02 03 04")), []string{req("90 08 00 00 01 02 03 04")}},
		{"broadcast expects no reply", 0, then(just(adu("00 06 00 01 00 02")), 5*ms, adu("00 06 00 01 00 02")),
			[]string{req("00 06 00 01 00 02"), req("00 06 00 01 00 02")}},
		{"late reply after the next request", 0, then(then(just(adu(r1)), 70*ms, adu(r2)), 5*ms, adu(a1)), []string{req(r1), req(r2), rep(a1)}},
		{"2Bh", 0, then(just(adu("90 2B 0E 01 00")), 5*ms, adu("90 2B 0E 01 81 00 00 02 00 02 41 42 01 01 43")),
			[]string{req("90 2B 0E 01 00"), rep("90 2B 0E 01 81 00 00 02 00 02 41 42 01 01 43")}},
		{"0C, 11h, 14h, 17h, 18h, 07, 0B", 0, then(then(then(then(then(then(then(then(then(then(then(then(then(
			just(adu("90 0C")), 5*ms, adu("90 0C 08 00 00 00 01 00 02 80 00")),
			5*ms, adu("90 11")), 5*ms, adu("90 11 02 09 FF")),
			5*ms, adu("90 14 07 06 00 01 00 00 00 01")), 5*ms, adu("90 14 04 03 06 AB CD")),
			5*ms, adu("90 17 00 03 00 01 00 0E 00 01 02 00 FF")), 5*ms, adu("90 17 02 00 FE")),
			5*ms, adu("90 18 04 DE")), 5*ms, adu("90 18 00 06 00 02 01 B8 12 84")),
			5*ms, adu("90 07")), 5*ms, adu("90 07 6D")),
			5*ms, adu("90 0B")), 5*ms, adu("90 0B 00 00 01 08")),
			[]string{req("90 0C"), rep("90 0C 08 00 00 00 01 00 02 80 00"), req("90 11"), rep("90 11 02 09 FF"),
				req("90 14 07 06 00 01 00 00 00 01"), rep("90 14 04 03 06 AB CD"),
				req("90 17 00 03 00 01 00 0E 00 01 02 00 FF"), rep("90 17 02 00 FE"),
				req("90 18 04 DE"), rep("90 18 00 06 00 02 01 B8 12 84"), req("90 07"), rep("90 07 6D"), req("90 0B"), rep("90 0B 00 00 01 08")}},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/whole=%v", c.name, whole), func(t *testing.T) {
				same(t, frames(NewFramer(line, c.tolerance), chars(line, c.in), whole), c.want)
			})
		}
	}
}

// What a slave does when it hears itself, and when it does not.
func TestFramerOwn(t *testing.T) {
	const w = "90 06 01 21 00 5A"
	for _, c := range []struct {
		name string
		sent bool
		gap  sim.Time
		want string
	}{
		{"own echo is a reply", true, 5 * ms, rep(w)},
		{"own echo, late", true, 500 * ms, rep(w)},
		{"repetition", false, 5 * ms, req(w)},
		{"late repetition", false, 500 * ms, req(w)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewFramer(line, 0)
			f.SetOwn(0x90, true)
			var got []string
			drive(f, chars(line, then(just(adu(w)), c.gap, adu(w))), false, func(fr *Frame) {
				got = append(got, show(fr))
				if fr.Kind == Request && c.sent {
					f.Sent(adu(w))
				}
			})
			same(t, got, []string{req(w), c.want})
		})
	}
	f := NewFramer(line, 0)
	f.SetOwn(200, true)
	f.SetOwn(200, false)
	if f.isOwn(200) {
		t.Error("address 200 is still own")
	}
}

func TestFramerTimes(t *testing.T) {
	f := NewFramer(line, 0)
	c := chars(line, []burst{{3 * ms, adu("90 03 00 50 00 02"), 0}})
	var fr Frame
	f.Feed(c[7].At, c, func(x *Frame) { fr = *x })
	if fr.Start != 3*ms || fr.End != 3*ms+8*line.CharTime() {
		t.Errorf("from %v to %v", fr.Start, fr.End)
	}
	if _, ok := f.Deadline(); ok || f.Pending() != 0 {
		t.Error("a deadline without characters")
	}
	f.SetTolerance(20 * ms)
	f.Feed(c[7].At+ms, []Char{{At: c[7].At + ms, Byte: 1}}, func(*Frame) { t.Error("a frame of one character") })
	d1, _ := f.Deadline()
	f.Feed(d1, nil, func(*Frame) { t.Error("a frame of one character") })
	d2, ok := f.Deadline()
	if d1 != c[7].At+ms+line.T35() || d2 != d1+20*ms || !ok {
		t.Errorf("deadlines %v %v", d1, d2)
	}
	n := 0
	f.Feed(d2, nil, func(x *Frame) { n++; fr = *x })
	if n != 1 || fr.Kind != Noise || len(fr.ADU) != 1 {
		t.Errorf("%d frames, %v", n, fr)
	}
}

// A flood without any pause neither grows nor hangs, and the first frame after
// it is served.
func TestFramerFlood(t *testing.T) {
	f := NewFramer(line, 50*ms)
	in := make([]byte, 5000)
	for i := range in {
		in[i] = byte(i * 7)
	}
	got := frames(f, chars(line, then(just(in), 60*ms, adu("90 03 00 50 00 02"))), true)
	if len(got) < 5000/held || got[len(got)-1] != req("90 03 00 50 00 02") {
		t.Errorf("%d frames, the last %s", len(got), got[len(got)-1])
	}
}

// A handler may reset the framer.
func TestFramerResetInHandler(t *testing.T) {
	f := NewFramer(line, 0)
	n := 0
	c := chars(line, just(adu("90 03 00 50 00 02"), adu("91 03 00 50 00 02")))
	f.Feed(c[len(c)-1].At, c, func(*Frame) { n++; f.SetLine(line) })
	if n != 1 || f.Pending() != 0 {
		t.Errorf("%d frames, %d characters held", n, f.Pending())
	}
}

package rtu

import "testing"

func TestLengths(t *testing.T) {
	for _, c := range []struct{ req, reply string }{
		{"11 01 00 13 00 25", "11 01 05 CD 6B B2 0E 1B"},
		{"11 02 00 C4 00 16", "11 02 03 AC DB 35"},
		{"11 03 00 6B 00 03", "11 03 06 02 2B 00 00 00 64"},
		{"11 04 00 08 00 01", "11 04 02 00 0A"},
		{"11 05 00 AC FF 00", "11 05 00 AC FF 00"},
		{"11 06 00 01 00 03", "11 06 00 01 00 03"},
		{"11 07", "11 07 6D"},
		{"11 08 00 00 A5 37", "11 08 00 00 A5 37"},
		{"11 0B", "11 0B FF FF 01 08"},
		{"11 0C", "11 0C 08 00 00 01 08 01 21 20 00"},
		{"11 0F 00 13 00 0A 02 CD 01", "11 0F 00 13 00 0A"},
		{"11 10 00 01 00 02 04 00 0A 01 02", "11 10 00 01 00 02"},
		{"11 11", "11 11 03 42 FF 01"},
		{"11 14 0E 06 00 04 00 01 00 02 06 00 03 00 09 00 02", "11 14 0C 05 06 0D FE 00 20 05 06 33 CD 00 40"},
		{"11 15 0D 06 00 04 00 07 00 03 06 AF 04 BE 10 0D", "11 15 0D 06 00 04 00 07 00 03 06 AF 04 BE 10 0D"},
		{"11 16 00 04 00 F2 00 25", "11 16 00 04 00 F2 00 25"},
		{"11 17 00 03 00 06 00 0E 00 03 06 00 FF 00 FF 00 FF", "11 17 0C 00 FE 0A CD 00 01 00 03 00 0D 00 FF"},
		{"11 18 04 DE", "11 18 00 06 00 02 01 B8 12 84"},
		{"11 2B 0E 01 00", "11 2B 0E 01 01 00 00 03 00 02 41 42 01 00 02 01 43"},
		{"", "11 83 02"},
		{"", "11 AB 01"},
	} {
		for _, x := range []struct {
			name string
			s    string
			of   func([]byte) (int, bool)
		}{{"request", c.req, RequestLen}, {"reply", c.reply, ReplyLen}} {
			if x.s == "" {
				continue
			}
			b := adu(x.s)
			// A reader that asks for as many as it is told ends at the frame's end,
			// never beyond.
			have := 0
			for range 300 {
				n, ok := x.of(b[:have])
				if ok {
					have = n
					break
				}
				if n <= have || n > len(b) {
					t.Fatalf("%s %s: with %d bytes %d are wanted", x.name, x.s, have, n)
				}
				have = n
			}
			if have != len(b) {
				t.Errorf("%s %s: %d bytes, want %d", x.name, x.s, have, len(b))
			}
			if n, ok := x.of(b); !ok || n != len(b) {
				t.Errorf("%s %s: whole: %d %v", x.name, x.s, n, ok)
			}
		}
	}
}

// What the bytes do not tell is 0, and nothing is longer than a frame.
func TestLengthsUnknown(t *testing.T) {
	for _, s := range []string{"11 00 00", "11 09 00", "11 19 00", "11 40 00", "11 7F 00", "11 2B 0D 00", "11 10 00 00 00 7F FF", "11 17 00 00 00 00 00 00 00 00 FF"} {
		if n, ok := RequestLen(hx(s)); ok || n != 0 {
			t.Errorf("request %s: %d %v", s, n, ok)
		}
	}
	for _, s := range []string{"11 00 00", "11 09 00", "11 41 00", "11 2B 0D 00", "11 18 01 00", "11 03 FF", "11 2B 0E 01 01 00 00 01 00 FF"} {
		if n, ok := ReplyLen(hx(s)); ok || n != 0 {
			t.Errorf("reply %s: %d %v", s, n, ok)
		}
	}
	if n, ok := RequestLen(hx("11 83 02")); ok || n != 0 {
		t.Errorf("a request with an exception's function code: %d %v", n, ok)
	}
}

package rtu

import (
	"bytes"
	"testing"

	"cnuas/internal/sim"
)

// fuzzChars makes characters of data: two control bits choose the pause before
// each, one in 64 has an error.
func fuzzChars(data []byte) []Char {
	gaps := [4]sim.Time{0, 0, 2 * line.CharTime(), 5 * ms}
	var c []Char
	now := sim.Time(0)
	for i := 0; i+1 < len(data) && len(c) < 2000; i += 2 {
		x := data[i]
		now += gaps[x&3]
		if x&0xFC == 0xFC {
			now += 100 * ms
		}
		now += line.CharTime()
		ch := Char{At: now, Byte: data[i+1]}
		if x&0xFC == 0xF8 {
			ch.Err = ParityError << (x & 3)
		}
		c = append(c, ch)
	}
	return c
}

// fuzzSeed is bytes without pauses in the form of fuzzChars, with a pause of
// control byte first before the first.
func fuzzSeed(first byte, b []byte) []byte {
	var s []byte
	for i, v := range b {
		x := byte(0)
		if i == 0 {
			x = first
		}
		s = append(s, x, v)
	}
	return s
}

// FuzzFramer: every character comes out once, in order; frames have a right CRC
// and no damaged character; their times ascend; nothing is held when silence is
// over.
func FuzzFramer(f *testing.F) {
	for _, s := range []string{"90 03 00 50 00 02", "90 06 01 21 00 5A", "90 10 00 62 00 02 04 65 00 00 01", "90 41 01", "90 2B 0E 01 00", "90 83 02"} {
		f.Add(uint8(0), fuzzSeed(0, adu(s)))
		f.Add(uint8(7), append(fuzzSeed(3, adu(s)), fuzzSeed(3, adu(s))...))
		f.Add(uint8(3), append(fuzzSeed(2, adu(s)), fuzzSeed(0xFC, adu("91 03 02 00 01"))...))
	}
	f.Fuzz(func(t *testing.T, mode uint8, data []byte) {
		c := fuzzChars(data)
		fr := NewFramer(line, sim.Time(mode&1)*20*ms)
		if mode&2 != 0 {
			fr.SetOwn(0x90, true)
		}
		at, last := 0, sim.Time(-1)
		drive(fr, c, mode&4 != 0, func(x *Frame) {
			if len(x.ADU) == 0 || at+len(x.ADU) > len(c) {
				t.Fatalf("%d characters at %d of %d", len(x.ADU), at, len(c))
			}
			var all LineError
			for i, b := range x.ADU {
				if c[at+i].Byte != b {
					t.Fatalf("character %d is %02x, was %02x", at+i, b, c[at+i].Byte)
				}
				all |= c[at+i].Err
			}
			if x.Start != c[at].At-line.CharTime() || x.End != c[at+len(x.ADU)-1].At || x.Start < last {
				t.Fatalf("%v to %v", x.Start, x.End)
			}
			at, last = at+len(x.ADU), x.End-1
			if x.Err != all {
				t.Fatalf("errors %x, want %x", x.Err, all)
			}
			if x.Kind == Noise {
				if x.Bad == Good {
					t.Fatal("noise without a reason")
				}
				return
			}
			if !CheckCRC(x.ADU) || all != 0 || x.Bad != Good || len(x.ADU) > MaxADU {
				t.Fatalf("%v of % x, errors %x", x.Kind, x.ADU, all)
			}
			if x.Kind == Request && mode&8 != 0 {
				fr.Sent(x.ADU)
			}
		})
		if at != len(c) || fr.Pending() != 0 {
			t.Fatalf("%d of %d characters came out, %d held", at, len(c), fr.Pending())
		}
	})
}

// FuzzServe: no request crashes a slave, and every reply is a frame of its
// address that its own length table and parser take.
func FuzzServe(f *testing.F) {
	for _, s := range []string{"90 01 00 00 00 0A", "90 03 00 50 00 02", "90 05 00 03 FF 00", "90 06 01 21 00 5A", "90 08 00 00 A5 37", "90 08 00 01 FF 00", "90 08 00 04 00 00",
		"90 0B", "90 0C", "90 0F 00 13 00 0A 02 CD 01", "90 10 00 62 00 02 04 65 00 00 01", "90 11", "90 14 07 06 00 04 00 00 00 79",
		"90 16 00 04 00 F2 00 25", "90 17 00 03 00 02 00 0E 00 01 02 00 FF", "90 2B 0E 03 00", "00 06 00 00 00 01"} {
		f.Add(hx(s), hx("90 03 00 00 00 01"))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		m := newModel()
		m.objects[0x80] = "extended"
		s := NewSlave(0x90, m, AllOptions())
		for _, x := range [][]byte{one, two} {
			if len(x) > MaxADU {
				x = x[:MaxADU]
			}
			s.Serve(0, x, nil)
			req := AppendCRC(bytes.Clone(x))
			listening := s.ListenOnly()
			out := s.Serve(0, req, nil)
			if out == nil {
				continue
			}
			if req[0] != 0x90 || listening {
				t.Fatalf("% x answered by % x", req, out)
			}
			n, ok := ReplyLen(out)
			// 08/00 is as long as its request.
			if len(out) > MaxADU || !CheckCRC(out) || out[0] != 0x90 || (!ok || n != len(out)) && out[1] != Diagnostics {
				t.Fatalf("% x answered by % x: length %d %v", req, out, n, ok)
			}
			if n != len(out) {
				continue
			}
			if _, _, err := ParseReply(req, out); err != nil {
				t.Fatalf("% x answered by % x: %v", req, out, err)
			}
		}
	})
}

// FuzzParseReply: no reply crashes a client, data are a part of it, and what has
// a length has one that grows to the end.
func FuzzParseReply(f *testing.F) {
	for _, s := range [][2]string{{"11 03 00 6B 00 01", "11 03 02 12 34"}, {"11 08 00 00 A5 37", "11 08 00 00 A5 37"}, {"11 2B 0E 01 00", "11 2B 0E 01 81 00 00 01 00 01 41"},
		{"11 18 04 DE", "11 18 00 06 00 02 01 B8 12 84"}, {"11 2B 0D 00", "11 2B"}, {"11 10 00 01", "11 10 00 01 00 01"}, {"11 41", "11 41"}} {
		f.Add(hx(s[0]), hx(s[1]))
	}
	f.Fuzz(func(t *testing.T, req, reply []byte) {
		for _, in := range [][]byte{reply, AppendCRC(bytes.Clone(reply))} {
			data, ex, err := ParseReply(AppendCRC(bytes.Clone(req)), in)
			if err != nil && (data != nil || ex != OK) {
				t.Fatalf("%v with % x, %v", err, data, ex)
			}
			if len(data) > len(in) || ex != OK && data != nil {
				t.Fatalf("% x, %v of % x", data, ex, in)
			}
			for _, of := range []func([]byte) (int, bool){RequestLen, ReplyLen} {
				for i := range in {
					n, ok := of(in[:i])
					if n > MaxADU || !ok && n > 0 && n <= i || ok && n < MinADU {
						t.Fatalf("% x: length %d %v", in[:i], n, ok)
					}
				}
			}
		}
	})
}

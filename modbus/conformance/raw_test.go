//go:build conformance

package conformance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"cnuas/modbus/port"
	"cnuas/modbus/rtu"
)

// What no client can be made to send, as bytes on a terminal opened by
// goburrow/serial at 19200 8E1. "+" stands for the CRC of what is before it,
// "!" for a wrong one, "/" begins another frame without a pause, "~20" one after
// a pause of 20 ms, "-20" is a pause of 20 ms inside a frame. The answer is what
// comes, frame by frame, without the CRCs, which are checked; behind it, what
// the counters of slave 10 say of errors.
var rawCases = []kase{
	{"serve", "0a 01 00 00 07 d0 +", "0a 01 fa " + each("00", 250)},
	{"serve", "0a 0f 00 00 07 b0 f6 " + each("00", 246) + " +", "0a 0f 00 00 07 b0"},
	{"serve", "0a 10 00 00 00 7b f6 " + each("00", 246) + " +", "0a 10 00 00 00 7b"},
	{"plain", "0b 08 00 00 12 34 +", "0b 88 01"},
	{"plain", "0b 0b +", "0b 8b 01"},
	{"plain", "0b 14 07 06 00 04 00 01 00 02 +", "0b 94 01"},
	{"plain", "0b 2b 0e 01 00 +", "0b ab 01"},
	{"broadcast", "00 06 00 05 12 67 + ~120 0a 03 00 05 00 01 + ~30 0d 03 00 05 00 01 +", "0a 03 02 12 67 / 0d 03 02 12 67"},
	{"broadcast", "00 10 00 05 00 01 02 00 07 + ~120 0b 03 00 05 00 01 +", "0b 03 02 00 07"},
	{"broadcast", "00 03 00 05 00 01 +", "silence"},
	{"broadcast", "00 16 00 05 00 00 12 34 + ~120 0a 03 00 05 00 01 +", "0a 03 02 00 07"},
	{"function", "0a 00 +", "0a 80 01"},
	{"function", "0c 03 01 90 00 01 + ~30 0a 41 00 01 +", "0a c1 01"},
	{"function", "0a 41 00 01 +", "0a c1 01"},
	{"function", "0a 7f +", "0a ff 01"},
	{"silence", "0a 03 01 90 00 01 !", "silence; CRC errors 1"},
	{"silence", "0a 03 01 90 00 01 ! ~50 0a 03 01 90 00 01 +", "0a 03 02 11 90; CRC errors 1"},
	{"silence", "0a 03 01 90", "silence; CRC errors 1"},
	{"silence", "0a", "silence; CRC errors 1"},
	{"silence", "0c 03 01 90 00 01 +", "silence"},
	{"silence", "8a 03 01 90 00 01 +", "silence"},
	{"quantity", "0a 01 00 00 00 00 +", "0a 81 03"},
	{"quantity", "0a 01 00 00 07 d1 +", "0a 81 03"},
	{"quantity", "0a 02 00 00 00 00 +", "0a 82 03"},
	{"quantity", "0a 02 00 00 07 d1 +", "0a 82 03"},
	{"quantity", "0a 03 00 00 00 00 +", "0a 83 03"},
	{"quantity", "0a 03 00 00 00 7e +", "0a 83 03"},
	{"quantity", "0a 04 00 00 00 00 +", "0a 84 03"},
	{"quantity", "0a 04 00 00 00 7e +", "0a 84 03"},
	{"quantity", "0a 05 00 00 00 01 +", "0a 85 03"},
	{"quantity", "0a 05 00 00 ff 01 +", "0a 85 03"},
	{"quantity", "0a 0f 00 00 00 00 00 +", "0a 8f 03"},
	{"quantity", "0a 0f 00 00 07 b1 f7 " + each("00", 247) + " +", "0a 8f 03"},
	{"quantity", "0a 0f 00 00 00 0a 01 cd +", "0a 8f 03"},
	{"quantity", "0a 10 00 00 00 00 00 +", "0a 90 03"},
	{"quantity", "0a 10 00 00 00 7c f7 " + each("00", 247) + " +", "0a 90 03"},
	{"quantity", "0a 10 00 00 00 02 02 00 01 +", "0a 90 03"},
	{"quantity", "0a 10 00 00 00 02 04 00 01 +", "0a 90 03"},
	{"order", "0b 01 00 00 00 00 +", "0b 81 01"},
	{"order", "0a 03 ff ff 00 00 +", "0a 83 03"},
	{"order", "0a 05 ff ff 12 34 +", "0a 85 03"},
	{"order", "0a 17 01 2c 00 01 03 ec 00 01 02 00 01 +", "0a 97 02"},
	{"exceptions", "0a 03 03 f3 00 01 +", "0a 83 0b"},
	{"17", "0a 17 00 00 00 7d 00 00 00 79 f2 " + each("00", 242) + " +", "0a 17 fa " + each("00", 242) + " 00 00 00 00 10 7b 10 7c"},
	{"17", "0a 17 00 00 00 00 00 00 00 01 02 00 00 +", "0a 97 03"},
	{"17", "0a 17 00 00 00 7e 00 00 00 01 02 00 00 +", "0a 97 03"},
	{"17", "0a 17 00 00 00 01 00 00 00 00 00 +", "0a 97 03"},
	{"17", "0a 17 00 00 00 01 00 00 00 7a f3 " + each("00", 243) + " +", "0a 97 03"},
	{"14", "0a 14 06 06 00 04 00 01 00 +", "0a 94 03"},
	{"14", "0a 14 f6 " + each("00", 246) + " +", "0a 94 03"},
	{"14", "0a 14 07 05 00 04 00 01 00 02 +", "0a 94 02"},
	{"14", "0a 14 07 06 00 04 27 10 00 01 +", "0a 94 02"},
	{"14", "0a 14 07 06 00 04 00 00 00 7a +", "0a 94 03"},
	{"14", "0a 14 f5 " + each("06 00 04 00 00 00 01", 35) + " +", "0a 14 8c " + each("03 06 40 00", 35)},
	{"2B", "0a 2b 0e 00 00 +", "0a ab 03"},
	{"2B", "0a 2b 0e 05 00 +", "0a ab 03"},
	{"2B", "0a 2b 0d 00 00 +", "0a ab 01"},
	{"08", "0a 08 00 00 11 22 33 44 +", "0a 08 00 00 11 22 33 44"},
	{"08", "0a 08 00 01 12 34 +", "0a 88 03"},
	{"08", "0a 08 00 0b 00 01 +", "0a 88 03"},
	{"08", "0a 08 00 05 00 00 +", "0a 88 01"},
	{"listen only", "0a 08 00 04 00 00 + ~30 0a 03 01 90 00 01 + ~30 00 06 00 05 00 08 + ~30 0a 08 00 0a 00 00 + ~30 0a 08 00 01 00 00 + ~60 0a 03 00 05 00 01 +", "0a 03 02 00 00"},
	{"time", "0a 03 01 90 00 01 + ~0 0a 03 01 90 00 02 +", "0a 03 04 11 90 11 91"},
	{"time", "0a 03 01 90 00 01 + / 0d 03 01 90 00 02 +", "0d 03 04 11 90 11 91"},
	{"time", "0a 03 01 -10 90 00 01 +", "0a 03 02 11 90"},
	{"time", "0a -4 03 -4 01 -4 90 -4 00 -4 01 -4 +", "0a 03 02 11 90"},
	{"time", "0a 03 01 -60 90 00 01 +", "silence; CRC errors 2"},
	{"time", "0a 03 01 90 00 01 + / ff", "silence; CRC errors 1"},
	{"time", "ff / 0a 03 01 90 00 01 +", "0a 03 02 11 90; CRC errors 1"},
	{"time", "0c 03 01 90 00 01 + ~30 0a 03 01 90 00 01 +", "0a 03 02 11 90"},
	{"time", each("55", 300) + " ~240 0a 03 01 90 00 01 +", "0a 03 02 11 90; CRC errors 1"},
	{"reserved", "fa 03 01 90 00 01 +", "fa 03 02 11 90"},
	{"reserved", "fa 06 00 01 00 02 +", "fa 06 00 01 00 02"},
}

// part is bytes that are written at once, and the pause before.
type part struct {
	pause time.Duration
	b     []byte
}

// parts reads the words of rawCases.
func parts(t testing.TB, do string) (l []part) {
	t.Helper()
	l = []part{{}}
	var frame []byte
	for _, w := range strings.Fields(do) {
		last := &l[len(l)-1]
		switch w[0] {
		case '+', '!':
			c := rtu.CRC(frame)
			if w[0] == '!' {
				c ^= 0x5a5a
			}
			last.b = append(last.b, byte(c), byte(c>>8))
		case '/':
			frame = nil
		case '~', '-':
			ms, err := strconv.Atoi(w[1:])
			if err != nil {
				t.Fatalf("%s: %v", do, err)
			}
			if w[0] == '~' {
				frame = nil
			}
			l = append(l, part{pause: time.Duration(ms) * time.Millisecond})
		default:
			v, err := strconv.ParseUint(w, 16, 8)
			if err != nil {
				t.Fatalf("%s: %v", do, err)
			}
			last.b = append(last.b, byte(v))
			frame = append(frame, byte(v))
		}
	}
	return l
}

// replies cuts what came into replies.
func replies(b []byte) string {
	if len(b) == 0 {
		return "silence"
	}
	var l []string
	for len(b) > 0 {
		n, ok := rtu.ReplyLen(b)
		if b[1%len(b)] == rtu.Diagnostics && !rtu.CheckCRC(b[:min(n, len(b))]) {
			n = len(b) // 08/00 of any length
		}
		if !ok || n > len(b) || !rtu.CheckCRC(b[:n]) {
			return fmt.Sprintf("%s and then no reply: % x", strings.Join(l, " / "), b)
		}
		l = append(l, fmt.Sprintf("% x", b[:n-2]))
		b = b[n:]
	}
	return strings.Join(l, " / ")
}

// rawPort is a terminal that a test reads and writes byte by byte.
type rawPort struct {
	t testing.TB
	p *port.Port
}

func openRaw(t testing.TB, tty string, l rtu.Line) *rawPort {
	t.Helper()
	p, err := port.Open(tty, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return &rawPort{t, p}
}

func (r *rawPort) write(b []byte) {
	if err := r.p.Write(b, time.Now().Add(5*time.Second)); err != nil {
		r.t.Fatal(err)
	}
}

// collect reads what comes until n bytes are there and nothing follows, or the
// time is over.
func (r *rawPort) collect(n int, d time.Duration) (got []byte) {
	r.t.Helper()
	var b [512]byte
	end := time.Now().Add(d)
	for {
		k, err := r.p.Read(b[:], end)
		if err != nil {
			return got
		}
		if got = append(got, b[:k]...); len(got) >= n {
			end = time.Now().Add(15 * time.Millisecond)
		}
	}
}

// wireTime of bytes at 19200 8E1, with room for the machine.
func wireTime(n int) time.Duration {
	return time.Duration(slow.CharTime().Nanoseconds())*time.Duration(n) + 60*time.Millisecond
}

func TestRaw(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	r := openRaw(t, g.TTY("bus0"), slow)
	play(t, "raw", rawCases, func(do string) string {
		want := wanted(do)
		got := rawCase(t, g, r, do, want)
		// A busy machine stretches pauses beyond what a case is about, and
		// answers when the case has ended. It does not do so each time.
		for n := 0; n < 3 && got != want; n++ {
			t.Logf("once more: %s: %s", short(do), short(got))
			r.collect(1<<20, 200*time.Millisecond)
			got = rawCase(t, g, r, do, want)
		}
		return got
	})
}

// rawCase plays one case and says what came.
func rawCase(t *testing.T, g *rig, r *rawPort, do, want string) string {
	before := g.counters(10)
	var got []byte
	all := parts(t, do)
	for i, p := range all {
		if i > 0 {
			got = append(got, r.collect(1<<20, p.pause)...)
		}
		r.write(p.b)
	}
	sent := len(all[len(all)-1].b)
	n := wantLen(want)
	wait := wireTime(sent + 8)
	if n > len(got) {
		wait = wireTime(sent+n) + time.Second
	}
	got = append(got, r.collect(max(n-len(got), 0), wait)...)
	s := replies(got)
	if n := int(g.counters(10).CRCErrors) - int(before.CRCErrors); n > 0 {
		s += fmt.Sprintf("; CRC errors %d", n)
	}
	return s
}

// wanted is the answer to a case.
func wanted(do string) string {
	for _, k := range rawCases {
		if k.do == do {
			return k.want
		}
	}
	return ""
}

// wantLen is how many bytes an answer has.
func wantLen(want string) (n int) {
	if strings.HasPrefix(want, "silence") {
		return 0
	}
	want, _, _ = strings.Cut(want, ";")
	for _, f := range strings.Split(want, " / ") {
		n += len(strings.Fields(f)) + 2
	}
	return n
}

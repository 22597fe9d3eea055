//go:build conformance

package conformance

import (
	"os/exec"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

// Options that stand for a line.
const (
	atSlow = "-b 19200 -P even "
	atFast = "-b 115200 -P even "
)

// The words of mbpoll: addresses are those of the protocol (-0), it asks once
// (-1). What it must print are the values by address, or an error.
var mbpollCases = []kase{
	{"serve", atSlow + "-a 10 -t 0 -r 0 -c 4", "0=0 1=0 2=0 3=0"},
	{"serve", atSlow + "-a 10 -t 0 -r 1 TTY 1", "Written 1 references."},
	{"serve", atSlow + "-a 10 -t 0 -r 0 -c 4", "0=0 1=1 2=0 3=0"},
	{"serve", atSlow + "-a 10 -t 0 -r 2 TTY 1 1 0 1", "Written 4 references."},
	{"serve", atSlow + "-a 10 -t 0 -r 0 -c 7", "0=0 1=1 2=1 3=1 4=0 5=1 6=0"},
	{"serve", atSlow + "-a 10 -t 1 -r 0 -c 4", "0=1 1=0 2=0 3=1"},
	{"serve", atSlow + "-a 10 -t 3 -r 8 -c 2", "8=8200 9=8201"},
	{"serve", atSlow + "-a 10 -t 3:hex -r 8 -c 2", "8=0x2008 9=0x2009"},
	{"serve", atSlow + "-a 10 -t 3:int -r 0 -c 2", "0=536944640 2=537075714"},
	{"serve", atSlow + "-a 10 -t 3:int -B -r 0 -c 2", "0=536879105 2=537010179"},
	{"serve", atSlow + "-a 10 -t 3:float -r 0 -c 1", "0=1.09373e-19"},
	{"serve", atSlow + "-a 10 -t 4 -r 80 -c 4", "80=4176 81=4177 82=4178 83=4179"},
	{"serve", atSlow + "-a 10 -t 4:hex -r 80 -c 2", "80=0x1050 81=0x1051"},
	{"serve", atSlow + "-a 10 -r 17 TTY 4711", "Written 1 references."},
	{"serve", atSlow + "-a 10 -r 18 TTY 1 2 3", "Written 3 references."},
	{"serve", atSlow + "-a 10 -r 16 -c 6", "16=4112 17=4711 18=1 19=2 20=3 21=4117"},
	{"serve", atSlow + "-a 10 -t 4:hex -r 17 TTY 0xc800", "Written 1 references."},
	{"serve", atSlow + "-a 10 -t 4:hex -r 17 -c 1", "17=0xC800"},
	{"serve", atSlow + "-a 10 -t 4:int -r 30 TTY -- -123456 7", "Written 2 references."},
	{"serve", atSlow + "-a 10 -t 4:int -r 30 -c 2", "30=-123456 32=7"},
	{"serve", atSlow + "-a 10 -t 4:float -B -r 40 TTY 3.5 -- -0.25", "Written 2 references."},
	{"serve", atSlow + "-a 10 -t 4:float -B -r 40 -c 2", "40=3.5 42=-0.25"},
	{"serve", atSlow + "-a 10,13 -r 1 -c 1", "1=4097 1=4097"},
	{"serve", atFast + "-a 20 -r 0 -c 125", "125 values"},
	{"plain", atSlow + "-a 11 -r 80 -c 1", "80=4176"},
	{"plain", atSlow + "-a 11 -r 80 TTY 5", "Written 1 references."},
	{"plain", atSlow + "-a 11 -t 3 -r 0 -c 1", exIllegalFunction},
	{"plain", atSlow + "-a 11 -t 0 -r 0 -c 1", exIllegalFunction},
	{"plain", atSlow + "-a 11 -t 1 -r 0 -c 1", exIllegalFunction},
	{"plain", atSlow + "-a 11 -u", exIllegalFunction},
	{"address", atSlow + "-a 10 -r 299 -c 2", exIllegalAddress},
	{"address", atSlow + "-a 10 -r 300 TTY 1", exIllegalAddress},
	{"exceptions", atSlow + "-a 10 -r 1004 -c 1", "Slave device or server failure"},
	{"exceptions", atSlow + "-a 10 -r 1006 -c 1", "Slave device or server is busy"},
	{"silence", atSlow + "-a 12 -r 0 -c 1 -o 0.1", timedOut},
	{"silence", "-b 19200 -P odd -a 10 -r 0 -c 1 -o 0.1", timedOut},
	{"line", "-b 9600 -P even -a 10 -r 0 -c 1 -o 0.1", timedOut},
	{"line", "-b 19200 -P none -a 10 -r 0 -c 1 -o 0.1", timedOut},
	{"line", atFast + "-a 10 -r 0 -c 1 -o 0.1", timedOut},
	{"line", atFast + "-a 20 -r 5 -c 1", "5=4101"},
	{"line", atSlow + "-a 20 -r 5 -c 1 -o 0.1", timedOut},
	{"line", "-b 115200 -P none -a 30 -r 5 -c 1", "5=4101"},
	// A receiver looks at the first stop bit only; the second is a pause.
	{"line", "-b 115200 -P even -s 2 -a 20 -r 5 -c 1", "5=4101"},
	{"0B 0C 11", atSlow + "-a 10 -u", "Length: 5 Id: 0x42 Status: On Data: PSU"},
}

// mbpoll runs the program. TTY among the arguments stands for the terminal,
// which otherwise comes last.
func mbpoll(t testing.TB, tty, args string) string {
	t.Helper()
	all := []string{"-m", "rtu", "-0", "-1"}
	if !strings.Contains(args, "-o ") {
		all = append(all, "-o", "1")
	}
	if strings.Contains(args, "TTY") {
		args = strings.Replace(args, "TTY", tty, 1)
	} else {
		args += " " + tty
	}
	out, err := exec.Command(simtest.Need(t, "mbpoll"), append(all, strings.Fields(args)...)...).CombinedOutput()
	got := mbpollSays(string(out))
	if got == "" {
		t.Fatalf("mbpoll %s: %v\n%s", args, err, out)
	}
	return got
}

// mbpollSays is what the output says of registers.
func mbpollSays(out string) string {
	var l, id []string
	for _, s := range strings.Split(out, "\n") {
		s = strings.TrimSpace(s)
		_, failed, isFailed := strings.Cut(strings.Replace(s, "(-1)", "", 1), " failed: ")
		key, v, is := strings.Cut(s, ":")
		switch {
		case isFailed:
			return failed
		case strings.HasPrefix(s, "Written "):
			return s
		case strings.HasPrefix(s, "[") && is:
			v, _, _ = strings.Cut(strings.TrimSpace(v), " ") // behind it, the same in another form
			l = append(l, strings.Trim(key, "[]")+"="+v)
		case is && (key == "Length" || key == "Id    " || key == "Status" || key == "Data  "):
			id = append(id, strings.TrimSpace(key)+": "+strings.TrimSpace(v))
		}
	}
	if len(id) > 0 {
		return strings.Join(id, " ")
	}
	if len(l) == 125 {
		return "125 values"
	}
	return strings.Join(l, " ")
}

func TestMbpoll(t *testing.T) {
	t.Parallel()
	simtest.Need(t, "mbpoll")
	g := newRig(t)
	play(t, "mbpoll", mbpollCases, func(do string) string { return mbpoll(t, g.TTY("bus0"), do) })
}

package rack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

// mbpoll runs the stock client on a terminal: -0 gives it the addresses of the
// protocol, -1 lets it ask once.
func mbpoll(t *testing.T, tty string, args ...string) (string, error) {
	t.Helper()
	all := append([]string{"-m", "rtu", "-0", "-1", "-t", "4", "-o", "1"}, args...)
	out, err := exec.Command(simtest.Need(t, "mbpoll"), append(all, tty)...).CombinedOutput()
	return string(out), err
}

func values(out string) string {
	var l []string
	for _, s := range strings.Split(out, "\n") {
		if strings.HasPrefix(s, "[") {
			l = append(l, strings.Join(strings.Fields(s), ""))
		}
	}
	return strings.Join(l, " ")
}

func TestStockClient(t *testing.T) {
	simtest.Need(t, "mbpoll")
	r := running(t)
	for _, c := range []struct {
		what, args, tty string
		want            string // values, or what the output must contain
		fails           bool
	}{
		{"read", "-b 19200 -P even -a 10 -r 80 -c 4", "bus0", "[80]:80 [81]:81 [82]:82 [83]:83", false},
		{"another baud on the same segment", "-b 115200 -P even -a 20 -r 5 -c 2", "bus0", "[5]:5 [6]:6", false},
		{"and back", "-b 19200 -P even -a 10 -r 1 -c 1", "bus0", "[1]:1", false},
		{"the longest read", "-b 115200 -P even -a 20 -r 0 -c 125", "bus0", "[124]:124", false},
		{"another segment", "-b 115200 -P even -a 10 -r 7 -c 1", "bus1", "[7]:7", false},
		{"parity that the segment knows", "-b 19200 -P none -a 10 -r 7 -c 1", "bus2", "[7]:7", false},
		{"a missing register", "-b 19200 -P even -a 10 -r 999 -c 2", "bus0", "Illegal data address", true},
		{"a missing function", "-b 19200 -P even -a 10 -t 0 -r 0 -c 1", "bus0", "Illegal function", true},
		{"an absent slave", "-b 19200 -P even -a 11 -r 0 -c 1 -o 0.1", "bus0", "timed out", true},
		{"a wrong baud", "-b 9600 -P even -a 10 -r 0 -c 1 -o 0.1", "bus0", "Read", true},
		{"without parity", "-b 19200 -P none -a 10 -r 0 -c 1 -o 0.1", "bus0", "Read", true},
		{"a wrong parity", "-b 19200 -P odd -a 10 -r 0 -c 1 -o 0.1", "bus0", "Read", true},
	} {
		out, err := mbpoll(t, r.TTY(c.tty), strings.Fields(c.args)...)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v\n%s", c.what, err, out)
		}
		if got := values(out); c.fails && !strings.Contains(out, c.want) || !c.fails && !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: got %s, want %s in\n%s", c.what, got, c.want, out)
		}
	}
	var bad uint64
	r.Do(func() {
		for _, s := range r.Segment("bus0").Counters().Stations {
			bad += s.BadHeard
		}
	})
	if bad == 0 {
		t.Error("no station heard noise where the baud was wrong")
	}
}

func TestStockClientWrites(t *testing.T) {
	r := running(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("mbpoll", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	run("-m", "rtu", "-0", "-b", "19200", "-P", "even", "-a", "10", "-r", "300", r.Link("bus0"), "4711", "4712")
	out, err := mbpoll(t, r.Link("bus0"), "-b", "19200", "-P", "even", "-a", "10", "-r", "299", "-c", "4")
	if got := values(out); err != nil || got != "[299]:299 [300]:4711 [301]:4712 [302]:302" {
		t.Errorf("%v, %s: %s", err, got, out)
	}
}

// TestManyRequests: a client that asks as often as it can is answered each time.
func TestManyRequests(t *testing.T) {
	r := running(t)
	var out bytes.Buffer
	c := exec.Command(simtest.Need(t, "mbpoll"), "-m", "rtu", "-0", "-b", "115200", "-P", "even", "-a", "20", "-r", "0", "-c", "20",
		"-l", "11", "-t", "4", "-o", "2", r.TTY("bus0"))
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	replies := func() (n uint64) {
		r.Do(func() { n = r.Segment("bus0").Counters().Replies })
		return n
	}
	eventually(t, "100 replies", func() bool { return replies() >= 100 })
	c.Process.Signal(os.Interrupt)
	c.Wait()
	var sent, got, failed int
	i := strings.LastIndex(out.String(), " frames transmitted")
	if i < 0 {
		t.Fatalf("no statistics in:\n%s", out.String())
	}
	line := out.String()[strings.LastIndex(out.String()[:i], "\n")+1:]
	if _, err := fmt.Sscanf(line, "%d frames transmitted, %d received, %d errors", &sent, &got, &failed); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	// The interrupt may come between a request and its reply.
	if got < 99 || failed > 0 || sent-got > 1 {
		t.Errorf("%d sent, %d received, %d errors", sent, got, failed)
	}
}

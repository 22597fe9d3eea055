//go:build conformance

package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/topologies"
)

// shippedRack is topologies/rack.toml with nodes whose names begin with the
// test's own letters: h1 is a name that whoever uses this machine may have.
func shippedRack(t *testing.T, prefix string) string {
	t.Helper()
	data, err := topologies.Files.ReadFile("rack.toml")
	if err != nil {
		t.Fatal(err)
	}
	const generated = "[generate]\ntype = \"star\"\nhosts = 4\n"
	text, rest, ok := strings.Cut(string(data), generated)
	if !ok {
		t.Fatal("topologies/rack.toml generates no star of 4 hosts any more")
	}
	return regexp.MustCompile(`"h([1-4])"`).ReplaceAllString(text+rest, `"`+prefix+`$1"`) + "\n" + nodes(prefix, 4)
}

// nodes is a switch and its nodes, without defaults.
func nodes(prefix string, n int) string {
	s := fmt.Sprintf("[[switch]]\nname = %q\n", prefix+"s")
	for i := 1; i <= n; i++ {
		s += fmt.Sprintf("[[node]]\nname = \"%s%d\"\nip = \"10.0.0.%d/24\"\n[[link]]\na = \"%s%d:eth0\"\nb = \"%ss:%d\"\n", prefix, i, i, prefix, i, prefix, i)
	}
	return s
}

// upRack is up for a rack that mbpoll is going to ask.
func upRack(t *testing.T, name, toml string) *lab {
	t.Helper()
	simtest.Need(t, "mbpoll", "stdbuf", "tshark")
	return up(t, name, toml)
}

// tty is the pseudo terminal of a segment.
func (l *lab) tty(segment string) string {
	l.t.Helper()
	return strings.TrimSpace(l.cnuas("rack", "tty", segment))
}

var polled = regexp.MustCompile(`(?m)^\[(\d+)\]:\s+(-?\d+)`)

// values are what mbpoll has printed, by register.
func values(t *testing.T, out string) map[int]int {
	t.Helper()
	m := map[int]int{}
	for _, x := range polled.FindAllStringSubmatch(out, -1) {
		r, _ := strconv.Atoi(x[1])
		v, _ := strconv.Atoi(x[2])
		m[r] = v & 0xFFFF // mbpoll prints 16 bits with a sign on request only
	}
	return m
}

// mbpoll asks once and returns the registers that it printed.
func (l *lab) mbpoll(args ...string) map[int]int {
	l.t.Helper()
	out, err := exec.Command("mbpoll", append([]string{"-m", "rtu", "-1", "-q"}, args...)...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("mbpoll %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return values(l.t, string(out))
}

// sample is a reading and when it was printed.
type sample struct {
	at time.Time
	v  float64
}

// sampler collects what a polling mbpoll prints of one register.
type sampler struct {
	mu  sync.Mutex
	buf string
	l   []sample
	bad []string
}

func (s *sampler) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf += string(p)
	for {
		line, rest, ok := strings.Cut(s.buf, "\n")
		if !ok {
			return len(p), nil
		}
		s.buf = rest
		if m := polled.FindStringSubmatch(line); m != nil {
			v, _ := strconv.Atoi(m[2])
			s.l = append(s.l, sample{time.Now(), float64(v & 0xFFFF)})
		} else if strings.Contains(line, "failed") {
			s.bad = append(s.bad, line)
		}
	}
}

func (s *sampler) samples() ([]sample, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sample(nil), s.l...), append([]string(nil), s.bad...)
}

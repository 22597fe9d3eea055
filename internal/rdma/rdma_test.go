package rdma

import (
	"bufio"
	"net/netip"
	"os"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

func TestParseGID(t *testing.T) {
	for in, want := range map[string]string{
		"0000:0000:0000:0000:0000:ffff:0a00:0001": "::ffff:10.0.0.1",
		"fe80:0000:0000:0000:0000:00ff:fe00:0100": "fe80::ff:fe00:100",
		"0000:0000:0000:0000:0000:0000:0000:0000": "",
		"fe80:0000": "",
		"":          "",
		"zz80:0000:0000:0000:0000:00ff:fe00:0100":  "",
		"fe80:0000:0000:0000:0000:00ff:fe00:01000": "",
	} {
		a, ok := parseGID(in)
		if ok != (want != "") || ok && a != netip.MustParseAddr(want) {
			t.Errorf("%q: %v %v, want %q", in, a, ok, want)
		}
	}
}

// What the kernel prints: rxe's sockets, a resolver's, a connected one.
const procUDP = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  297: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 17205 2 0000000000000000 0
  310: 3500007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 1234 2 0000000000000000 0
  311: 0100000A:C350 0200000A:12B7 01 00000000:00000000 00:00000000 00000000     0        0 1235 2 0000000000000000 0
`

func TestCountPort(t *testing.T) {
	if n := countPort(bufio.NewScanner(strings.NewReader(procUDP)), 4791); n != 1 {
		t.Errorf("%d sockets, want 1: remote ports do not count", n)
	}
	for _, bad := range []string{"", "\n\n", "a b c\n", "x :\n", "x 1:zz\n", "x 1:fffff\n"} {
		if n := countPort(bufio.NewScanner(strings.NewReader(bad)), 4791); n != 0 {
			t.Errorf("%q: %d sockets", bad, n)
		}
	}
}

func TestDeviceName(t *testing.T) {
	if n := DeviceName(SIW, 1, "h2"); n != "siw1_h2" {
		t.Error(n)
	}
}

// TestProbeLeavesNothing runs on every kernel: what it finds must agree with
// what the kernel shows of itself, and no device may be left.
func TestProbeLeavesNothing(t *testing.T) {
	simtest.Root(t)
	for _, k := range []Kind{RXE, SIW} {
		s, err := Probe(k)
		if (s == Works) != (err == nil) {
			t.Errorf("%s: %s with error %v", k, s, err)
		}
		if _, serr := os.Stat("/sys/module/" + k.module()); (s == Absent) != (serr != nil) {
			t.Errorf("%s: found %s (%v), and /sys/module says %v", k, s, err, serr)
		}
		t.Logf("%s: %s: %v; namespaces %q", k, s, err, NamespaceMode())
	}
	if l, _ := os.ReadDir(classDir); len(l) != 0 {
		for _, d := range l {
			if strings.Contains(d.Name(), "probe") {
				t.Errorf("device %s is left", d.Name())
			}
		}
	}
}

package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// ibStar is a topology of n nodes on one InfiniBand switch, all links alike.
func ibStar(prefix string, n int, link string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[switch]]\nname = \"%ss\"\nkind = \"ib\"\n[defaults.link]\n%s\n", prefix, link)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "[[node]]\nname = \"%s%d\"\n[[link]]\na = \"%s%d:ib0\"\nb = \"%ss:%d\"\n", prefix, i, prefix, i, prefix, i)
	}
	return b.String()
}

var inet = regexp.MustCompile(`inet (\d+\.\d+\.\d+\.\d+)/`)

// address is the first IPv4 address of an interface of a node.
func (l *lab) address(node, dev string) string {
	l.t.Helper()
	out, err := exec.Command("ip", "-n", node, "-4", "addr", "show", "dev", dev).CombinedOutput()
	m := inet.FindSubmatch(out)
	if err != nil || m == nil {
		l.t.Fatalf("%s: %s has no address: %v\n%s", node, dev, err, out)
	}
	return string(m[1])
}

// awaitActive waits until a subnet manager has made the port of a node's device
// Active.
func (l *lab) awaitActive(nodes ...string) {
	l.t.Helper()
	for _, n := range nodes {
		eventually(l.t, 20*time.Second, "the port of "+n+" is Active", func() bool {
			out, _ := l.try("exec", n, "--", "ibstat", "rxe0", "1")
			return strings.Contains(out, "State: Active")
		})
	}
}

// TestIBStockPrograms runs Debian's verbs programs unmodified between two nodes
// on InfiniBand, addressed by LID alone.
func TestIBStockPrograms(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong", "ib_write_bw", "ibstat")
	l := up(t, "e2e-ibstock", ibStar("ci", 2, "width = 4\nspeed = \"SDR\""))
	l.awaitActive("ci1", "ci2")
	to := l.address("ci1", "mgmt0")
	for _, run := range []string{
		"ib_write_bw -n 1000", "ib_write_bw -n 10 -a", "ib_write_bw -n 1000 -b", "ib_write_bw -n 200 -q 16", "ib_write_bw -n 200 -m 256", "ib_write_bw -D 1",
		"ib_write_bw -n 500 -c UC", "ib_write_bw -n 500 -x 0",
		"ib_read_bw -n 1000", "ib_read_bw -n 500 -e", "ib_read_bw -n 10 -a",
		"ib_send_bw -n 1000", "ib_send_bw -n 500 -e", "ib_send_bw -n 500 -c UC", "ib_send_bw -n 500 -c UD -s 1024", "ib_send_bw -n 500 -b",
		"ib_atomic_bw -n 1000", "ib_atomic_bw -n 500 -A CMP_AND_SWAP",
		"ib_write_lat -n 1000", "ib_write_lat -n 500 -c UC", "ib_read_lat -n 1000", "ib_send_lat -n 1000", "ib_send_lat -n 500 -c UD", "ib_send_lat -n 500 -e", "ib_atomic_lat -n 1000",
	} {
		t.Run(run, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			w := strings.Fields(run)
			argv := append([]string{w[0], "-d", "rxe0", "-F"}, w[1:]...)
			if _, cli := l.pair("ci1", "ci2", to, time.Minute, argv...); !strings.Contains(cli, "#bytes") {
				t.Errorf("no result table:\n%s", cli)
			}
		})
	}
	for _, run := range []string{
		"ibv_rc_pingpong -n 500", "ibv_rc_pingpong -n 500 -e", "ibv_uc_pingpong -n 300", "ibv_uc_pingpong -n 300 -e",
		"ibv_ud_pingpong -n 300", "ibv_ud_pingpong -n 300 -e", "ibv_srq_pingpong -n 200", "ibv_srq_pingpong -n 200 -e",
		"ibv_rc_pingpong -n 100 -g 0",
	} {
		t.Run(run, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			l.pair("ci1", "ci2", to, time.Minute, append(strings.Fields(run), "-d", "rxe0", "-p", "18515")...)
		})
	}
	s := l.status()
	for _, n := range []string{"ci1:ib0", "ci2:ib0"} {
		if p := port(t, s, n); p.TxFrames < 10000 || p.RxFrames < 10000 {
			t.Errorf("%s sent %d packets and received %d: the programs did not go over it", n, p.TxFrames, p.RxFrames)
		}
	}
}

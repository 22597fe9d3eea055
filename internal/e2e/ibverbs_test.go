//go:build conformance

package e2e

import (
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

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

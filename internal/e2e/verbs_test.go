// Package e2e tests the program as its users meet it: the command line, stock
// verbs programs inside nodes, tcpdump and tshark beside them. It has tests
// only.
package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// TestStockPrograms runs Debian's programs unmodified between two nodes.
func TestStockPrograms(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong", "ibv_devinfo", "ibv_devices", "ib_write_bw")
	l := up(t, "e2e-stock", star("ca", 2, "25Gbps", ""))

	out := l.cnuas("exec", "ca1", "--", "ibv_devices")
	if !strings.Contains(out, "rxe0") {
		t.Errorf("ibv_devices does not list rxe0:\n%s", out)
	}
	out = l.cnuas("exec", "ca1", "--", "ibv_devinfo", "-v")
	for _, want := range []string{"hca_id:\trxe0", "PORT_ACTIVE", "Ethernet", "active_mtu:\t\t4096", "::ffff:10.0.0.1, RoCE v2", "fe80::", "fd00::1"} {
		if !strings.Contains(out, want) {
			t.Errorf("ibv_devinfo -v lacks %q:\n%s", want, out)
		}
	}
	dev := []string{"-d", "rxe0", "-F"}
	for _, c := range []struct {
		name string
		argv []string
	}{
		{"write_bw", []string{"ib_write_bw", "-x", "1", "-n", "1000"}},
		{"write_bw all sizes", []string{"ib_write_bw", "-x", "1", "-n", "10", "-a"}},
		{"write_bw both ways", []string{"ib_write_bw", "-x", "1", "-n", "1000", "-b"}},
		{"write_bw 16 queue pairs", []string{"ib_write_bw", "-x", "1", "-n", "500", "-q", "16"}},
		{"write_bw duration", []string{"ib_write_bw", "-x", "1", "-D", "1"}},
		{"write_bw inline", []string{"ib_write_bw", "-x", "1", "-n", "1000", "-s", "64", "-I", "64"}},
		{"write_bw list", []string{"ib_write_bw", "-x", "1", "-n", "1024", "-l", "8"}},
		{"write_bw mtu 256", []string{"ib_write_bw", "-x", "1", "-n", "200", "-m", "256"}},
		{"write_bw mtu 1024", []string{"ib_write_bw", "-x", "1", "-n", "200", "-m", "1024"}},
		{"write_bw IPv6", []string{"ib_write_bw", "-x", "2", "-n", "1000"}},
		{"write_bw link-local", []string{"ib_write_bw", "-x", "0", "-n", "1000"}},
		{"read_bw", []string{"ib_read_bw", "-x", "1", "-n", "1000"}},
		{"read_bw all sizes", []string{"ib_read_bw", "-x", "1", "-n", "10", "-a"}},
		{"read_bw events", []string{"ib_read_bw", "-x", "1", "-n", "500", "-e"}},
		{"read_bw both ways", []string{"ib_read_bw", "-x", "1", "-n", "500", "-b"}},
		{"read_bw 16 queue pairs", []string{"ib_read_bw", "-x", "1", "-n", "200", "-q", "16"}},
		{"send_bw", []string{"ib_send_bw", "-x", "1", "-n", "1000"}},
		{"send_bw all sizes", []string{"ib_send_bw", "-x", "1", "-n", "10", "-a"}},
		{"send_bw both ways", []string{"ib_send_bw", "-x", "1", "-n", "1000", "-b"}},
		{"send_bw events", []string{"ib_send_bw", "-x", "1", "-n", "500", "-e"}},
		{"send_bw 16 queue pairs", []string{"ib_send_bw", "-x", "1", "-n", "200", "-q", "16"}},
		{"atomic_bw", []string{"ib_atomic_bw", "-x", "1", "-n", "1000"}},
		{"atomic_bw compare and swap", []string{"ib_atomic_bw", "-x", "1", "-n", "1000", "-A", "CMP_AND_SWAP"}},
		{"write_lat", []string{"ib_write_lat", "-x", "1", "-n", "1000"}},
		{"write_lat all sizes", []string{"ib_write_lat", "-x", "1", "-n", "20", "-a"}},
		{"read_lat", []string{"ib_read_lat", "-x", "1", "-n", "1000"}},
		{"send_lat", []string{"ib_send_lat", "-x", "1", "-n", "1000"}},
		{"send_lat events", []string{"ib_send_lat", "-x", "1", "-n", "500", "-e"}},
		{"atomic_lat", []string{"ib_atomic_lat", "-x", "1", "-n", "1000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			argv := append([]string{c.argv[0]}, append(dev, c.argv[1:]...)...)
			_, cli := l.pair("ca1", "ca2", "10.0.0.1", time.Minute, argv...)
			if !strings.Contains(cli, "#bytes") {
				t.Errorf("no result table:\n%s", cli)
			}
		})
	}
	for _, argv := range [][]string{
		{"ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-n", "500"},
		{"ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-n", "500", "-e"},
		{"ibv_rc_pingpong", "-d", "rxe0", "-g", "2", "-n", "100", "-s", "1000000", "-c"},
	} {
		t.Run(strings.Join(argv, " "), func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			_, cli := l.pair("ca1", "ca2", "10.0.0.1", time.Minute, argv...)
			if !strings.Contains(cli, "iters in") {
				t.Errorf("no result:\n%s", cli)
			}
		})
	}
	s := l.status()
	if !s.Verdict.Faithful {
		t.Logf("verdict: %s", s.Verdict)
	}
	for _, p := range []string{"ca1:eth0", "ca2:eth0", "cas:1", "cas:2"} {
		if d := port(t, s, p).Drops; len(d) != 0 {
			t.Errorf("%s dropped %v", p, d)
		}
	}
	for _, n := range s.Nodes {
		c := n.Interfaces[0].RDMA.Counters
		if c["retransmitted"] != 0 && c["rx_rnr_naks"] == 0 {
			t.Errorf("%s: %d retransmitted, and no receiver was ever not ready", n.Name, c["retransmitted"])
		}
		for _, k := range []string{"timeouts", "tx_seq_naks", "memory_failures", "dropped_malformed"} {
			if c[k] != 0 {
				t.Errorf("%s: %s = %d on a network without loss", n.Name, k, c[k])
			}
		}
	}
}

// TestNodeWithoutVerbs: plain kernel networking beside RDMA nodes.
func TestNodeWithoutVerbs(t *testing.T) {
	simtest.Need(t, "ping", "ibv_devices")
	toml := strings.Replace(star("cb", 2, "10Gbps", ""), "name = \"cb1\"\n", "name = \"cb1\"\nstack = \"none\"\n", 1)
	l := up(t, "e2e-none", toml)
	if out := l.cnuas("exec", "cb1", "--", "ibv_devices"); strings.Contains(out, "rxe0") {
		t.Errorf("a node without verbs has a device:\n%s", out)
	}
	if out := l.cnuas("exec", "cb2", "--", "ibv_devices"); !strings.Contains(out, "rxe0") {
		t.Errorf("cb2 has no device:\n%s", out)
	}
	l.cnuas("exec", "cb1", "--", "ping", "-c", "1", "-W", "2", "10.0.0.2")
}

// TestShell runs programs from a shell that exec started, and passes statuses
// and signals through.
func TestShell(t *testing.T) {
	l := up(t, "e2e-shell", star("cb", 2, "10Gbps", ""))
	out := l.cnuas("exec", "cb1", "--", "sh", "-c", "ibv_devices && ip -4 -o addr show eth0 && ls /sys/class/net && ls /dev/infiniband")
	for _, want := range []string{"rxe0", "10.0.0.1/24", "eth0", "uverbs0"} {
		if !strings.Contains(out, want) {
			t.Errorf("the shell's output lacks %q:\n%s", want, out)
		}
	}
	for _, c := range []struct {
		argv []string
		want int
	}{
		{[]string{"true"}, 0},
		{[]string{"sh", "-c", "exit 7"}, 7},
		{[]string{"sh", "-c", "kill -TERM $$"}, 128 + 15},
		{[]string{"no-such-program"}, 127},
		{[]string{"/etc/passwd"}, 126},
	} {
		_, err := l.try(append([]string{"exec", "cb1", "--"}, c.argv...)...)
		got := 0
		if e, ok := err.(*exec.ExitError); ok {
			got = e.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("exec %v: status %d, want %d", c.argv, got, c.want)
		}
	}
	j := l.start("cb1", "sh", "-c", "trap 'echo got it; exit 3' INT; echo ready; while :; do sleep 0.05; done")
	eventually(t, 5*time.Second, "the shell runs", func() bool { return strings.Contains(j.out.String(), "ready") })
	j.cmd.Process.Signal(interrupt)
	j.wait(t, 5*time.Second)
	if j.cmd.ProcessState.ExitCode() != 3 || !strings.Contains(j.out.String(), "got it") {
		t.Errorf("SIGINT: status %d, output %q", j.cmd.ProcessState.ExitCode(), j.out.String())
	}
	if out, err := l.try("exec", "cb9", "--", "true"); err == nil || !strings.Contains(out, "cb9") {
		t.Errorf("a node that is not there: %v %s", err, out)
	}
	// ping and TCP go through the same switch.
	simtest.Need(t, "ping")
	l.cnuas("exec", "cb1", "--", "ping", "-c", "2", "-i", "0.1", "-W", "2", "10.0.0.2")
	l.cnuas("exec", "cb1", "--", "ping", "-c", "2", "-i", "0.1", "-W", "2", "fd00::2")
}

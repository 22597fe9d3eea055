//go:build conformance

package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// TestUnreliablePrograms runs Debian's programs over UC, UD and shared receive
// queues. UC and UD lose what finds no receive work request, and then perftest
// waits for ever: no program posts fewer than it will be sent.
func TestUnreliablePrograms(t *testing.T) {
	simtest.Need(t, "ibv_ud_pingpong", "ibv_uc_pingpong", "ibv_srq_pingpong", "ib_send_bw")
	l := up(t, "e2e-ud", star("cj", 2, "10Gbps", ""))
	for _, line := range []string{
		"ibv_uc_pingpong -d rxe0 -g 1 -n 300",
		"ibv_uc_pingpong -d rxe0 -g 2 -n 100 -e -s 100000",
		"ibv_ud_pingpong -d rxe0 -g 1 -n 300",
		"ibv_ud_pingpong -d rxe0 -g 2 -n 300 -e -s 4000",
		"ibv_srq_pingpong -d rxe0 -g 1 -n 300",
		"ibv_srq_pingpong -d rxe0 -g 2 -n 300 -e -q 4",
		"ib_send_bw -c UC -n 300",
		"ib_send_bw -c UC -n 300 -e",
		"ib_send_bw -c UC -n 100 -q 16",
		"ib_send_bw -c UC -n 256 -l 8",
		"ib_send_bw -c UC -n 300 -b",
		"ib_send_lat -c UC -n 300 -e",
		"ib_write_bw -c UC -n 500",
		"ib_write_bw -c UC -n 200 -q 16",
		"ib_write_bw -c UC -n 512 -l 8",
		"ib_write_lat -c UC -n 300",
		"ib_send_bw -c UD -n 500",
		"ib_send_bw -c UD -n 500 -x 2",
		"ib_send_bw -c UD -n 500 -e",
		"ib_send_bw -c UD -n 200 -q 16",
		"ib_send_bw -c UD -n 512 -l 8",
		"ib_send_bw -c UD -n 300 -b",
		"ib_send_bw -c UD -n 100 -a",
		"ib_send_bw -c UD -n 300 -s 1024 -m 1024",
		"ib_send_bw -c UD -n 300 -s 64 -I 64",
		"ib_send_lat -c UD -n 300",
		"ib_send_lat -c UD -n 300 -e",
		"ib_send_bw --use-srq -n 500",
		"ib_send_bw --use-srq -n 300 -e -q 4",
		"ib_send_bw --use-srq -n 100 -q 16",
		"ib_send_bw --use-srq -c UD -n 300",
	} {
		t.Run(line, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			argv, want := strings.Fields(line), "iters in"
			if strings.HasPrefix(line, "ib_") {
				argv, want = append(argv, "-d", "rxe0", "-F"), "#bytes"
				if !strings.Contains(line, " -x ") {
					argv = append(argv, "-x", "1")
				}
			}
			if _, cli := l.pair("cj1", "cj2", "10.0.0.1", 30*time.Second, argv...); !strings.Contains(cli, want) {
				t.Errorf("no result:\n%s", cli)
			}
		})
	}
	s := l.status()
	for _, n := range s.Nodes {
		c := n.Interfaces[0].RDMA.Counters
		if c["tx_datagrams"] == 0 || c["rx_datagrams"] == 0 {
			t.Errorf("%s: no datagrams: %v", n.Name, c)
		}
		for _, k := range []string{"memory_failures", "local_errors", "cq_overruns", "dropped_malformed", "dropped_q_key", "dropped_opcode", "dropped_address"} {
			if c[k] != 0 {
				t.Errorf("%s: %s = %d", n.Name, k, c[k])
			}
		}
	}
}

// TestMulticast: what a program sends to a group reaches the members in other
// nodes, and those in its own.
func TestMulticast(t *testing.T) {
	simtest.Need(t, "ib_send_bw")
	l := up(t, "e2e-mcast", star("cj", 2, "10Gbps", ""))
	for _, line := range []string{
		"ib_send_bw -d rxe0 -F -c UD -g -n 300 -x 2",
		"ib_send_bw -d rxe0 -F -c UD -g -n 300 -x 1 -M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3",
		"ib_send_lat -d rxe0 -F -c UD -g -n 100 -x 0",
	} {
		t.Run(line, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			for _, client := range []string{"cj1", "cj2"} {
				if _, cli := l.pair("cj1", client, "10.0.0.1", 30*time.Second, strings.Fields(line)...); !strings.Contains(cli, "#bytes") {
					t.Errorf("from %s: no result:\n%s", client, cli)
				}
			}
		})
	}
}

// TestCaptureDatagrams: tshark decodes our datagrams.
func TestCaptureDatagrams(t *testing.T) {
	simtest.Need(t, "tshark", "ibv_ud_pingpong")
	l := up(t, "e2e-udcap", star("cj", 2, "10Gbps", ""))
	file := filepath.Join(t.TempDir(), "ud.pcapng")
	c := l.startCmd(exec.Command(cnuasBin, "capture", "cj1:eth0", "-w", file, "udp", "port", "4791"))
	eventually(t, 5*time.Second, "capturing", func() bool { return strings.Contains(c.out.String(), "capturing at") })
	l.pair("cj1", "cj2", "10.0.0.1", 30*time.Second, strings.Fields("ibv_ud_pingpong -d rxe0 -g 1 -n 400 -s 1000")...)
	l.pair("cj1", "cj2", "10.0.0.1", 30*time.Second, strings.Fields("ibv_uc_pingpong -d rxe0 -g 1 -n 400 -s 2000")...)
	c.cmd.Process.Signal(interrupt)
	if err := c.wait(t, 10*time.Second); err != nil {
		t.Fatalf("capture: %v\n%s", err, c.out.String())
	}
	rows := fields(t, file, "infiniband.bth.opcode == 100", "ip.src", "infiniband.deth.q_key", "infiniband.deth.srcqp", "infiniband.bth.destqp", "udp.length")
	if len(rows) < 800 {
		t.Fatalf("%d datagrams, want 800", len(rows))
	}
	qps := map[string][2]uint64{}
	for _, r := range rows {
		// ibv_ud_pingpong's Q_Key; UDP 8, BTH 12, DETH 8, ICRC 4.
		if r[1] != "286331153" && r[1] != "0x0000000011111111" && r[1] != "0x11111111" || r[4] != "1032" {
			t.Fatalf("datagram %v", r)
		}
		from, _ := strconv.ParseUint(r[2], 0, 32)
		to, _ := strconv.ParseUint(r[3], 0, 32)
		qps[r[0]] = [2]uint64{from, to}
	}
	if a, b := qps["10.0.0.1"], qps["10.0.0.2"]; a[0] == 0 || a[0] != b[1] || a[1] != b[0] {
		t.Errorf("queue pairs %v", qps)
	}
	if rows = fields(t, file, "infiniband.bth.opcode >= 32 && infiniband.bth.opcode <= 36", "infiniband.bth.a"); len(rows) < 800 {
		t.Errorf("%d packets of UC, want 800", len(rows))
	}
	checkICRC(t, file)
}

// TestPortEvents: a program hears of its link.
func TestPortEvents(t *testing.T) {
	simtest.Need(t, "ibv_asyncwatch")
	l := up(t, "e2e-async", star("cj", 1, "10Gbps", ""))
	j := l.start("cj1", "stdbuf", "-oL", "ibv_asyncwatch", "-d", "rxe0")
	eventually(t, 5*time.Second, "ibv_asyncwatch runs", func() bool { return strings.Contains(j.out.String(), "rxe0") })
	l.cnuas("fault", "link", "cj1:eth0", "down")
	eventually(t, 5*time.Second, "port error", func() bool { return strings.Contains(j.out.String(), "(10)") })
	l.cnuas("fault", "link", "cj1:eth0", "up")
	eventually(t, 5*time.Second, "port active", func() bool { return strings.Contains(j.out.String(), "(9)") })
}

// TestTwoInterfaces: a node with two interfaces has two devices, each with a
// network of its own.
func TestTwoInterfaces(t *testing.T) {
	simtest.Need(t, "ibv_ud_pingpong", "ibv_rc_pingpong")
	links, toml := "", "[defaults]\nlink = { rate = \"10Gbps\", delay = \"500ns\" }\nnode = { mtu = 4200 }\n[[switch]]\nname = \"cjs\"\n[[switch]]\nname = \"cjt\"\n"
	for _, n := range []string{"1", "2"} {
		toml += "[[node]]\nname = \"cj" + n + "\"\n"
		for k, sw := range []string{"cjs", "cjt"} {
			k := string(rune('0' + k))
			toml += "[[node.port]]\nname = \"eth" + k + "\"\nip = [\"10.0." + k + "." + n + "/24\"]\n"
			links += "[[link]]\na = \"cj" + n + ":eth" + k + "\"\nb = \"" + sw + ":" + n + "\"\n"
		}
	}
	l := up(t, "e2e-two", toml+links)
	if out := l.cnuas("exec", "cj1", "--", "ibv_devices"); !strings.Contains(out, "rxe0") || !strings.Contains(out, "rxe1") {
		t.Fatalf("ibv_devices:\n%s", out)
	}
	for dev, addr := range map[string]string{"rxe0": "10.0.0.1", "rxe1": "10.0.1.1"} {
		for _, p := range []string{"ibv_rc_pingpong", "ibv_ud_pingpong"} {
			l.pair("cj1", "cj2", addr, 30*time.Second, p, "-d", dev, "-g", "1", "-n", "100")
		}
	}
	for _, n := range l.status().Nodes {
		for _, i := range n.Interfaces {
			if c := i.RDMA.Counters; c["tx_datagrams"] < 100 || c["tx_requests"] < 100 {
				t.Errorf("%s %s: %v", n.Name, i.Port.Name, c)
			}
		}
	}
}

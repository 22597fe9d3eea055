package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// TestTcpdumpInTheNamespace: tcpdump on the node's interface shows the RoCEv2
// frames of both directions.
func TestTcpdumpInTheNamespace(t *testing.T) {
	simtest.Need(t, "tcpdump")
	l := up(t, "e2e-tcpdump", star("ce", 2, "10Gbps", ""))
	td := l.startCmd(exec.Command("ip", "netns", "exec", "ce1", "tcpdump", "-lni", "eth0", "-c", "200", "udp", "port", "4791"))
	eventually(t, 5*time.Second, "tcpdump listens", func() bool { return strings.Contains(td.out.String(), "listening on") })
	l.mirrored("ce1")
	l.pair("ce1", "ce2", "10.0.0.1", time.Minute, "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "500")
	if err := td.wait(t, 10*time.Second); err != nil {
		t.Fatalf("tcpdump: %v\n%s", err, td.out.String())
	}
	for _, want := range []string{"IP 10.0.0.2.", "IP 10.0.0.1.", "> 10.0.0.1.4791: UDP", "> 10.0.0.2.4791: UDP"} {
		if !strings.Contains(td.out.String(), want) {
			t.Errorf("tcpdump shows no %q:\n%.3000s", want, td.out.String())
		}
	}
	// Nobody answers the mirrored frames by ICMP.
	if out := l.cnuas("exec", "ce1", "--", "sh", "-c", "cat /proc/net/snmp | grep ^Icmp: | tail -n1"); strings.Fields(out)[16] != "0" {
		t.Errorf("destination unreachable sent: %s", out)
	}
}

// mirrored waits until the daemon has seen that somebody captures in the node:
// a test cannot type as slowly as a person.
func (l *lab) mirrored(node string) {
	l.t.Helper()
	eventually(l.t, 5*time.Second, "the capture in "+node+" is noticed", func() bool {
		for _, n := range l.status().Nodes {
			if n.Name == node {
				return n.Interfaces[0].Mirrored
			}
		}
		return false
	})
}

// fields runs tshark over a file and returns the rows of some fields.
func fields(t *testing.T, file, filter string, names ...string) [][]string {
	t.Helper()
	simtest.Need(t, "tshark")
	args := []string{"-r", file, "-Y", filter, "-T", "fields", "-E", "separator=;", "-E", "occurrence=f"}
	for _, n := range names {
		args = append(args, "-e", n)
	}
	var out, errb bytes.Buffer
	c := exec.Command("tshark", args...)
	c.Stdout, c.Stderr = &out, &errb
	if err := c.Run(); err != nil {
		t.Fatalf("tshark: %v\n%s", err, errb.String())
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if line != "" {
			rows = append(rows, strings.Split(line, ";"))
		}
	}
	return rows
}

// TestCapture captures at a node and at a switch port at once while ib_write_bw
// runs, and lets tshark read the file.
func TestCapture(t *testing.T) {
	simtest.Need(t, "tshark")
	l := up(t, "e2e-capture", star("cf", 2, "10Gbps", ""))
	file := filepath.Join(t.TempDir(), "x.pcapng")
	c := l.startCmd(exec.Command(cnuasBin, "capture", "cf1:eth0", "cfs:2", "-w", file, "udp", "port", "4791"))
	eventually(t, 5*time.Second, "capturing", func() bool { return strings.Contains(c.out.String(), "capturing at") })
	l.pair("cf1", "cf2", "10.0.0.1", time.Minute, "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "200", "-s", "10000")
	c.cmd.Process.Signal(interrupt)
	if err := c.wait(t, 10*time.Second); err != nil {
		t.Fatalf("capture: %v\n%s", err, c.out.String())
	}
	if !strings.Contains(c.out.String(), " 0 lost") {
		t.Errorf("capture says: %s", c.out.String())
	}
	rows := fields(t, file, "infiniband.bth.opcode", "frame.interface_name", "ip.src", "udp.srcport", "udp.dstport", "infiniband.bth.opcode", "ip.dsfield.dscp", "ip.dsfield.ecn")
	if len(rows) < 2*600 {
		t.Fatalf("%d RoCE frames, want at least 1200 at two ports", len(rows))
	}
	seen := map[string]int{}
	for _, r := range rows {
		seen[r[0]+" "+r[1]]++
		if p, _ := strconv.Atoi(r[2]); p < 0xc000 || r[3] != "4791" {
			t.Fatalf("ports %s to %s", r[2], r[3])
		}
		if r[5] != "26" || r[6] != "2" && r[6] != "3" {
			t.Fatalf("dscp %s ecn %s, want 26 and ECT(0)", r[5], r[6])
		}
	}
	for _, k := range []string{"cf1:eth0 10.0.0.1", "cf1:eth0 10.0.0.2", "cfs:2 10.0.0.1", "cfs:2 10.0.0.2"} {
		if seen[k] == 0 {
			t.Errorf("no frame at %s; seen %v", k, seen)
		}
	}
	checkICRC(t, file)
}

// TestCapturePFC: pause frames are real frames in a capture.
func TestCapturePFC(t *testing.T) {
	simtest.Need(t, "tshark")
	l := up(t, "e2e-pfc", star("cf", 2, "10Gbps", ""))
	file := filepath.Join(t.TempDir(), "pfc.pcapng")
	c := l.startCmd(exec.Command(cnuasBin, "capture", "cfs:1", "-w", file, "-c", "3", "ether", "proto", "0x8808"))
	eventually(t, 5*time.Second, "capturing", func() bool { return strings.Contains(c.out.String(), "capturing at") })
	l.cnuas("fault", "storm", "cf1:eth0", "--priority", "3,4", "--duty", "50%")
	if err := c.wait(t, 10*time.Second); err != nil {
		t.Fatalf("capture: %v\n%s", err, c.out.String())
	}
	rows := fields(t, file, "macc", "eth.dst", "macc.opcode", "macc.cbfc.enbv", "frame.len")
	if len(rows) != 3 {
		t.Fatalf("%d pause frames, want 3", len(rows))
	}
	for _, r := range rows {
		if r[0] != "01:80:c2:00:00:01" || r[1] != "0x0101" || !strings.HasSuffix(r[2], "18") || r[3] != "60" {
			t.Errorf("pause frame %v", r)
		}
	}
}

// TestCaptureToPipe feeds tshark through standard output.
func TestCaptureToPipe(t *testing.T) {
	simtest.Need(t, "tshark", "ping")
	l := up(t, "e2e-pipe", star("cf", 2, "10Gbps", ""))
	j := l.startCmd(exec.Command("sh", "-c", cnuasBin+" capture cfs:1 -w - -c 4 icmp | tshark -r - -T fields -e ip.src -e icmp.type"))
	eventually(t, 5*time.Second, "capturing", func() bool { return strings.Contains(j.out.String(), "capturing at") })
	l.cnuas("exec", "cf2", "--", "ping", "-c", "3", "-i", "0.1", "10.0.0.1")
	if err := j.wait(t, 20*time.Second); err != nil {
		t.Fatalf("%v\n%s", err, j.out.String())
	}
	if !strings.Contains(j.out.String(), "10.0.0.2\t8") || !strings.Contains(j.out.String(), "10.0.0.1\t0") {
		t.Errorf("tshark shows:\n%s", j.out.String())
	}
	for _, args := range [][]string{
		{"capture", "cfs:7", "-w", "-"}, {"capture", "-w", "-"}, {"capture", "cfs:1"},
		{"capture", "cfs:1", "-w", "-", "no", "such", "filter"}, {"capture", "cf9:eth0", "-w", "-"},
	} {
		if out, err := l.try(args...); err == nil {
			t.Errorf("%v was accepted: %s", args, out)
		}
	}
}

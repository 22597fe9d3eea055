package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/internal/status"
)

// mgmt is the address of a node on the management network.
func mgmt(t *testing.T, s *status.Fabric, node string) string {
	t.Helper()
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Name == node && n.Management != nil {
			ip, _, _ := strings.Cut(n.Management.Address, "/")
			return ip
		}
	}
	t.Fatalf("%s has no management port", node)
	return ""
}

var ibstatField = regexp.MustCompile(`(?m)^\s+(State|Base lid|SM lid|Rate|Physical state): (.*)$`)

// ibstat is what stock ibstat prints of the first port of a node.
func (l *lab) ibstat(node string) map[string]string {
	l.t.Helper()
	m := map[string]string{}
	for _, f := range ibstatField.FindAllStringSubmatch(l.cnuas("exec", node, "--", "ibstat"), -1) {
		if _, ok := m[f[1]]; !ok {
			m[f[1]] = f[2]
		}
	}
	return m
}

// TestIBStatBeforeAndAfter: Debian's ibstat shows what a subnet manager does,
// ours and then opensm after it at the same port. LIDs stay.
func TestIBStatBeforeAndAfter(t *testing.T) {
	simtest.Need(t, "ibstat")
	simtest.Need(t, "opensm")
	l := up(t, "e2e-ibstat", ibTree("cif", ""), "--sm", "none")
	if m := l.ibstat("cif2"); m["State"] != "Initializing" || m["Physical state"] != "LinkUp" || m["Base lid"] != "0" || m["SM lid"] != "0" || m["Rate"] != "8" && m["Rate"] != "10" {
		t.Errorf("before: %v", m)
	}
	l.cnuas("sm", "start", "cif1")
	m := l.ibstat("cif2")
	if m["State"] != "Active" || m["Base lid"] == "0" || m["SM lid"] == "0" {
		t.Errorf("after: %v", m)
	}
	// opensm at the port of ours is refused, as by the kernel.
	out, err := l.try("exec", "cif1", "--", "opensm", "-o", "-f", "-")
	if err == nil && !strings.Contains(out, "ERR") {
		t.Errorf("opensm beside ours: %s", out)
	}
	if x := l.managers(); len(x) != 1 || x[0].State != "Master" {
		t.Errorf("ours after opensm was refused: %+v", x)
	}
	l.cnuas("sm", "stop", "cif1")
	tmp := t.TempDir()
	out, err = l.try("exec", "cif1", "--", "env", "OSM_TMP_DIR="+tmp, "OSM_CACHE_DIR="+tmp, "opensm", "-o", "-f", filepath.Join(tmp, "log"))
	log, _ := os.ReadFile(filepath.Join(tmp, "log"))
	if err != nil || !strings.Contains(string(log), "SUBNET UP") || strings.Contains(string(log), "ERR ") {
		t.Fatalf("opensm: %v\n%s\n%s", err, out, log)
	}
	if now := l.ibstat("cif2"); now["State"] != "Active" || now["Base lid"] != m["Base lid"] {
		t.Errorf("after opensm: %v, before %v", now, m)
	}
	s := l.status()
	for _, sw := range s.Switches {
		if sw.LID == 0 || sw.LID > 64 {
			t.Errorf("%s has LID %d", sw.Name, sw.LID)
		}
	}
}

// TestIBWriteByLID runs the stock programs by LID, and looks at the capture of
// a port with tshark.
func TestIBWriteByLID(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong")
	simtest.Need(t, "tshark")
	l := up(t, "e2e-iblid", ibTree("cig", ""))
	ip := mgmt(t, l.status(), "cig1")
	file := filepath.Join(t.TempDir(), "lid.pcapng")
	c := l.startCmd(exec.Command(cnuasBin, "capture", "cigl1:1", "-s", "64", "-w", file))
	eventually(t, 5*time.Second, "capturing", func() bool { return strings.Contains(c.out.String(), "capturing at") })
	_, cli := l.pair("cig1", "cig4", ip, time.Minute, "ib_write_bw", "-d", "rxe0", "-F", "-n", "300")
	if !strings.Contains(cli, "Link type       : IB") || !strings.Contains(cli, "LID 0x") {
		t.Errorf("ib_write_bw printed:\n%s", cli)
	}
	l.pair("cig1", "cig4", ip, time.Minute, "ibv_rc_pingpong", "-d", "rxe0", "-p", "18515", "-n", "200")
	c.cmd.Process.Signal(interrupt)
	if err := c.wait(t, 10*time.Second); err != nil {
		t.Fatalf("capture: %v\n%s", err, c.out.String())
	}
	s := l.status()
	a, b := ibPort(t, s, "cig1:ib0").IB.LID, ibPort(t, s, "cig4:ib0").IB.LID
	ops := map[string]int{}
	for _, r := range fields(t, file, "infiniband.bth.opcode && infiniband.lrh.vl != 15", "infiniband.lrh.slid", "infiniband.lrh.dlid", "infiniband.bth.opcode") {
		x, _ := strconv.ParseUint(r[0], 0, 16)
		y, _ := strconv.ParseUint(r[1], 0, 16)
		if !(uint16(x) == a && uint16(y) == b || uint16(x) == b && uint16(y) == a) {
			continue
		}
		ops[r[2]]++
	}
	// RDMA WRITE First, Middle, Last, SEND Only and Acknowledge.
	for _, op := range []string{"6", "7", "8", "17"} {
		if ops[op] == 0 {
			t.Errorf("no packet of opcode %s between LIDs %d and %d: %v", op, a, b, ops)
		}
	}
	for _, n := range s.Nodes {
		for _, p := range n.IBPorts {
			if p.TotalDrops() != 0 {
				t.Errorf("%s dropped %v", p.Name, p.Drops)
			}
		}
	}
}

// TestIBCablePulledUnderWrite: the way of a running ib_write_bw loses a cable;
// it goes on over the other spine, and LIDs stay.
func TestIBCablePulledUnderWrite(t *testing.T) {
	l := up(t, "e2e-ibpull", ibTree("cih", ""))
	s := l.status()
	ip := mgmt(t, s, "cih1")
	lid := ibPort(t, s, "cih1:ib0").IB.LID
	srv := l.start("cih1", "ib_write_bw", "-d", "rxe0", "-F", "-D", "6")
	l.listening("cih1", "18515")
	cli := l.start("cih4", "ib_write_bw", "-d", "rxe0", "-F", "-D", "6", ip)
	used := ""
	eventually(t, 10*time.Second, "writes pass a spine", func() bool {
		now := l.status()
		for _, p := range []string{"cihl2:3", "cihl2:4"} {
			if ibPort(t, now, p).IB.Counters["xmit_data"] > 1<<20 {
				used = p
			}
		}
		return used != ""
	})
	other := map[string]string{"cihl2:3": "cihl2:4", "cihl2:4": "cihl2:3"}[used]
	before := ibPort(t, l.status(), other).IB.Counters["xmit_data"]
	l.cnuas("fault", "link", used, "down")
	if err := cli.wait(t, time.Minute); err != nil {
		t.Fatalf("client: %v\n%s", err, cli.out.String())
	}
	if err := srv.wait(t, 10*time.Second); err != nil {
		t.Fatalf("server: %v\n%s", err, srv.out.String())
	}
	s = l.status()
	if n := ibPort(t, s, other).IB.Counters["xmit_data"] - before; n < 1<<20 {
		t.Errorf("%d words went over the other spine", n)
	}
	if s.SMs[0].Traps == 0 || ibPort(t, s, "cih1:ib0").IB.LID != lid {
		t.Errorf("%d traps, LID %d, was %d", s.SMs[0].Traps, ibPort(t, s, "cih1:ib0").IB.LID, lid)
	}
}

// TestHybrid: one node, two networks: rxe0 is on InfiniBand, rxe1 on Ethernet.
func TestHybrid(t *testing.T) {
	l := up(t, "e2e-hybrid", `
[[node]]
name = "cii1"
[[node]]
name = "cii2"
[[switch]]
name = "ciib"
kind = "ib"
[[switch]]
name = "ciie"
[defaults.link]
rate = "4Gbps"
width = 1
speed = "DDR"
[[link]]
a = "cii1:ib0"
b = "ciib:1"
[[link]]
a = "cii2:ib0"
b = "ciib:2"
[[link]]
a = "cii1:eth0"
b = "ciie:1"
[[link]]
a = "cii2:eth0"
b = "ciie:2"
`)
	s := l.status()
	ip, _, _ := strings.Cut(s.Nodes[0].Interfaces[0].Addresses[0], "/")
	for dev, kind := range map[string]string{"rxe0": "IB", "rxe1": "Ethernet"} {
		args := []string{"ib_write_bw", "-d", dev, "-F", "-n", "200"}
		if dev == "rxe1" {
			args = append(args, "-x", "1")
		}
		_, cli := l.pair("cii1", "cii2", ip, time.Minute, args...)
		if !strings.Contains(cli, "Link type       : "+kind) {
			t.Errorf("%s:\n%s", dev, cli)
		}
	}
	s = l.status()
	if n := ibPort(t, s, "ciib:1").IB.Counters["xmit_pkts"]; n < 3000 {
		t.Errorf("%d packets on InfiniBand", n)
	}
	if n := port(t, s, "ciie:1").TxFrames; n < 3000 {
		t.Errorf("%d frames on Ethernet", n)
	}
}

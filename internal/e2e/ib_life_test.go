package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/internal/status"
	"cnuas/internal/topology"
)

// ibTree is a fat tree of two leaves, two spines and two hosts at each leaf.
func ibTree(prefix, extra string) string {
	var b strings.Builder
	b.WriteString(extra + "\n[defaults.link]\nwidth = 4\nspeed = \"SDR\"\n")
	for _, n := range []string{"l1", "l2", "x1", "x2"} {
		fmt.Fprintf(&b, "[[switch]]\nname = \"%s%s\"\nkind = \"ib\"\n", prefix, n)
	}
	link := func(a string, b2 string) {
		fmt.Fprintf(&b, "[[link]]\na = \"%s%s\"\nb = \"%s%s\"\n", prefix, a, prefix, b2)
	}
	for i := 1; i <= 4; i++ {
		fmt.Fprintf(&b, "[[node]]\nname = \"%s%d\"\n", prefix, i)
		link(fmt.Sprintf("%d:ib0", i), fmt.Sprintf("l%d:%d", (i+1)/2, (i-1)%2+1))
	}
	for l := 1; l <= 2; l++ {
		for s := 1; s <= 2; s++ {
			link(fmt.Sprintf("l%d:%d", l, 2+s), fmt.Sprintf("x%d:%d", s, l))
		}
	}
	return b.String()
}

// ibPort finds an InfiniBand port in a snapshot.
func ibPort(t *testing.T, s *status.Fabric, name string) *status.Port {
	t.Helper()
	for i := range s.Nodes {
		for j := range s.Nodes[i].IBPorts {
			if p := &s.Nodes[i].IBPorts[j].Port; p.Name == name {
				return p
			}
		}
	}
	return port(t, s, name)
}

func (l *lab) managers() (m []status.SM) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.cnuas("sm", "status", "--json", "--fabric", l.name)), &m); err != nil {
		l.t.Fatal(err)
	}
	return m
}

// TestIBWithoutSubnetManager: ports are in state Init without a LID until a
// subnet manager is started, and stay Active when it ends.
func TestIBWithoutSubnetManager(t *testing.T) {
	l := up(t, "e2e-ibnosm", ibTree("cia", ""), "--sm", "none")
	for _, p := range []string{"cia1:ib0", "cial1:3", "ciax2:1"} {
		if b := ibPort(t, l.status(), p).IB; b.State != "init" || b.Phys != "linkup" || b.LID != 0 || b.Width != "4X" || b.Speed != "SDR" {
			t.Errorf("%s: %+v", p, b)
		}
	}
	if out := l.cnuas("sm", "status", "--fabric", l.name); !strings.Contains(out, "cnuas sm start") {
		t.Errorf("sm status: %s", out)
	}
	if out := l.cnuas("sm", "start", "cia1", "--engine", "updn", "--lmc", "1"); !strings.Contains(out, "cia1:ib0: Master of 8 nodes, 4 of them switches, by updn") {
		t.Errorf("sm start: %s", out)
	}
	seen := map[uint16]bool{}
	for i := range 4 {
		p := ibPort(t, l.status(), fmt.Sprintf("cia%d:ib0", i+1)).IB
		if p.State != "active" || p.LID == 0 || p.LID%2 != 0 || p.LMC != 1 || seen[p.LID] {
			t.Errorf("cia%d: %+v", i+1, p)
		}
		seen[p.LID] = true
	}
	m := l.managers()
	if len(m) != 1 || m[0].State != "Master" || m[0].Engine != "updn" || m[0].SMPs < 100 || len(m[0].Attributes) < 5 || m[0].SweepErrors != 0 {
		t.Errorf("%+v", m)
	}
	if out := l.cnuas("sm", "status", "--fabric", l.name); !strings.Contains(out, "paths: ok") || !strings.Contains(out, "credit loops: none") {
		t.Errorf("sm status: %s", out)
	}
	out := l.cnuas("status", "--json", l.name)
	for _, key := range []string{`"ib_ports"`, `"phys_state": "linkup"`, `"wait_secs"`, `"waiting_vls"`, `"held_bytes"`, `"subnet_managers"`, `"engine": "updn"`, `"type": "IB"`, `"mode": "ib"`} {
		if !strings.Contains(out, key) {
			t.Errorf("status --json lacks %s", key)
		}
	}
	for _, bad := range []struct {
		args []string
		want string
	}{
		{[]string{"sm", "start", "cia1"}, "already runs"},
		{[]string{"sm", "start", "cial1"}, "runs in a node"},
		{[]string{"sm", "start", "cia9"}, "no node"},
		{[]string{"sm", "start", "cia2", "--engine", "best"}, "minhop, updn, ftree or dfsssp"},
		{[]string{"sm", "start", "cia2", "--lmc", "8"}, "use 0 to 7"},
		{[]string{"sm", "stop", "cia2"}, "cia1:ib0"},
		{[]string{"sm", "status", "--lmc", "1"}, "does not go with"},
		{[]string{"sm", "dance"}, "not understood"},
	} {
		args := append(bad.args, "--fabric", l.name)
		if out, err := l.try(args...); err == nil || !strings.Contains(out, bad.want) {
			t.Errorf("%v: %v %s, want %q", args, err, out, bad.want)
		}
	}
	l.cnuas("sm", "stop", "cia1")
	if b := ibPort(t, l.status(), "cia4:ib0").IB; b.State != "active" || b.IsSM {
		t.Errorf("after stop: %+v", b)
	}
}

// TestIBFaultAndTakeover: a spine's cable is pulled and put back, and the
// master dies; LIDs stay what they are.
func TestIBFaultAndTakeover(t *testing.T) {
	l := up(t, "e2e-ibfault", ibTree("cib", "[sm]\nnode = \"cib1\"\nstandby = [\"cib4\"]\n"))
	lids := func() (s string) {
		f := l.status()
		for i := range 4 {
			s += fmt.Sprint(" ", ibPort(t, f, fmt.Sprintf("cib%d:ib0", i+1)).IB.LID)
		}
		return s
	}
	before := lids()
	sweeps := func() uint64 { return l.managers()[0].HeavySweeps }
	n := sweeps()
	l.cnuas("fault", "link", "cibl1:3", "down")
	eventually(t, 10*time.Second, "a sweep follows trap 128", func() bool { return sweeps() > n })
	eventually(t, 10*time.Second, "the sweep ends", func() bool { return l.managers()[0].Phase == "idle" })
	s := l.status()
	if b := ibPort(t, s, "cibx1:1").IB; b.State != "down" || len(s.Faults) != 1 {
		t.Errorf("the port behind the cable: %+v, faults %v", b, s.Faults)
	}
	m := l.managers()[0]
	if m.Traps == 0 || m.Nodes != 8 || m.SweepErrors != 0 {
		t.Errorf("%+v", m)
	}
	l.cnuas("fault", "clear", "--fabric", l.name)
	eventually(t, 10*time.Second, "the link is active again", func() bool { return ibPort(t, l.status(), "cibx1:1").IB.State == "active" })
	if now := lids(); now != before {
		t.Errorf("LIDs %s, before %s", now, before)
	}
	l.cnuas("sm", "stop", "cib4")
	l.cnuas("sm", "start", "cib4", "--priority", "3", "--poll", "100ms")
	l.cnuas("sm", "stop", "cib1")
	eventually(t, 10*time.Second, "the standby takes over", func() bool {
		m := l.managers()
		return len(m) == 1 && m[0].Port == "cib4:ib0" && m[0].State == "Master" && m[0].Phase == "idle" && m[0].Takeovers == 1
	})
	if now := lids(); now != before {
		t.Errorf("LIDs %s, before %s", now, before)
	}
}

// TestIBCapture: what crosses an InfiniBand port is read by tshark as InfiniBand,
// with both CRCs right.
func TestIBCapture(t *testing.T) {
	simtest.Need(t, "tshark")
	l := up(t, "e2e-ibcap", ibTree("cic", ""), "--sm", "none", "--no-ipoib")
	file := filepath.Join(t.TempDir(), "ib.pcapng")
	c := l.startCmd(exec.Command(cnuasBin, "capture", "cicl1:3", "cicl1:4", "-w", file))
	eventually(t, 5*time.Second, "capturing", func() bool { return strings.Contains(c.out.String(), "capturing at") })
	l.cnuas("sm", "start", "cic1")
	c.cmd.Process.Signal(interrupt)
	if err := c.wait(t, 10*time.Second); err != nil {
		t.Fatalf("capture: %v\n%s", err, c.out.String())
	}
	rows := fields(t, file, "infiniband.mad && infiniband.lrh.vl == 15", "frame.interface_name", "infiniband.lrh.vl", "infiniband.bth.destqp", "infiniband.mad.mgmtclass", "infiniband.mad.method", "infiniband.mad.attributeid")
	seen := map[string]int{}
	for _, r := range rows {
		if r[1] != "0x0f" || r[2] != "0x000000" || r[3] != "0x81" {
			t.Fatalf("a packet that is no directed-route SMP: %v", r)
		}
		seen[r[0]+" "+r[4]+" "+r[5]]++
	}
	for _, want := range []string{"cicl1:3 0x01 0x0011", "cicl1:3 0x81 0x0011", "cicl1:4 0x02 0x0015", "cicl1:3 0x02 0x0019"} {
		if seen[want] == 0 {
			t.Errorf("no %s in %v", want, seen)
		}
	}
	if bad := fields(t, file, "_ws.malformed", "frame.number"); len(bad) != 0 {
		t.Errorf("malformed: %v", bad)
	}
}

// TestIBImport brings up what ibnetdiscover printed.
func TestIBImport(t *testing.T) {
	simtest.Root(t)
	text, err := os.ReadFile("../topology/testdata/ibnet/ibnetdiscover.txt")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "e2e-import.ibnet")
	// Descriptions name the nodes, and so the namespaces.
	if err := os.WriteFile(file, []byte(strings.NewReplacer(`"H1"`, `"cid1"`, `"H2"`, `"cid2"`, `"H3"`, `"cid3"`, `"H4"`, `"cid4"`, `"H5"`, `"cid5"`,
		`"H6"`, `"cid6"`, `"H7"`, `"cid7"`, `"H8"`, `"cid8"`).Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	spec, err := topology.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, name: spec.Name}
	t.Cleanup(func() { exec.Command(cnuasBin, "down", l.name).Run() })
	l.cnuas("up", file)
	s := l.status()
	if len(s.Nodes) != 8 || len(s.Switches) != 4 || len(s.SMs) != 1 || s.SMs[0].Nodes != 12 {
		t.Errorf("%d nodes, %d switches, %+v", len(s.Nodes), len(s.Switches), s.SMs)
	}
	if w := s.Switches[0]; w.GUID != "0x0000000000200001" || w.LID == 0 || w.Mode != "ib" {
		t.Errorf("%+v", w)
	}
}

// TestIBKill9 kills the daemon of a fabric whose nodes have no Ethernet port,
// while a program runs: nothing is left behind.
func TestIBKill9(t *testing.T) {
	const name, prefix = "e2e-ibkill", "cie"
	l := up(t, name, ibTree(prefix, ""))
	j := l.start(prefix+"2", "sleep", "60")
	eventually(t, 5*time.Second, "the program runs", func() bool { return l.status().Nodes[1].Programs == 1 })
	if err := syscall.Kill(l.status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "the daemon is dead", func() bool { _, err := l.try("status", name); return err != nil })
	l.cnuas("up", l.file)
	l.cnuas("down", name)
	j.wait(t, 10*time.Second)
	if left := leftovers(prefix, name); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}

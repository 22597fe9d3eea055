package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// program finds a process that runs in a fabric by its name.
func program(t *testing.T, fabric, comm string) int {
	t.Helper()
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		name, _ := os.ReadFile(p + "/comm")
		env, _ := os.ReadFile(p + "/environ")
		if strings.TrimSpace(string(name)) == comm && bytes.Contains(env, []byte("CNUAS_FABRIC="+fabric+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(p))
			return pid
		}
	}
	t.Fatalf("no %s runs in %s", comm, fabric)
	return 0
}

// TestIBOpensmKilled: stock opensm is the master, ours its standby. opensm is
// killed by SIGKILL under a running ib_write_bw: ours takes over within its
// polls, LIDs stay, and the writes do not notice.
func TestIBOpensmKilled(t *testing.T) {
	simtest.Need(t, "opensm")
	l := up(t, "e2e-ibkillsm", ibTree("cij", ""), "--sm", "none")
	tmp := t.TempDir()
	log := filepath.Join(tmp, "log")
	o := l.start("cij1", "env", "OSM_TMP_DIR="+tmp, "OSM_CACHE_DIR="+tmp, "opensm", "-p", "15", "-f", log)
	eventually(t, 20*time.Second, "opensm has the subnet up", func() bool { return ibPort(t, l.status(), "cij4:ib0").IB.State == "active" })
	l.cnuas("sm", "start", "cij4", "--priority", "3", "--poll", "200ms")
	if m := l.managers(); m[0].State != "Standby" || m[0].MasterLID == 0 {
		t.Fatalf("ours beside opensm: %+v\nopensm: %s", m, o.out.String())
	}
	s := l.status()
	lid := ibPort(t, s, "cij2:ib0").IB.LID
	ip := mgmt(t, s, "cij2")
	srv := l.start("cij2", "ib_write_bw", "-d", "rxe0", "-F", "-D", "6")
	l.listening("cij2", "18515")
	cli := l.start("cij3", "ib_write_bw", "-d", "rxe0", "-F", "-D", "6", ip)
	eventually(t, 10*time.Second, "writes pass", func() bool { return ibPort(t, l.status(), "cij3:ib0").IB.Counters["xmit_data"] > 1<<20 })
	if !ibPort(t, s, "cij1:ib0").IB.IsSM {
		t.Error("opensm's port does not say IsSM")
	}
	if err := syscall.Kill(program(t, l.name, "opensm"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "ours takes over", func() bool {
		m := l.managers()[0]
		return m.State == "Master" && m.Takeovers == 1 && m.Nodes == 8 && m.Phase == "idle"
	})
	if err := cli.wait(t, time.Minute); err != nil {
		t.Fatalf("client: %v\n%s", err, cli.out.String())
	}
	if err := srv.wait(t, 10*time.Second); err != nil {
		t.Fatalf("server: %v\n%s", err, srv.out.String())
	}
	s = l.status()
	if p := ibPort(t, s, "cij2:ib0").IB; p.LID != lid || p.SMLID != ibPort(t, s, "cij4:ib0").IB.LID {
		t.Errorf("LID %d, was %d; its master is at %d", p.LID, lid, p.SMLID)
	}
	if ibPort(t, s, "cij1:ib0").IB.IsSM {
		t.Error("the port of a dead subnet manager says IsSM")
	}
}

// TestIBIncast: three hosts write to one over links of 2 Gb/s. Nothing is
// dropped or sent again; who sends waits for credits.
func TestIBIncast(t *testing.T) {
	var toml strings.Builder
	toml.WriteString("[defaults.link]\nwidth = 1\nspeed = \"SDR\"\n[[switch]]\nname = \"ciks\"\nkind = \"ib\"\n")
	for i := 1; i <= 4; i++ {
		fmt.Fprintf(&toml, "[[node]]\nname = \"cik%d\"\n[[link]]\na = \"cik%d:ib0\"\nb = \"ciks:%d\"\n", i, i, i)
	}
	l := up(t, "e2e-ibincast", toml.String())
	ip := mgmt(t, l.status(), "cik1")
	var jobs []*job
	for i := 2; i <= 4; i++ {
		p := fmt.Sprint(18510 + i)
		jobs = append(jobs, l.start("cik1", "ib_write_bw", "-d", "rxe0", "-F", "-D", "4", "-p", p))
		l.listening("cik1", p)
	}
	for i := 2; i <= 4; i++ {
		jobs = append(jobs, l.start(fmt.Sprintf("cik%d", i), "ib_write_bw", "-d", "rxe0", "-F", "-D", "4", "-p", fmt.Sprint(18510+i), ip))
	}
	for _, j := range jobs {
		if err := j.wait(t, time.Minute); err != nil {
			t.Fatalf("%v\n%s", err, j.out.String())
		}
	}
	s := l.status()
	for i, n := range s.Nodes {
		p := n.IBPorts[0]
		if d := p.TotalDrops(); d != 0 || p.RDMA.Counters["retransmitted"] != 0 {
			t.Errorf("%s: drops %v, %d sent again", p.Name, p.Drops, p.RDMA.Counters["retransmitted"])
		}
		if i > 0 && p.IB.WaitSecs < 0.5 {
			t.Errorf("%s waited for %.3f s", p.Name, p.IB.WaitSecs)
		}
	}
	w := &s.Switches[0]
	for _, p := range w.Ports {
		if p.TotalDrops() != 0 {
			t.Errorf("%s: drops %v", p.Name, p.Drops)
		}
	}
	if len(w.Drops) != 0 || w.UsedBytes != 0 || s.Engine.FramesLive != 0 {
		t.Errorf("drops %v, %d bytes held, %d frames alive at rest", w.Drops, w.UsedBytes, s.Engine.FramesLive)
	}
	for _, r := range s.Verdict.Reasons {
		if strings.Contains(r, "account") || strings.Contains(r, "credits") {
			t.Error(r)
		}
	}
}

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

var interrupt = os.Interrupt

// busy are programs that wait in different ways: polling the completion queue,
// sleeping on a completion channel, for data that they asked for.
var busy = [][]string{
	{"ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-D", "60"},
	{"ib_send_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "5000000", "-e"},
	{"ib_read_bw", "-d", "rxe0", "-x", "1", "-F", "-D", "60"},
}

// running starts server and client and waits until frames flow.
func (l *lab) running(argv []string) (srv, cli *job) {
	l.t.Helper()
	srv = l.start("cc1", argv...)
	l.listening("cc1", "18515")
	cli = l.start("cc2", append(argv[:len(argv):len(argv)], "10.0.0.1")...)
	before := port(l.t, l.status(), "ccs:1").TxFrames
	eventually(l.t, 10*time.Second, "frames flow", func() bool { return port(l.t, l.status(), "ccs:1").TxFrames > before+1000 })
	return srv, cli
}

// TestLinkDown: a link that stays down ends programs with their own message
// within the retry time.
func TestLinkDown(t *testing.T) {
	l := up(t, "e2e-linkdown", star("cc", 2, "10Gbps", ""))
	for _, argv := range busy {
		t.Run(argv[0], func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			_, cli := l.running(argv)
			l.cnuas("fault", "link", "cc2:eth0", "down")
			defer l.cnuas("fault", "clear")
			s := l.status()
			if p := port(t, s, "cc2:eth0"); p.State != "down" {
				t.Errorf("state %s", p.State)
			}
			for _, r := range s.Verdict.Reasons {
				if strings.Contains(r, "ring") {
					t.Errorf("verdict: %s", r)
				}
			}
			if err := cli.wait(t, 5*time.Second); err == nil {
				t.Errorf("the client ended well:\n%s", cli.out.String())
			}
			if o := cli.out.String(); !strings.Contains(o, "status 12") && !strings.Contains(o, "rror") {
				t.Errorf("no error message:\n%s", o)
			}
		})
	}
}

// TestLinkFlap: a short outage costs a retransmission and nothing else.
func TestLinkFlap(t *testing.T) {
	l := up(t, "e2e-flap", star("cc", 2, "10Gbps", ""))
	srv := l.start("cc1", "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "20000", "-s", "65536")
	l.listening("cc1", "18515")
	cli := l.start("cc2", "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "20000", "-s", "65536", "10.0.0.1")
	before := port(t, l.status(), "ccs:1").TxFrames
	eventually(t, 10*time.Second, "frames flow", func() bool { return port(t, l.status(), "ccs:1").TxFrames > before+1000 })
	l.cnuas("fault", "link", "ccs:1", "down")
	l.cnuas("fault", "link", "ccs:1", "up")
	if err := cli.wait(t, 30*time.Second); err != nil {
		t.Errorf("client: %v\n%s", err, cli.out.String())
	}
	if err := srv.wait(t, 10*time.Second); err != nil {
		t.Errorf("server: %v\n%s", err, srv.out.String())
	}
	c := l.status().Nodes[1].Interfaces[0].RDMA.Counters
	if c["retransmitted"] == 0 {
		t.Errorf("nothing was retransmitted: %v", c)
	}
}

// TestDaemonDies: programs end by themselves when the daemon is killed.
func TestDaemonDies(t *testing.T) {
	for _, argv := range append(busy, []string{"ib_write_lat", "-d", "rxe0", "-x", "1", "-F", "-n", "5000000"}) {
		t.Run(argv[0], func(t *testing.T) {
			l := up(t, "e2e-dies", star("cc", 2, "10Gbps", ""))
			srv, cli := l.running(argv)
			if err := syscall.Kill(l.status().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for _, j := range []*job{srv, cli} {
				if err := j.wait(t, 6*time.Second); err == nil {
					t.Errorf("%v ended well:\n%s", j.cmd.Args, j.out.String())
				}
				if strings.TrimSpace(j.out.String()) == "" {
					t.Errorf("%v said nothing", j.cmd.Args)
				}
			}
			l.cnuas("down", l.name)
			if _, err := os.Stat("/run/netns/cc1"); err == nil {
				t.Error("namespace cc1 is left")
			}
		})
	}
}

// TestLoss: go-back-N repairs injected loss; the data arrive.
func TestLoss(t *testing.T) {
	l := up(t, "e2e-loss", star("cc", 2, "10Gbps", ""))
	l.cnuas("fault", "loss", "ccs:1", "1e-3")
	l.cnuas("fault", "loss", "ccs:2", "0.1%")
	l.pair("cc1", "cc2", "10.0.0.1", time.Minute, "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "2000", "-s", "65536")
	l.pair("cc1", "cc2", "10.0.0.1", time.Minute, "ib_read_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "1000", "-s", "65536")
	l.pair("cc1", "cc2", "10.0.0.1", time.Minute, "ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-n", "500", "-c", "-s", "20000")
	s := l.status()
	if port(t, s, "ccs:1").Drops["injected_loss"] == 0 {
		t.Error("nothing was lost")
	}
	if s.Nodes[1].Interfaces[0].RDMA.Counters["retransmitted"] == 0 {
		t.Error("nothing was retransmitted")
	}
	if len(s.Faults) != 2 {
		t.Errorf("faults %v, want two", s.Faults)
	}
	l.cnuas("fault", "clear")
	if f := l.status().Faults; len(f) != 0 {
		t.Errorf("faults after clear: %v", f)
	}
}

// TestStorm: a sick NIC stops its switch; the victim shows in status, other
// priorities go on, and clear ends it.
func TestStorm(t *testing.T) {
	l := up(t, "e2e-storm", star("cc", 3, "10Gbps", ""))
	argv := []string{"ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-D", "60"}
	_, cli := l.running(argv)
	l.cnuas("fault", "storm", "cc1:eth0", "--priority", "3", "--duty", "100%")
	eventually(t, 5*time.Second, "the switch port towards cc1 is paused, and the sender behind it", func() bool {
		s := l.status()
		return len(port(t, s, "ccs:1").Paused) == 1 && len(port(t, s, "cc2:eth0").Paused) == 1
	})
	l.cnuas("exec", "cc2", "--", "ping", "-c", "2", "-i", "0.1", "-W", "2", "10.0.0.1")
	s := l.status()
	if p := port(t, s, "ccs:1"); p.PausesRx[3] == 0 || p.PausedSecs[3] == 0 {
		t.Errorf("victim: %+v", p)
	}
	text := l.cnuas("status", l.name)
	if !strings.Contains(text, "pfc: ccs:1, from cc1:eth0: priority 3 stopped") || !strings.Contains(text, "fault: storm at cc1:eth0") {
		t.Errorf("status does not show the storm:\n%s", text)
	}
	l.cnuas("fault", "clear")
	before := port(t, l.status(), "ccs:1").TxFrames
	eventually(t, 5*time.Second, "frames flow again", func() bool { return port(t, l.status(), "ccs:1").TxFrames > before+1000 })
	cli.cmd.Process.Signal(syscall.SIGTERM)
}

// TestForeignNamespace: a namespace that is not ours is refused and untouched.
func TestForeignNamespace(t *testing.T) {
	if out, err := exec.Command("ip", "netns", "add", "cd2").CombinedOutput(); err != nil {
		simtest.Missing(t, fmt.Sprintf("ip netns add: %v %s", err, out), "run as root, and remove a namespace cd2")
	}
	defer exec.Command("ip", "netns", "del", "cd2").Run()
	l := &lab{t: t, name: "e2e-foreign"}
	file := t.TempDir() + "/f.toml"
	os.WriteFile(file, []byte("name = \"e2e-foreign\"\n"+star("cd", 2, "10Gbps", "")), 0o644)
	out, err := l.try("up", file)
	if err == nil || !strings.Contains(out, "cd2") {
		t.Fatalf("up over a foreign namespace: %v\n%s", err, out)
	}
	if _, err := os.Stat("/run/netns/cd2"); err != nil {
		t.Error("the foreign namespace is gone")
	}
	if _, err := os.Stat("/run/netns/cd1"); err == nil {
		t.Error("namespace cd1 is left")
	}
}

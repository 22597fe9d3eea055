package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/internal/topology"
)

// TestIncast lets stock ib_write_bw senders meet at one receiver at 2 Gb/s.
// With PFC nothing is lost and every sender gets its share; without, the
// switch overflows and go-back-N still completes every transfer.
func TestIncast(t *testing.T) {
	for _, senders := range []int{2, 7} {
		for _, pfc := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d to 1, pfc %v", senders, pfc), func(t *testing.T) {
				// Shares are only those of the fabric when the machine keeps
				// up: sixteen programs on a busy one may not let it.
				for range 3 {
					if incast(t, senders, pfc) {
						return
					}
				}
				t.Error("the engine slipped for more than 5% of the time in each of three runs: this machine is too busy")
			})
		}
	}
}

// incast is one run; it reports whether the engine kept up.
func incast(t *testing.T, senders int, pfc bool) bool {
	// Without PFC the queue may hold half of the free buffer, less than two
	// windows of 1 MB.
	buffer := map[bool]string{true: "4MB", false: "1MB"}[pfc]
	l := up(t, "e2e-incast", star("cg", senders+1, "2Gbps", fmt.Sprintf("[qos]\npfc = %v\nbuffer = %q\n", pfc, buffer)))
	argv := []string{"ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-s", "65536", "-D", "4"}
	var servers, clients []*job
	for i := range senders {
		port := strconv.Itoa(18600 + i)
		servers = append(servers, l.start("cg1", append(argv[:len(argv):len(argv)], "-p", port)...))
		l.listening("cg1", port)
	}
	for i := range senders {
		port := strconv.Itoa(18600 + i)
		clients = append(clients, l.start(fmt.Sprintf("cg%d", i+2), append(argv[:len(argv):len(argv)], "-p", port, "10.0.0.1")...))
	}
	var rates []float64
	for i, c := range clients {
		if err := c.wait(t, 2*time.Minute); err != nil {
			t.Fatalf("sender %d: %v\n%s", i, err, c.out.String())
		}
		rates = append(rates, gbps(t, c.out.String()))
	}
	for _, s := range servers {
		if err := s.wait(t, 10*time.Second); err != nil {
			t.Fatalf("server: %v\n%s", err, s.out.String())
		}
	}
	s := l.status()
	drops, pauses := uint64(0), uint64(0)
	for _, p := range s.Switches[0].Ports {
		drops += p.TotalDrops()
		for _, n := range p.PausesTx {
			pauses += n
		}
	}
	var again uint64
	for _, n := range s.Nodes {
		again += n.Interfaces[0].RDMA.Counters["retransmitted"]
	}
	t.Logf("rates %.3v Gb/s, drops %d, pauses %d, retransmitted %d, %s", rates, drops, pauses, again, s.Verdict)
	l.cnuas("down", l.name)
	if !pfc {
		if drops == 0 || again == 0 {
			t.Errorf("without PFC: %d drops, %d retransmitted: the incast did not overflow the switch", drops, again)
		}
		return true
	}
	if drops != 0 || again != 0 || pauses == 0 {
		t.Errorf("with PFC: %d drops, %d retransmitted, %d pauses", drops, again, pauses)
	}
	if s.Engine.SlipShare > 0.05 {
		return false
	}
	var sum float64
	for _, r := range rates {
		sum += r
	}
	for i, r := range rates {
		if share := sum / float64(senders); r < 0.9*share || r > 1.1*share {
			t.Errorf("sender %d got %.3f Gb/s of a share of %.3f", i, r, share)
		}
	}
	// The receiver's link carries 2 Gb/s; what is not headers is goodput.
	if sum < 2*0.85 || sum > 2 {
		t.Errorf("together %.3f Gb/s over a link of 2 Gb/s", sum)
	}
	return true
}

// gbps reads the average bandwidth of a perftest table, printed in MiB/s.
func gbps(t *testing.T, out string) float64 {
	t.Helper()
	for _, line := range strings.Split(out, "\n") {
		f := strings.Fields(line)
		if len(f) >= 5 && f[0] == "65536" {
			v, err := strconv.ParseFloat(f[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v * 1048576 * 8 / 1e9
		}
	}
	t.Fatalf("no result in:\n%s", out)
	return 0
}

// TestIncastData sends real data through an overflowing switch and compares
// every byte: ibv_rc_pingpong -c checks what it received.
func TestIncastData(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong")
	l := up(t, "e2e-data", star("cg", 4, "2Gbps", "[qos]\npfc = false\nbuffer = \"300KB\"\n"))
	var jobs []*job
	for i := 2; i <= 4; i++ {
		argv := []string{"ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-c", "-s", "1000000", "-n", "30", "-p", strconv.Itoa(18700 + i)}
		jobs = append(jobs, l.start("cg1", argv...))
		l.listening("cg1", strconv.Itoa(18700+i))
		jobs = append(jobs, l.start(fmt.Sprintf("cg%d", i), append(argv, "10.0.0.1")...))
	}
	for _, j := range jobs {
		if err := j.wait(t, time.Minute); err != nil || strings.Contains(j.out.String(), "invalid data") {
			t.Fatalf("%v: %v\n%s", j.cmd.Args, err, j.out.String())
		}
	}
	s := l.status()
	var drops uint64
	for _, p := range s.Switches[0].Ports {
		drops += p.TotalDrops()
	}
	if drops == 0 {
		t.Error("nothing was dropped: the test shows nothing")
	}
}

// TestShippedTopologiesComeUp brings up each shipped topology whose node names
// are free on this machine.
func TestShippedTopologiesComeUp(t *testing.T) {
	l := &lab{t: t, name: ""}
	for _, name := range strings.Fields(l.cnuas("topologies")) {
		t.Run(name, func(t *testing.T) {
			simtest.Root(t)
			l := &lab{t: t, name: name}
			l.cnuas("lint", name)
			if spec, err := topology.Load(name); err != nil || slices.ContainsFunc(spec.Nodes, func(n topology.Node) bool { return n.Stack.Kernel() }) {
				if err != nil {
					t.Fatal(err)
				}
				return // comes up where the kernel has the driver: the tests of kernel stacks do that
			}
			if _, err := os.Stat("/run/netns/h1"); err == nil {
				simtest.Missing(t, "a namespace h1 exists on this machine", "take its fabric down first")
			}
			l.cnuas("up", name)
			defer l.cnuas("down", name)
			s := l.status()
			if !s.Verdict.Faithful {
				t.Errorf("verdict: %s", s.Verdict)
			}
			last := s.Nodes[len(s.Nodes)-1]
			for _, p := range last.IBPorts {
				if p.IB.State != "active" || p.IB.LID == 0 {
					t.Errorf("%s is %s with LID %d", p.Name, p.IB.State, p.IB.LID)
				}
			}
			if len(last.Interfaces) == 0 {
				return
			}
			for _, a := range last.Interfaces[0].Addresses {
				ip, _, _ := strings.Cut(a, "/")
				if exec.Command("ip", "-n", "h1", "route", "get", ip).Run() != nil {
					continue // VLANs that nothing joins
				}
				if out, err := exec.Command("ip", "netns", "exec", "h1", "ping", "-c", "1", "-W", "2", ip).CombinedOutput(); err != nil {
					t.Errorf("ping from h1 to %s (%s): %v\n%s", last.Name, ip, err, out)
				}
			}
		})
	}
}

// TestRoutedFabric crosses a leaf-spine fabric: TTL, ECMP, both directions.
func TestRoutedFabric(t *testing.T) {
	simtest.Need(t, "traceroute")
	toml := "[defaults]\nlink = { rate = \"10Gbps\", delay = \"500ns\" }\nswitch = { mode = \"router\" }\n"
	for _, n := range []string{"chl1", "chl2", "chs1", "chs2"} {
		toml += fmt.Sprintf("[[switch]]\nname = %q\n", n)
	}
	for _, n := range []string{"ch1", "ch2"} {
		toml += fmt.Sprintf("[[node]]\nname = %q\n", n)
	}
	for _, x := range [][2]string{{"ch1", "chl1"}, {"ch2", "chl2"}, {"chl1", "chs1"}, {"chl1", "chs2"}, {"chl2", "chs1"}, {"chl2", "chs2"}} {
		toml += fmt.Sprintf("[[link]]\na = %q\nb = %q\n", x[0], x[1])
	}
	l := up(t, "e2e-routed", toml)
	s := l.status()
	a, b := s.Nodes[0].Name, s.Nodes[1].Name
	ip, _, _ := strings.Cut(s.Nodes[0].Interfaces[0].Addresses[0], "/")
	l.pair(a, b, ip, time.Minute, "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-n", "200", "-q", "32")
	s = l.status()
	used := 0
	for _, sw := range s.Switches {
		for _, p := range sw.Ports {
			if !strings.HasPrefix(p.Peer, a+":") && !strings.HasPrefix(p.Peer, b+":") && p.TxBytes > 1e6 {
				used++
			}
		}
	}
	// Data go up one of two ways and down: with 32 queue pairs both spines are used.
	if used < 4 {
		t.Errorf("%d fabric ports carried data, want 4: the queue pairs do not spread", used)
	}
	out := l.cnuas("exec", b, "--", "traceroute", "-n", "-q", "1", "-w", "1", ip)
	if n := strings.Count(strings.TrimSpace(out), "\n"); n != 4 || !strings.Contains(out, ip) {
		t.Errorf("traceroute shows %d hops, want leaf, spine, leaf, host:\n%s", n, out)
	}
}

// TestStatusJSONIsStable: scripts read it.
func TestStatusJSON(t *testing.T) {
	l := up(t, "e2e-json", star("cg", 2, "10Gbps", ""))
	out := l.cnuas("status", "--json", l.name)
	for _, key := range []string{`"verdict"`, `"faithful": true`, `"pauses_tx"`, `"ecn_marks"`, `"drops"`, `"peak_bytes"`, `"slip_ms"`, `"lag_ms"`, `"gids"`, `"rate_bps": 10000000000`} {
		if !strings.Contains(out, key) {
			t.Errorf("status --json lacks %s", key)
		}
	}
	if _, err := os.Stat(filepath.Join(runDir, l.name)); err != nil {
		t.Error(err)
	}
	if out, err := l.try("up", l.file); err == nil || !strings.Contains(out, "already up") {
		t.Errorf("second up: %v %s", err, out)
	}
}

// TestScale runs a 100 Gb/s fabric forty times slower than the wall clock: what
// programs see is a fortieth of its rate, and the run is faithful.
func TestScale(t *testing.T) {
	l := up(t, "e2e-scale", star("cg", 2, "100Gbps", ""), "--scale", "40")
	_, cli := l.pair("cg1", "cg2", "10.0.0.1", time.Minute, "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-D", "3")
	if r := gbps(t, cli); r < 2.5*0.85 || r > 2.5 {
		t.Errorf("%.3f Gb/s through 100 Gb/s at scale 40, want a little below 2.5", r)
	}
	s := l.status()
	if s.Scale != 40 || s.Engine.SlipShare > 0.02 {
		t.Errorf("scale %g, slipped %.3f", s.Scale, s.Engine.SlipShare)
	}
	for _, bad := range []string{"0", "-1", "nan", "1e9"} {
		if out, err := l.try("up", l.file, "--scale", bad); err == nil {
			t.Errorf("--scale %s was accepted: %s", bad, out)
		}
	}
}

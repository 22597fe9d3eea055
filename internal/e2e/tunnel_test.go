package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// freeUDP is a UDP port of loopback that nobody has.
func freeUDP(t *testing.T) int {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port
}

// mgmt is the address of a node's management port.
func (l *lab) mgmt(node string) string {
	l.t.Helper()
	out := l.cnuas("exec", node, "--", "ip", "-4", "-o", "addr", "show", "mgmt0")
	m := regexp.MustCompile(`inet ([0-9.]+)/`).FindStringSubmatch(out)
	if m == nil {
		l.t.Fatalf("%s has no mgmt0: %s", node, out)
	}
	return m[1]
}

// pingpong runs ibv_rc_pingpong between two nodes with InfiniBand ports.
func (l *lab) pingpong(server, client string) {
	l.t.Helper()
	addr := l.mgmt(server)
	s := l.start(server, "ibv_rc_pingpong", "-d", "rxe0", "-n", "100", "-c")
	l.listening(server, "18515")
	c := l.start(client, "ibv_rc_pingpong", "-d", "rxe0", "-n", "100", "-c", addr)
	if err := c.wait(l.t, 60*time.Second); err != nil {
		l.t.Fatalf("ibv_rc_pingpong: %v\n%s\nserver:\n%s", err, c.out.String(), s.out.String())
	}
	if err := s.wait(l.t, 10*time.Second); err != nil {
		l.t.Errorf("server: %v\n%s", err, s.out.String())
	}
}

// active waits until ports are Active.
func (l *lab) active(within time.Duration, ports ...string) {
	l.t.Helper()
	for _, p := range ports {
		eventually(l.t, within, p+" is active", func() bool { return ibPort(l.t, l.status(), p).IB.State == "active" })
	}
}

// TestTunnelFabric: every link of a fat tree goes over UDP. Stock programs do not
// notice, and tcpdump on lo sees all of it.
func TestTunnelFabric(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong", "ibnetdiscover", "tcpdump")
	at := fmt.Sprintf("127.0.0.1:%d", freeUDP(t))
	toml := strings.ReplaceAll(ibTree("tua", "[tunnel]\nlisten = \""+at+"\"\n"), "speed = \"SDR\"", "speed = \"SDR\"\ntunnel = true")
	l := up(t, "e2e-tunnel", toml)
	l.active(20*time.Second, "tua1:ib0", "tua4:ib0", "tual1:3", "tuax2:2")
	s := l.status()
	if s.Tunnels == nil || s.Tunnels.Listen != at {
		t.Fatalf("tunnels %+v, want them at %s", s.Tunnels, at)
	}
	n := 0
	for _, x := range s.Links {
		if !x.Tunnel || !x.Up {
			t.Errorf("%+v", x)
		}
		n++
	}
	_, port, _ := strings.Cut(at, ":")
	var dump bytes.Buffer
	td := exec.Command("tcpdump", "-i", "lo", "-nn", "-c", "20", "udp", "port", port)
	td.Stdout = &dump
	if err := runFor(td, 30*time.Second); err != nil {
		t.Errorf("tcpdump: %v", err)
	}
	if c := strings.Count(dump.String(), port); c < 20 {
		t.Errorf("tcpdump saw %d addresses: %s", c, dump.String())
	}

	l.pingpong("tua1", "tua4")
	l.pair("tua3", "tua2", l.mgmt("tua3"), 60*time.Second, "ib_write_bw", "-d", "rxe0", "-n", "500", "-s", "65536")
	out := l.cnuas("exec", "tua2", "--", "ibnetdiscover")
	if sw, ca := strings.Count(out, "\nSwitch\t"), strings.Count(out, "\nCa\t"); sw != 4 || ca != 4 {
		t.Errorf("ibnetdiscover finds %d switches and %d adapters:\n%s", sw, ca, out)
	}

	s = l.status()
	p := ibPort(t, s, "tual1:3")
	if p.Tunnel == nil || p.Tunnel.Sent == 0 || p.Tunnel.Received == 0 || n != 8 {
		t.Errorf("%d links; tual1:3: %+v", n, p.Tunnel)
	}
	for _, r := range s.Verdict.Reasons {
		if !strings.Contains(r, "slipped") && !strings.Contains(r, "late") {
			t.Errorf("verdict: %s", r)
		}
	}

	// A cable pulled at one end takes both down, and comes back.
	l.cnuas("fault", "link", "tual1:3", "down", "--fabric", l.name)
	for _, name := range []string{"tual1:3", "tuax1:1"} {
		eventually(t, 5*time.Second, name+" is down", func() bool { return ibPort(t, l.status(), name).IB.State == "down" })
	}
	l.cnuas("fault", "link", "tual1:3", "up", "--fabric", l.name)
	l.active(20*time.Second, "tual1:3", "tuax1:1")

	// Garbage does no harm and is counted.
	c, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 5000 {
		if _, err := c.Write([]byte("this is no tunnel")); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 10*time.Second, "the garbage is counted", func() bool {
		x := l.status().Tunnels
		return x.Drops["too_short"]+x.Overflow >= 5000
	})
	if s := ibPort(t, l.status(), "tual1:4").IB.State; s != "active" {
		t.Errorf("after garbage tual1:4 is %s", s)
	}
	l.pingpong("tua4", "tua1")
}

// switchProcess starts cnuas switch and waits until it is ready.
func (l *lab) switchProcess(at string) *job {
	l.t.Helper()
	j := l.startCmd(exec.Command(cnuasBin, "switch", "--name", "tub-leaf", "--ports", "4", "--listen", at))
	eventually(l.t, 10*time.Second, "the switch is ready", func() bool { return strings.Contains(j.out.String(), "is at udp "+at) })
	return j
}

// TestTunnelSwitchProcess: the switch between two hosts is a process of its own.
// It appears, is killed, comes back and ends well; links and subnet follow.
func TestTunnelSwitchProcess(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong", "ibnetdiscover")
	at := fmt.Sprintf("127.0.0.1:%d", freeUDP(t))
	mine := fmt.Sprintf("127.0.0.1:%d", freeUDP(t))
	l := up(t, "e2e-tswitch", fmt.Sprintf(`
[tunnel]
listen = %q
[[node]]
name = "tub1"
[[node]]
name = "tub2"
[[switch]]
name = "tub-leaf"
kind = "ib"
remote = %q
[defaults.link]
width = 4
speed = "SDR"
[[link]]
a = "tub1:ib0"
b = "tub-leaf:1"
[[link]]
a = "tub2:ib0"
b = "tub-leaf:2"
`, mine, at))
	ports := []string{"tub1:ib0", "tub2:ib0"}
	s := l.status()
	for _, p := range ports {
		if x := ibPort(t, s, p); x.IB.State != "down" || x.Tunnel == nil || x.Tunnel.There || x.Tunnel.Peer != at {
			t.Errorf("without the switch %s: %s, %+v", p, x.IB.State, x.Tunnel)
		}
	}
	if len(s.Faults) != 0 {
		t.Errorf("faults %v", s.Faults)
	}

	j := l.switchProcess(at)
	l.active(20*time.Second, ports...)
	l.pingpong("tub1", "tub2")
	if out := l.cnuas("exec", "tub1", "--", "ibnetdiscover"); !strings.Contains(out, `# "tub-leaf" base port 0`) || strings.Count(out, "\nCa\t") != 2 {
		t.Errorf("ibnetdiscover:\n%s", out)
	}

	lids := func() (x [2]uint16) {
		s := l.status()
		return [2]uint16{ibPort(t, s, ports[0]).IB.LID, ibPort(t, s, ports[1]).IB.LID}
	}
	before := lids()
	sweeps := func() (n uint64) {
		for _, m := range l.managers() {
			n += m.HeavySweeps
		}
		return n
	}
	swept := sweeps()
	if err := j.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, p := range ports {
		eventually(t, 10*time.Second, p+" is down", func() bool { return ibPort(t, l.status(), p).IB.State == "down" })
	}
	j = l.switchProcess(at)
	l.active(20*time.Second, ports...)
	if n := sweeps(); n <= swept {
		t.Errorf("%d sweeps, %d before the switch died", n, swept)
	}
	if now := lids(); now != before {
		t.Errorf("LIDs %v, were %v", now, before)
	}
	l.pingpong("tub2", "tub1")

	if err := j.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := j.wait(t, 10*time.Second); err != nil {
		t.Errorf("the switch ends with %v", err)
	}
	if out := j.out.String(); !strings.Contains(out, "port 1 is Active") || !strings.Contains(out, "symbol errors") {
		t.Errorf("the switch says:\n%s", out)
	}
	eventually(t, 5*time.Second, "the ports are down", func() bool {
		s := l.status()
		return ibPort(t, s, ports[0]).IB.State == "down" && ibPort(t, s, ports[1]).IB.State == "down"
	})
	if out, err := exec.Command(cnuasBin, "switch", "--name", "x", "--ports", "2", "--listen", mine).CombinedOutput(); err == nil || !strings.Contains(string(out), "another fabric or cnuas switch has it") {
		t.Errorf("a second user of %s: %v, %s", mine, err, out)
	}
}

package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// TestManagementNetwork: ping, TCP and tcpdump over the ports mgmt0, which the
// fabric's devices and the verdict do not see.
func TestManagementNetwork(t *testing.T) {
	simtest.Need(t, "ping", "tcpdump", "iperf3")
	toml := star("ct", 3, "10Gbps", "[management]\nsubnet = \"192.168.77.0/24\"\nmtu = 9000")
	for _, n := range []string{"ct1", "ct2"} {
		toml = strings.Replace(toml, "name = \""+n+"\"\n", "name = \""+n+"\"\nmanagement = true\n", 1)
	}
	l := up(t, "e2e-mgmt", toml)
	addr := l.cnuas("exec", "ct2", "--", "ip", "-o", "addr", "show", "mgmt0")
	link := l.cnuas("exec", "ct2", "--", "ip", "-o", "link", "show", "mgmt0")
	if !strings.Contains(addr, "192.168.77.2/24") || !strings.Contains(link, "mtu 9000") || !strings.Contains(link, "02:02:00:00:00:02") {
		t.Errorf("mgmt0 of ct2:\n%s%s", addr, link)
	}
	if out, err := l.try("exec", "ct3", "--", "ip", "link", "show", "mgmt0"); err == nil {
		t.Errorf("ct3 was not to have a management port:\n%s", out)
	}
	before := port(t, l.status(), "ct1:eth0")

	dump := l.startCmd(exec.Command("ip", "netns", "exec", "ct1", "tcpdump", "-lnni", "mgmt0", "icmp"))
	eventually(t, 10*time.Second, "tcpdump listens", func() bool { return strings.Contains(dump.out.String(), "listening on") })
	l.cnuas("exec", "ct1", "--", "ping", "-c", "3", "-i", "0.1", "-W", "5", "192.168.77.2")
	l.cnuas("exec", "ct1", "--", "ping", "-c", "1", "-M", "do", "-s", "8972", "-W", "5", "192.168.77.2")
	eventually(t, 5*time.Second, "tcpdump sees both directions", func() bool {
		return strings.Contains(dump.out.String(), "192.168.77.1 > 192.168.77.2: ICMP echo request") &&
			strings.Contains(dump.out.String(), "192.168.77.2 > 192.168.77.1: ICMP echo reply")
	})

	l.start("ct2", "iperf3", "-s", "-1")
	l.listening("ct2", "5201")
	l.cnuas("exec", "ct1", "--", "iperf3", "-n", "20M", "-c", "192.168.77.2")

	s := l.status()
	after := port(t, s, "ct1:eth0")
	if d := after.TxFrames - before.TxFrames; d > 20 {
		t.Errorf("%d frames left by eth0 meanwhile", d)
	}
	m1, m2 := s.Nodes[0].Management, s.Nodes[1].Management
	if m1 == nil || m2 == nil || s.Nodes[2].Management != nil {
		t.Fatalf("status: %+v %+v %+v", m1, m2, s.Nodes[2].Management)
	}
	if m1.Name != "ct1:mgmt0" || m1.Address != "192.168.77.1/24" || m1.TxBytes < 15e6 || m2.RxBytes < 15e6 || m2.RxFrames < 1500 {
		t.Errorf("status: %+v\n%+v", m1, m2)
	}
	for _, m := range []string{fmt.Sprint(m1.Ring), fmt.Sprint(m2.Ring)} {
		if m != "{0 0}" {
			t.Errorf("frames were lost at a ring: %s", m)
		}
	}
	if out := l.cnuas("status", l.name); !strings.Contains(out, "ct1:mgmt0") {
		t.Errorf("status does not show the port:\n%s", out)
	}
}

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/internal/status"
)

// ipoib waits until n IPoIB interfaces are up and returns them.
func (l *lab) ipoib(n int) (all []status.IPoIB) {
	l.t.Helper()
	eventually(l.t, 20*time.Second, "the IPoIB interfaces are up", func() bool {
		all = nil
		up := 0
		for _, x := range l.status().Nodes {
			all = append(all, x.IPoIB...)
		}
		for _, i := range all {
			if i.State == "up" {
				up++
			}
		}
		return up == n
	})
	return all
}

// TestIPoIB: ping, both versions of IP, TCP and multicast over ib0, and what
// tshark sees of it on the wire.
func TestIPoIB(t *testing.T) {
	simtest.Need(t, "ping", "iperf3", "tshark", "tcpdump")
	l := up(t, "e2e-ipoib", ibStar("cw", 3, "width = 4\nspeed = \"SDR\""))
	dev := l.ipoib(3)
	link := l.cnuas("exec", "cw1", "--", "ip", "-o", "link", "show", "ib0")
	if !strings.Contains(link, "mtu 2044") || !strings.Contains(link, "LOWER_UP") {
		t.Errorf("ib0:\n%s", link)
	}
	if dev[0].MLID < 0xc000 || dev[0].MLID != dev[2].MLID || dev[0].Groups < 4 {
		t.Errorf("status: %+v", dev[0])
	}
	file := filepath.Join(t.TempDir(), "ipoib.pcapng")
	c := l.startCmd(exec.Command(cnuasBin, "capture", "cw1:ib0", "-w", file))
	eventually(t, 5*time.Second, "capturing", func() bool { return strings.Contains(c.out.String(), "capturing at") })
	dump := l.startCmd(exec.Command("ip", "netns", "exec", "cw1", "tcpdump", "-lnni", "ib0", "icmp"))
	eventually(t, 10*time.Second, "tcpdump listens", func() bool { return strings.Contains(dump.out.String(), "listening on") })

	ip := l.address("cw2", "ib0")
	ll := strings.Fields(strings.SplitAfter(l.cnuas("exec", "cw2", "--", "ip", "-o", "-6", "addr", "show", "dev", "ib0", "scope", "link"), "inet6")[1])[0]
	ll = strings.TrimSuffix(ll, "/64")
	for _, argv := range []string{"-c 3 -i 0.2 -W 5 " + ip, "-c 1 -W 5 -M do -s 2016 " + ip, "-c 2 -i 0.2 -W 5 fd00::2", "-c 2 -i 0.2 -W 5 " + ll + "%ib0"} {
		l.cnuas(append([]string{"exec", "cw1", "--", "ping"}, strings.Fields(argv)...)...)
	}
	if out := l.cnuas("exec", "cw1", "--", "ping", "-6", "-c", "3", "-i", "0.2", "-W", "5", "ff02::1%ib0"); !strings.Contains(out, "from "+ll) {
		t.Errorf("all nodes, and no answer from %s:\n%s", ll, out)
	}
	l.cnuas("exec", "cw2", "--", "ip", "addr", "add", "10.77.0.2/24", "dev", "ib0")
	l.cnuas("exec", "cw1", "--", "ip", "addr", "add", "10.77.0.1/24", "dev", "ib0")
	l.cnuas("exec", "cw1", "--", "ping", "-c", "2", "-i", "0.2", "-W", "5", "10.77.0.2")
	if out, err := l.try("exec", "cw1", "--", "ping", "-c", "1", "-W", "10", strings.TrimSuffix(ip, "2")+"99"); err == nil || !strings.Contains(out, "Destination Host Unreachable") {
		t.Errorf("an address that nobody has:\n%s", out)
	}
	if out, err := l.try("exec", "cw1", "--", "ping", "-6", "-c", "1", "-W", "10", "fd00::99"); err == nil || !strings.Contains(out, "Address unreachable") {
		t.Errorf("an address that nobody has:\n%s", out)
	}
	eventually(t, 5*time.Second, "tcpdump on ib0 sees the echo", func() bool { return strings.Contains(dump.out.String(), "ICMP echo reply") })
	c.cmd.Process.Signal(interrupt)
	if err := c.wait(t, 10*time.Second); err != nil {
		t.Fatalf("capture: %v\n%s", err, c.out.String())
	}
	if rows := fields(t, file, "arp && infiniband", "arp.opcode", "arp.hw.type", "arp.hw.size"); len(rows) < 2 || rows[0][1] != "32" || rows[0][2] != "20" {
		t.Errorf("ARP: %v", rows)
	}
	if rows := fields(t, file, "icmp && infiniband", "icmp.type", "ip.dst", "infiniband.deth.q_key"); len(rows) < 8 || !strings.HasSuffix(rows[0][2], "00000b1b") && rows[0][2] != "2843" {
		t.Errorf("ICMP: %v", rows)
	}
	if rows := fields(t, file, "icmpv6.type == 135 && infiniband", "infiniband.lrh.dlid", "icmpv6.nd.ns.target_address"); len(rows) == 0 {
		t.Error("no neighbour solicitation")
	}
	if rows := fields(t, file, "infiniband.mad.mgmtclass == 3", "infiniband.mad.attributeid"); len(rows) == 0 {
		t.Error("no question to subnet administration")
	}

	l.start("cw2", "iperf3", "-s", "-1")
	l.listening("cw2", "5201")
	l.cnuas("exec", "cw1", "--", "iperf3", "-n", "10M", "-c", ip)
	s := l.status()
	one, two := s.Nodes[0].IPoIB[0], s.Nodes[1].IPoIB[0]
	if one.Counters["tx_bytes"] < 5e6 || two.Counters["rx_bytes"] < 5e6 || one.Ring != (status.Ring{}) || two.Ring != (status.Ring{}) {
		t.Errorf("%+v\n%+v", one, two)
	}
	if one.Counters["tx_unresolved"] == 0 || one.Counters["path_failures"] != 0 || one.Counters["rx_malformed"] != 0 {
		t.Errorf("%v", one.Counters)
	}
	if out := l.cnuas("status", l.name); !strings.Contains(out, "cw1:ib0  up") {
		t.Errorf("status does not show the interface:\n%s", out)
	}
}

// TestIPoIBFollowsTheSubnet: no carrier without a subnet manager or a cable.
func TestIPoIBFollowsTheSubnet(t *testing.T) {
	simtest.Need(t, "ping")
	l := up(t, "e2e-ipoibsm", ibStar("cw", 2, "width = 4\nspeed = \"SDR\""), "--sm", "none")
	carrier := func(node string) bool {
		return !strings.Contains(l.cnuas("exec", node, "--", "ip", "link", "show", "ib0"), "NO-CARRIER")
	}
	if carrier("cw1") || carrier("cw2") {
		t.Error("carrier without a subnet manager")
	}
	l.cnuas("sm", "start", "cw1")
	l.ipoib(2)
	eventually(t, 5*time.Second, "carrier", func() bool { return carrier("cw1") && carrier("cw2") })
	l.cnuas("exec", "cw1", "--", "ping", "-c", "1", "-W", "5", l.address("cw2", "ib0"))
	l.cnuas("fault", "link", "cw2:ib0", "down")
	eventually(t, 5*time.Second, "no carrier without a cable", func() bool { return !carrier("cw2") })
	l.cnuas("fault", "link", "cw2:ib0", "up")
	l.ipoib(2)
	l.cnuas("exec", "cw1", "--", "ping", "-c", "1", "-W", "5", l.address("cw2", "ib0"))
}

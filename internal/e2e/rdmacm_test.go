//go:build conformance

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// dial runs a server and then a client. forever: the server does not end by
// itself.
func (l *lab) dial(node [2]string, d time.Duration, forever bool, server, client string) (srv, cli string) {
	l.t.Helper()
	eventually(l.t, 5*time.Second, "the last server is forgotten", func() bool { return l.listeners(node[0]) == 0 })
	s := l.start(node[0], strings.Fields(server)...)
	eventually(l.t, 10*time.Second, server+" listens", func() bool { return l.listeners(node[0]) > 0 })
	c := l.start(node[1], strings.Fields(client)...)
	if err := c.wait(l.t, d); err != nil {
		l.t.Fatalf("client %s: %v\n%s\nserver:\n%s", client, err, c.out.String(), s.out.String())
	}
	if forever {
		s.cmd.Process.Signal(interrupt)
		s.wait(l.t, 10*time.Second)
	} else if err := s.wait(l.t, 10*time.Second); err != nil {
		l.t.Fatalf("server %s: %v\n%s", server, err, s.out.String())
	}
	return s.out.String(), c.out.String()
}

// listeners is how many services of rdma_cm a node's programs offer.
func (l *lab) listeners(node string) int {
	for _, n := range l.status().Nodes {
		if n.Name == node {
			return n.Listeners
		}
	}
	return 0
}

// TestConnectionManager runs Debian's rdma_cm programs between two nodes.
func TestConnectionManager(t *testing.T) {
	simtest.Need(t, "rping", "ib_write_bw")
	l := up(t, "e2e-cm", star("ck", 2, "10Gbps", ""))
	nodes := [2]string{"ck1", "ck2"}
	for _, c := range []struct {
		server, client, want string
		forever              bool
	}{
		{server: "rping -s -v -C 10", client: "rping -c -v -C 10 -a 10.0.0.1", want: "rdma-ping-9"},
		{server: "rping -s -v -C 10 -a ::", client: "rping -c -v -C 10 -a fd00::1", want: "rdma-ping-9"},
		{server: "rping -s -P", client: "rping -c -v -C 3 -a 10.0.0.1", want: "rdma-ping-2", forever: true},
		{server: "ucmatose", client: "ucmatose -s 10.0.0.1", want: "return status 0"},
		{server: "ucmatose -c 20 -C 50 -S 3000", client: "ucmatose -c 20 -C 50 -S 3000 -s 10.0.0.1", want: "return status 0"},
		{server: "ucmatose -m", client: "ucmatose -m -s 10.0.0.1", want: "return status 0"},
		{server: "udaddy", client: "udaddy -s 10.0.0.1", want: "return status 0"},
		{server: "udaddy -c 10 -C 5", client: "udaddy -c 10 -C 5 -s 10.0.0.1", want: "return status 0"},
		{server: "rdma_server", client: "rdma_client -s 10.0.0.1", want: "end 0"},
		{server: "cmtime", client: "cmtime -c 100 -s 10.0.0.1", want: "disconnect", forever: true},
		{server: "rstream -S 4000 -C 100", client: "rstream -S 4000 -C 100 -s 10.0.0.1", want: "781k"},
		{server: "rstream -T b -S 4000 -C 100", client: "rstream -T b -S 4000 -C 100 -s 10.0.0.1", want: "781k"},
		{server: "riostream -S 1000 -C 5 -I 10", client: "riostream -S 1000 -C 5 -I 10 -s 10.0.0.1", want: "97k"},
		{server: "ib_write_bw -R -F -n 500", client: "ib_write_bw -R -F -n 500 10.0.0.1", want: "#bytes"},
		{server: "ib_write_bw -R -F -n 300 -q 8", client: "ib_write_bw -R -F -n 300 -q 8 10.0.0.1", want: "#bytes"},
		{server: "ib_write_bw -z -F -n 300", client: "ib_write_bw -z -F -n 300 10.0.0.1", want: "#bytes"},
		{server: "ib_read_bw -R -F -n 300", client: "ib_read_bw -R -F -n 300 10.0.0.1", want: "#bytes"},
		{server: "ib_send_bw -R -F -n 300 -b", client: "ib_send_bw -R -F -n 300 -b 10.0.0.1", want: "#bytes"},
		{server: "ib_send_bw -R -F -c UD -n 500 -r 512", client: "ib_send_bw -R -F -c UD -n 500 -r 512 10.0.0.1", want: "#bytes"},
		{server: "ib_send_lat -R -F -n 300 -e", client: "ib_send_lat -R -F -n 300 -e 10.0.0.1", want: "#bytes"},
		{server: "ib_write_lat -R -F -n 300 -T 106", client: "ib_write_lat -R -F -n 300 -T 106 10.0.0.1", want: "#bytes"},
		{server: "ib_atomic_bw -R -F -n 300", client: "ib_atomic_bw -R -F -n 300 10.0.0.1", want: "#bytes"},
	} {
		t.Run(c.client, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			srv, cli := l.dial(nodes, 40*time.Second, c.forever, c.server, c.client)
			if !strings.Contains(cli, c.want) {
				t.Errorf("no result:\n%s\nserver:\n%s", cli, srv)
			}
		})
	}
	t.Run("rping in one node", func(t *testing.T) {
		l := &lab{t: t, name: l.name}
		l.dial([2]string{"ck1", "ck1"}, 20*time.Second, false, "rping -s -v -C 5", "rping -c -v -C 5 -a 10.0.0.1")
	})
	t.Run("mckey", func(t *testing.T) {
		l := &lab{t: t, name: l.name}
		l.group("10.0.0")
	})
	for _, n := range l.status().Nodes {
		if r := n.Interfaces[0].RDMA; r.QPs != 0 || n.Programs != 0 {
			t.Errorf("%s: %d queue pairs and %d programs are left", n.Name, r.QPs, n.Programs)
		}
		for _, k := range []string{"memory_failures", "local_errors", "dropped_malformed", "dropped_opcode", "dropped_address"} {
			if c := n.Interfaces[0].RDMA.Counters[k]; c != 0 {
				t.Errorf("%s: %s = %d", n.Name, k, c)
			}
		}
	}
}

// ended tells whether the program has ended.
func (j *job) ended() bool {
	select {
	case err := <-j.done:
		j.done <- err
		return true
	default:
		return false
	}
}

// group has node ck1 listen to a group, and ck2 send: once as a member that only
// sends, once as one that would receive too, each with the route's choice of the
// address and with its own.
func (l *lab) group(prefix string) {
	l.t.Helper()
	for _, bind := range []bool{false, true} {
		own := func(node string) string {
			if bind {
				return " -b " + prefix + "." + node
			}
			return ""
		}
		r := l.start("ck1", strings.Fields("stdbuf -oL mckey -m 239.1.2.3 -C 50"+own("1"))...)
		eventually(l.t, 10*time.Second, "joined", func() bool { return strings.Contains(r.out.String(), "joined dgid") })
		// Datagrams may be lost, those surely that come before a subnet manager has
		// led the group's tree to a new member.
		for round := 0; round < 20 && !r.ended(); round++ {
			for _, s := range []string{" -o", ""} {
				l.cnuas(append([]string{"exec", "ck2", "--"}, strings.Fields("mckey -m 239.1.2.3 -C 25 -s"+s+own("2"))...)...)
			}
		}
		if err := r.wait(l.t, 10*time.Second); err != nil {
			l.t.Errorf("receiver: %v\n%s", err, r.out.String())
		}
	}
}

// TestConnectionManagerInfiniBand: the same over InfiniBand, with the addresses
// of IPoIB.
func TestConnectionManagerInfiniBand(t *testing.T) {
	simtest.Need(t, "rping", "ib_write_bw")
	toml := ""
	for i := range 2 {
		toml += fmt.Sprintf("[[node]]\nname = \"ck%d\"\n[[link]]\na = \"ck%d:ib0\"\nb = \"cks:%d\"\n", i+1, i+1, i+1)
	}
	l := up(t, "e2e-cmib", "[[switch]]\nname = \"cks\"\nkind = \"ib\"\n[defaults.link]\nwidth = 1\nspeed = \"EDR\"\n"+toml)
	nodes := [2]string{"ck1", "ck2"}
	for _, c := range []struct {
		server, client, want string
		forever              bool
	}{
		{server: "rping -s -v -C 10", client: "rping -c -v -C 10 -a 10.0.0.1", want: "rdma-ping-9"},
		{server: "rping -s -v -C 10 -a ::", client: "rping -c -v -C 10 -a fd00::1", want: "rdma-ping-9"},
		{server: "ucmatose -c 20 -C 50 -S 3000", client: "ucmatose -c 20 -C 50 -S 3000 -s 10.0.0.1", want: "return status 0"},
		{server: "udaddy -c 10 -C 5", client: "udaddy -c 10 -C 5 -s 10.0.0.1", want: "return status 0"},
		{server: "rdma_server", client: "rdma_client -s 10.0.0.1", want: "end 0"},
		{server: "cmtime", client: "cmtime -c 100 -s 10.0.0.1", want: "disconnect", forever: true},
		{server: "rstream -S 4000 -C 100", client: "rstream -S 4000 -C 100 -s 10.0.0.1", want: "781k"},
		{server: "ib_write_bw -R -F -n 500", client: "ib_write_bw -R -F -n 500 10.0.0.1", want: "#bytes"},
		{server: "ib_send_bw -R -F -c UD -n 500 -r 512", client: "ib_send_bw -R -F -c UD -n 500 -r 512 10.0.0.1", want: "#bytes"},
	} {
		t.Run(c.client, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			srv, cli := l.dial(nodes, 40*time.Second, c.forever, c.server, c.client)
			if !strings.Contains(cli, c.want) {
				t.Errorf("no result:\n%s\nserver:\n%s", cli, srv)
			}
		})
	}
	t.Run("rping in one node", func(t *testing.T) {
		l := &lab{t: t, name: l.name}
		l.dial([2]string{"ck1", "ck1"}, 20*time.Second, false, "rping -s -v -C 5", "rping -c -v -C 5 -a 10.0.0.1")
	})
	t.Run("mckey", func(t *testing.T) {
		l := &lab{t: t, name: l.name}
		l.group("10.0.0")
	})
}

// TestConnectionManagerFile: signals, readiness, forks, limits.
func TestConnectionManagerFile(t *testing.T) {
	simtest.Need(t, "gcc")
	prog := filepath.Join(t.TempDir(), "rdmacm")
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-pthread", "-o", prog, "testdata/rdmacm.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	l := up(t, "e2e-cmfile", star("ck", 2, "10Gbps", ""))
	j := l.start("ck1", prog)
	if err := j.wait(t, time.Minute); err != nil || !strings.Contains(j.out.String(), "all right") {
		t.Errorf("%v\n%s", err, j.out.String())
	}
	j = l.start("ck1", "stdbuf", "-oL", prog, "wait")
	eventually(t, time.Minute, "the program is done", func() bool { return strings.Contains(j.out.String(), "all right") })
	j.cmd.Process.Kill() // the launcher; its program goes on
	l.cnuas("down", l.name)
}

// TestConnectionManagerDies: who is killed is missed by its peer.
func TestConnectionManagerDies(t *testing.T) {
	simtest.Need(t, "rping")
	l := up(t, "e2e-cmdie", star("ck", 2, "10Gbps", ""))
	for _, victim := range []int{0, 1} {
		eventually(t, 5*time.Second, "the last server is forgotten", func() bool { return l.listeners("ck1") == 0 })
		s := l.start("ck1", "sh", "-c", "echo $$; exec stdbuf -oL rping -s -v")
		eventually(t, 10*time.Second, "the server listens", func() bool { return l.listeners("ck1") > 0 })
		c := l.start("ck2", "sh", "-c", "echo $$; exec stdbuf -oL rping -c -v -a 10.0.0.1")
		eventually(t, 10*time.Second, "pinging", func() bool { return strings.Contains(c.out.String(), "rdma-ping-") })
		pair := []*job{s, c}
		var pid int
		fmt.Sscan(pair[victim].out.String(), &pid)
		if out, err := exec.Command("kill", "-9", fmt.Sprint(pid)).CombinedOutput(); err != nil {
			t.Fatalf("kill: %v %s", err, out)
		}
		pair[victim].wait(t, 5*time.Second)
		eventually(t, 10*time.Second, "the peer hears of it", func() bool {
			return strings.Contains(pair[1-victim].out.String(), "DISCONNECT EVENT")
		})
		pair[1-victim].wait(t, 10*time.Second)
	}
	for _, n := range l.status().Nodes {
		if r := n.Interfaces[0].RDMA; r.QPs != 0 {
			t.Errorf("%s: %d queue pairs are left", n.Name, r.QPs)
		}
	}
}

// TestCaptureConnection: tshark decodes our messages.
func TestCaptureConnection(t *testing.T) {
	simtest.Need(t, "tshark", "rping")
	l := up(t, "e2e-cmcap", star("ck", 2, "10Gbps", ""))
	file := filepath.Join(t.TempDir(), "cm.pcapng")
	c := l.startCmd(exec.Command(cnuasBin, "capture", "ck1:eth0", "-w", file, "udp", "port", "4791"))
	eventually(t, 5*time.Second, "capturing", func() bool { return strings.Contains(c.out.String(), "capturing at") })
	l.dial([2]string{"ck1", "ck2"}, 20*time.Second, false, "rping -s -C 100", "rping -c -C 100 -a 10.0.0.1")
	l.dial([2]string{"ck1", "ck2"}, 20*time.Second, false, "udaddy", "udaddy -s 10.0.0.1")
	c.cmd.Process.Signal(interrupt)
	if err := c.wait(t, 10*time.Second); err != nil {
		t.Fatalf("capture: %v\n%s", err, c.out.String())
	}
	checkICRC(t, file)
	const req, rep, cma = "infiniband.cm.req.", "infiniband.cm.rep.", "infiniband.mad.mgmtclass == 7 && infiniband.mad.attributeid == "
	one := func(filter string, names ...string) []string {
		t.Helper()
		rows := fields(t, file, filter, names...)
		if len(rows) == 0 || len(rows[0]) != len(names) {
			t.Fatalf("%s: %v", filter, rows)
		}
		return rows[0]
	}
	want := func(what string, got []string, want ...string) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %v", what, got)
		}
		for i := range got {
			if want[i] != "" && !same(got[i], want[i]) {
				t.Errorf("%s: field %d is %s, want %s", what, i, got[i], want[i])
			}
		}
	}
	q := one(cma+"0x10", "ip.src", "infiniband.deth.q_key", "infiniband.bth.destqp", "infiniband.mad.classversion", "infiniband.mad.method",
		req+"serviceid.prefix", req+"serviceid.protocol", req+"serviceid.dport", req+"remoteresptout", req+"maxcmretr", req+"pkey", req+"pppmtu",
		req+"prim_localgid_ipv4", req+"prim_remotegid_ipv4", req+"prim_locallid", req+"ip_cm.ipv", req+"ip_cm.sip4", req+"ip_cm.dip4",
		req+"transpsvctype", req+"localqpn", req+"startpsn", "infiniband.mad.transactionid", "infiniband.cm.req")
	want("REQ", q, "10.0.0.2", "0x80010000", "0x000001", "0x02", "0x03", "", "0x06", "7174", "0x14", "0x0f", "0xffff", "",
		"10.0.0.2", "10.0.0.1", "0xffff", "0x04", "10.0.0.2", "10.0.0.1", "0x00", "", "", "", "")
	p := one(cma+"0x13", "ip.src", rep+"remotecommid", rep+"localqpn", rep+"startpsn", rep+"tgtackdelay", "infiniband.mad.transactionid", "infiniband.cm.rep")
	want("REP", p, "10.0.0.1", q[22], "", "", "0x0f", q[21], "")
	want("RTU", one(cma+"0x14", "ip.src", "infiniband.cm.rtu.localcommid", "infiniband.cm.rtu.remotecommid", "infiniband.mad.transactionid"),
		"10.0.0.2", q[22], p[6], q[21])
	// The first packets of both directions have the PSNs that were agreed upon.
	for _, d := range [][3]string{{"10.0.0.2", p[2], p[3]}, {"10.0.0.1", q[19], q[20]}} {
		want("first packet", one("ip.src == "+d[0]+" && infiniband.bth.opcode < 32 && infiniband.bth.opcode != 17", "infiniband.bth.destqp", "infiniband.bth.psn"), d[1], d[2])
	}
	if len(fields(t, file, cma+"0x15", "ip.src")) == 0 || len(fields(t, file, cma+"0x16", "ip.src")) == 0 || len(fields(t, file, cma+"0x17", "ip.src")) == 0 || len(fields(t, file, cma+"0x18", "ip.src")) == 0 {
		t.Error("DREQ, DREP, SIDR_REQ and SIDR_REP are not all there")
	}
	if m := fields(t, file, "infiniband.mad.mgmtclass == 7 && _ws.malformed", "frame.number"); len(m) != 0 {
		t.Errorf("malformed: %v", m)
	}
}

// same tells whether two texts are the same number, or the same text.
func same(a, b string) bool {
	x, err1 := strconv.ParseUint(a, 0, 64)
	y, err2 := strconv.ParseUint(b, 0, 64)
	return err1 == nil && err2 == nil && x == y || a == b
}

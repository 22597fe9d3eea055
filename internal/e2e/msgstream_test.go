package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// example builds the program of examples/DIR and returns its path.
func example(t *testing.T, dir, program string, vars ...string) string {
	t.Helper()
	simtest.Need(t, "make", "gcc")
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		simtest.Missing(t, "the verbs headers are not installed", "apt-get install libibverbs-dev")
	}
	bin := t.TempDir()
	argv := append([]string{"-s", "-C", "../../examples/" + dir, "BIN=" + bin, bin + "/" + program}, vars...)
	if out, err := exec.Command("make", argv...).CombinedOutput(); err != nil {
		t.Fatalf("make %v: %v\n%s", argv, err, out)
	}
	return filepath.Join(bin, program)
}

// shipped is one of the shipped topologies with the nodes and switches renamed
// by the pairs, as nodes of another fabric may be up.
func shipped(t *testing.T, name string, rename ...string) string {
	t.Helper()
	b, err := os.ReadFile("../../topologies/" + name + ".toml")
	if err != nil {
		t.Fatal(err)
	}
	toml := strings.Replace(string(b), "name = \""+name+"\"\n", "", 1)
	for i := 0; i < len(rename); i += 2 {
		for _, end := range []string{"\"", ":"} {
			toml = strings.ReplaceAll(toml, "\""+rename[i]+end, "\""+rename[i+1]+end)
		}
	}
	return toml
}

// TestMessageStream runs the example program over RoCE: as it is, over IPv6,
// with messages of all kinds, over a lossy link, and in the ways that must fail.
func TestMessageStream(t *testing.T) {
	msgstream := example(t, "rdma", "msgstream")
	other := example(t, "rdma", "msgstream", "CPPFLAGS=-DSEED=1")
	l := up(t, "e2e-msgstream", shipped(t, "two-hosts", "h1", "cs1", "h2", "cs2", "s1", "css"))
	run := func(t *testing.T, client, addr string, argv ...string) (srv, cli *job, serr, cerr error) {
		l := &lab{t: t, name: l.name}
		srv = l.start("cs2", msgstream, "-d", "rxe0")
		l.listening("cs2", "18520")
		cli = l.start("cs1", append(append([]string{client}, argv...), addr)...)
		cerr = cli.wait(t, time.Minute)
		return srv, cli, srv.wait(t, time.Minute), cerr
	}
	for _, c := range []struct{ name, addr, args, want string }{
		{"as it is", "10.0.0.2", "", "GID ::ffff:10.0.0.1 (index 1)"},
		{"IPv6", "fd00::2", "-n 200", "GID fd00::1 (index 2)"},
		{"GID by index", "10.0.0.2", "-n 200 -g 1", "GID ::ffff:10.0.0.1 (index 1)"},
		{"one byte", "10.0.0.2", "-n 3000 -s 1 -w 1", "sent 3000 messages of 1 bytes"},
		{"long and odd", "10.0.0.2", "-n 20 -s 1000003 -w 16000001", "wrote 16000001 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv, cli, serr, cerr := run(t, msgstream, c.addr, strings.Fields(c.args)...)
			if serr != nil || cerr != nil || !strings.Contains(cli.out.String(), c.want) ||
				!strings.Contains(cli.out.String(), "the peer has verified both") || !strings.Contains(srv.out.String(), " 0 of them wrong") {
				t.Errorf("client: %v\n%s\nserver: %v\n%s", cerr, cli.out.String(), serr, srv.out.String())
			}
		})
	}
	t.Run("loss", func(t *testing.T) {
		l.cnuas("fault", "loss", "css:1", "1e-2")
		defer l.cnuas("fault", "loss", "css:1", "0")
		srv, cli, serr, cerr := run(t, msgstream, "10.0.0.2", "-s", "20000", "-n", "300")
		if serr != nil || cerr != nil {
			t.Errorf("client: %v\n%s\nserver: %v\n%s", cerr, cli.out.String(), serr, srv.out.String())
		}
		if n := port(t, l.status(), "css:1").Drops["injected_loss"]; n == 0 {
			t.Error("nothing was lost")
		}
	})
	t.Run("wrong data", func(t *testing.T) {
		srv, cli, _, _ := run(t, other, "10.0.0.2", "-n", "100")
		if s, c := srv.cmd.ProcessState.ExitCode(), cli.cmd.ProcessState.ExitCode(); s != 3 || c != 3 {
			t.Errorf("exit statuses: server %d, client %d; want 3", s, c)
		}
		for _, want := range []string{"100 of them wrong", "the peer's write is not in the window"} {
			if !strings.Contains(srv.out.String(), want) {
				t.Errorf("the server did not say %q:\n%s", want, srv.out.String())
			}
		}
	})
	t.Run("peer killed", func(t *testing.T) {
		l := &lab{t: t, name: l.name}
		srv := l.start("cs2", msgstream, "-d", "rxe0")
		l.listening("cs2", "18520")
		cli := l.start("cs1", msgstream, "-n", "100000000", "10.0.0.2")
		eventually(t, 10*time.Second, "the stream runs", func() bool { return strings.Contains(srv.out.String(), "index") })
		cli.cmd.Process.Signal(syscall.SIGTERM)
		srv.wait(t, 10*time.Second)
		if s := srv.cmd.ProcessState.ExitCode(); s != 1 || !strings.Contains(srv.out.String(), "the peer ended") {
			t.Errorf("server: %d\n%s", s, srv.out.String())
		}
	})
	for _, c := range []struct {
		args, want string
		status     int
	}{
		{"10.0.0.2", "Connection refused", 1},
		{"-d mlx5_0 10.0.0.2", "no RDMA device mlx5_0; the first one here is rxe0", 1},
		{"-i 2 10.0.0.2", "no port 2", 1},
		{"-s 0 10.0.0.2", "not a number in range", 2},
		{"-n many 10.0.0.2", "not a number in range", 2},
		{"-x", "usage", 2},
		{"a b", "one server, not 2", 2},
	} {
		j := l.start("cs1", append([]string{msgstream}, strings.Fields(c.args)...)...)
		j.wait(t, 10*time.Second)
		if s := j.cmd.ProcessState.ExitCode(); s != c.status || !strings.Contains(j.out.String(), c.want) {
			t.Errorf("msgstream %s: status %d, want %d and %q:\n%s", c.args, s, c.status, c.want, j.out.String())
		}
	}
	for _, n := range l.status().Nodes {
		if q := n.Interfaces[0].RDMA.QPs; q != 0 {
			t.Errorf("%s: %d queue pairs are left", n.Name, q)
		}
	}
}

// TestMessageStreamInfiniBand runs the same program, unchanged, over InfiniBand:
// its TCP connection over IPoIB and over the management network.
func TestMessageStreamInfiniBand(t *testing.T) {
	msgstream := example(t, "rdma", "msgstream")
	l := up(t, "e2e-msgib", shipped(t, "ib-two-hosts", "h1", "cs1", "h2", "cs2", "s1", "css"))
	l.ipoib(2)
	for _, c := range []struct{ dev, args string }{{"ib0", ""}, {"mgmt0", "-n 100 -s 100000"}} {
		t.Run(c.dev, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			srv := l.start("cs2", msgstream, "-d", "rxe0")
			l.listening("cs2", "18520")
			cli := l.start("cs1", append(append([]string{msgstream}, strings.Fields(c.args)...), l.address("cs2", c.dev))...)
			if err := cli.wait(t, time.Minute); err != nil || !strings.Contains(cli.out.String(), "InfiniBand: QP") || !strings.Contains(cli.out.String(), "the peer has verified both") {
				t.Errorf("client: %v\n%s\nserver:\n%s", err, cli.out.String(), srv.out.String())
			}
			if err := srv.wait(t, 10*time.Second); err != nil {
				t.Errorf("server: %v\n%s", err, srv.out.String())
			}
		})
	}
}

// TestMessageStreamHybrid: two devices in each node, one on each fabric.
func TestMessageStreamHybrid(t *testing.T) {
	msgstream := example(t, "rdma", "msgstream")
	l := up(t, "e2e-msghyb", shipped(t, "hybrid", "h1", "cs1", "h2", "cs2", "h3", "cs3", "s1", "css", "ib1", "csi"))
	l.ipoib(3)
	run := func(t *testing.T, srvDev, cliDev string) (srv, cli *job) {
		l := &lab{t: t, name: l.name}
		srv = l.start("cs2", msgstream, "-d", srvDev)
		l.listening("cs2", "18520")
		cli = l.start("cs1", msgstream, "-d", cliDev, "-n", "200", l.address("cs2", "eth0"))
		cli.wait(t, time.Minute)
		srv.wait(t, 10*time.Second)
		return srv, cli
	}
	for dev, want := range map[string]string{"rxe0": "InfiniBand: QP", "rxe1": "Ethernet: QP"} {
		if srv, cli := run(t, dev, dev); cli.cmd.ProcessState.ExitCode() != 0 || srv.cmd.ProcessState.ExitCode() != 0 || !strings.Contains(cli.out.String(), want) {
			t.Errorf("%s:\n%s\n%s", dev, cli.out.String(), srv.out.String())
		}
	}
	srv, cli := run(t, "rxe0", "rxe1")
	if srv.cmd.ProcessState.ExitCode() != 1 || cli.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(srv.out.String(), "they are on different fabrics") {
		t.Errorf("one of each:\n%s\n%s", srv.out.String(), cli.out.String())
	}
}

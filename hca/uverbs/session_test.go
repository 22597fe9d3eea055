package uverbs_test

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/launch"
	"cnuas/internal/simtest"
)

func TestExitStatus(t *testing.T) {
	f := newFabric(t)
	for _, c := range []struct {
		argv   []string
		status int
		out    string
	}{
		{[]string{"true"}, 0, ""},
		{[]string{"sh", "-c", "exit 7"}, 7, ""},
		{[]string{"sh", "-c", "kill -TERM $$"}, 143, ""},
		{[]string{"cnuas-no-such-program"}, launch.StatusNotFound, "no such program"},
		{[]string{"/nonexistent/x"}, launch.StatusNotFound, "no such"},
		{[]string{"/etc/passwd"}, launch.StatusCannotExec, "permission denied"},
		{nil, launch.StatusOwnError, "no program"},
		{[]string{"sh", "-c", "ip -o link show eth0 && nice && ulimit -l && cat /dev/infiniband/.cnuas-node"}, 0, "19\nunlimited\ntest/h1"},
		{[]string{"sh", "-c", "ls /sys/class/net; cat /sys/class/infiniband_verbs/uverbs0/ibdev; test -e /dev/null -a -e /dev/shm -a -e /dev/pts"}, 0, "eth0\nlo\nrxe0\n"},
		{[]string{"sh", "-c", "echo x > /sys/class/infiniband/rxe0/ports/1/state"}, 2, "Read-only"},
	} {
		if len(c.argv) > 2 && strings.Contains(c.argv[2], "ulimit") && !memlockCanBeRaised() {
			c.out = "19\n"
		}
		out := f.exec(t, 0, c.argv...).wait(t, 10*time.Second, c.status)
		if !strings.Contains(out, c.out) {
			t.Errorf("%v: %q lacks %q", c.argv, out, c.out)
		}
	}
	if _, err := os.Stat("/dev/infiniband/.cnuas-node"); err == nil {
		t.Error("the view leaked to the host")
	}
}

// memlockCanBeRaised is false for a root without CAP_SYS_RESOURCE.
func memlockCanBeRaised() bool {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l) != nil {
		return false
	}
	return l.Max == unix.RLIM_INFINITY || exec.Command("sh", "-c", "ulimit -H -l unlimited").Run() == nil
}

func TestSignalsArePassedOn(t *testing.T) {
	f := newFabric(t)
	// Where these are ignored (nohup, a job in the background of a script)
	// programs would inherit that, and a shell could not trap them.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1)
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGUSR1, unix.SIGHUP} {
		p := f.exec(t, 0, "sh", "-c", "trap 'echo caught; exit 3' TERM INT USR1 HUP; echo ready; while :; do sleep 0.02; done")
		p.await(t, "ready")
		unix.Kill(p.Process.Pid, sig)
		if out := p.wait(t, 10*time.Second, 3); !strings.Contains(out, "caught") {
			t.Errorf("%v: %q", sig, out)
		}
	}
	p := f.exec(t, 0, "sleep", "60")
	for range 200 { // until the program is there to be signalled
		if out, _ := exec.Command("ip", "netns", "pids", f.netns(0)).Output(); len(out) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	unix.Kill(p.Process.Pid, unix.SIGTERM)
	p.wait(t, 10*time.Second, launch.StatusSignal+int(unix.SIGTERM))
}

// await waits for a line of output.
func (p *program) await(t testing.TB, line string) {
	t.Helper()
	for range 2000 {
		if strings.Contains(p.text(), line) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no %q in %q", line, p.text())
}

// TestNested: inside a program that was started on a node, the launcher runs
// further programs of the same node directly and refuses others.
func TestNested(t *testing.T) {
	f := newFabric(t)
	nested := func(node int) string {
		conn, err := f.session(node)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		inner := f.config(node, "ibv_devices")
		outer, err := f.session(0)
		if err != nil {
			t.Fatal(err)
		}
		defer outer.Close()
		return launchNested(t, outer, conn, f.config(0), inner)
	}
	if out := nested(0); !strings.Contains(out, "020c0afffe000001") {
		t.Errorf("same node: %s", out)
	}
	if out := nested(1); !strings.Contains(out, "already inside of node test/h1") {
		t.Errorf("other node: %s", out)
	}
}

// TestShell: two programs one after the other in a shell, and one in the
// background.
func TestShell(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong")
	f := newFabric(t)
	server := f.exec(t, 0, "sh", "-c", "ibv_rc_pingpong -g 1 -n 50 && ibv_rc_pingpong -g 1 -n 50 & wait; echo done")
	f.listening(t, server)
	client := f.exec(t, 1, "sh", "-c", "ibv_rc_pingpong -g 1 -n 50 10.213.7.1 && for i in 1 2 3 4 5 6 7 8 9; do ibv_rc_pingpong -g 1 -n 50 10.213.7.1 && exit 0; sleep 0.2; done; exit 1")
	client.wait(t, 30*time.Second, 0)
	if out := server.wait(t, 30*time.Second, 0); strings.Count(out, "50 iters") != 2 {
		t.Errorf("server: %s", out)
	}
}

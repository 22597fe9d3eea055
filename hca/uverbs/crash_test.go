package uverbs_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// daemonMain is a daemon of its own, to be killed: it serves launchers at a
// socket, each of which first sends the number of its node.
func daemonMain(config string) int {
	f := &fabric{}
	if _, err := fmt.Sscanf(config, "%s %s", &f.dir, &f.prefix); err != nil {
		return 1
	}
	if err := f.start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := net.Listen("unix", f.dir+"/sock")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		go func() {
			var b [1]byte
			if _, err := io.ReadFull(c, b[:]); err == nil {
				_ = f.nodes[b[0]].Attach(c.(*net.UnixConn))
			}
		}()
	}
}

// TestDaemonDies kills the daemon under running programs. They have to end by
// themselves, or be ended, within 5 s, and the shell that started them must not.
func TestDaemonDies(t *testing.T) {
	simtest.Root(t)
	simtest.Need(t, "ib_write_bw", "ibv_rc_pingpong")
	for _, line := range []string{ // package e2e kills more of them
		"ib_send_bw -d rxe0 -F -x 1 -n 50000000 -e",
		"ibv_rc_pingpong -d rxe0 -g 1 -n 100000000 -e",
	} {
		t.Run(line, func(t *testing.T) { daemonDies(t, strings.Fields(line)) })
	}
}

func daemonDies(t *testing.T, argv []string) {
	dir := t.TempDir()
	f := &fabric{dir: dir, prefix: fmt.Sprintf("cnuvt%d", os.Getpid())}
	makeNamespaces(t, f)
	d := exec.Command("/proc/self/exe")
	d.Env = append(os.Environ(), daemonEnv+"="+f.dir+" "+f.prefix)
	d.Stderr = os.Stderr
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Process.Kill(); d.Wait() })
	if _, err := out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	shell := func(i int, argv []string) *program {
		c, err := net.Dial("unix", dir+"/sock")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		conn, err := c.(*net.UnixConn).File()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return launchOn(t, conn, f.config(i, "sh", "-c", strings.Join(argv, " ")+"; echo status $?; exit 0"))
	}
	server := shell(0, argv)
	f.listening(t, server)
	client := shell(1, append(argv, address(0)))
	f.moving(t)
	begin := time.Now()
	d.Process.Kill()
	for _, p := range []*program{server, client} {
		text := p.wait(t, 10*time.Second, 0)
		t.Logf("after %v: %s", time.Since(begin).Round(time.Millisecond), last(text, 4))
		if strings.Contains(text, "status 0") {
			t.Errorf("the program did not notice: %s", text)
		}
	}
	if d := time.Since(begin); d > 5*time.Second+500*time.Millisecond {
		t.Errorf("it took %v", d)
	}
}

// moving waits until the programs' packets flow, as the port's counters say.
func (f *fabric) moving(t testing.TB) {
	t.Helper()
	for range 1000 {
		b, _ := os.ReadFile(f.sysfs(1) + "/infiniband/rxe0/ports/1/counters/port_xmit_packets")
		if n := strings.TrimSpace(string(b)); len(n) >= 3 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no packet moves")
}

func last(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// TestProgramIsKilled: whatever a program had is gone when it is killed, and
// its peer gets an error.
func TestProgramIsKilled(t *testing.T) {
	simtest.Need(t, "ib_write_bw")
	f := newFabric(t)
	argv := strings.Fields("ib_write_bw -d rxe0 -F -x 1 -D 60 -q 4")
	server := f.exec(t, 0, argv...)
	f.listening(t, server)
	client := f.exec(t, 1, append(argv, address(0))...)
	f.moving(t)
	if u := f.nodes[0].Usage(); u.QPs < 4 || u.MRs < 1 || u.CQs < 1 || u.Contexts != 1 {
		t.Errorf("in use: %+v", u)
	}
	unix.Kill(-server.Process.Pid, unix.SIGKILL)
	begin := time.Now()
	select {
	case <-client.done:
	case <-time.After(10 * time.Second):
		t.Fatal("the peer of a killed program hangs")
	}
	t.Logf("the peer ended after %v: %s", time.Since(begin).Round(time.Millisecond), last(client.text(), 3))
	if client.ProcessState.ExitCode() == 0 {
		t.Error("the peer of a killed program succeeded")
	}
	for range 200 {
		if f.nodes[0].Usage().Contexts+f.nodes[1].Usage().Contexts == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("left behind: %+v %+v", f.nodes[0].Usage(), f.nodes[1].Usage())
}

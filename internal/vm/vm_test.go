//go:build lab

package vm

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/internal/vm/agent"
)

func stream(t *testing.T, m *Machine) Stream {
	t.Helper()
	s, err := m.Open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func in(t *testing.T, m *Machine, stdin io.Reader, argv ...string) (status int, stdout, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	status, err := agent.Exec(stream(t, m), agent.Command{Argv: argv}, agent.IO{Stdin: stdin, Stdout: &o, Stderr: &e})
	if err != nil {
		t.Errorf("%v: %v", argv, err)
	}
	return status, o.String(), e.String()
}

func TestVMCommands(t *testing.T) {
	m := sharedVM(t)
	status, out, errs := in(t, m, strings.NewReader("in"), "sh", "-c", "cat; uname -r; echo err >&2; exit 7")
	if want := "in" + m.Hello().Release + "\n"; status != 7 || out != want || errs != "err\n" {
		t.Errorf("%d %q %q", status, out, errs)
	}
	if m.Hello().Release != m.cfg.Kernel.Release {
		t.Errorf("release %s", m.Hello().Release)
	}
	if status, _, _ := in(t, m, nil, "sh", "-c", "kill -TERM $$"); status != 128+15 {
		t.Errorf("signal: %d", status)
	}
	if status, err := agent.Exec(stream(t, m), agent.Command{Argv: []string{"no-such-program"}}, agent.IO{}); status != agent.StatusNotFound || err == nil {
		t.Error(status, err)
	}
	sig := make(chan os.Signal, 1)
	status, err := agent.Exec(stream(t, m), agent.Command{Argv: []string{"sh", "-c", "echo; exec sleep 100"}},
		agent.IO{Signals: sig, Stdout: writer(func() { sig <- syscall.SIGINT })})
	if status != 128+2 || err != nil {
		t.Error(status, err)
	}
	var o bytes.Buffer
	status, err = agent.Exec(stream(t, m), agent.Command{Argv: []string{"sh", "-c", "readlink /proc/self/fd/0; stty size"}, TTY: true, Rows: 12, Cols: 34}, agent.IO{Stdout: &o})
	if status != 0 || err != nil || !strings.HasPrefix(o.String(), "/dev/pts/") || !strings.Contains(o.String(), "12 34") {
		t.Errorf("%d %v %q", status, err, o.String())
	}
}

type writer func()

func (w writer) Write(b []byte) (int, error) { w(); return len(b), nil }

// checks runs scripts in one shell after the other and compares what they say.
func checks(t *testing.T, m *Machine, l map[string]string) {
	t.Helper()
	for script, want := range l {
		if _, out, errs := in(t, m, nil, "sh", "-c", script); strings.TrimSpace(out) != want {
			t.Errorf("%s: %q %q, want %q", script, out, errs, want)
		}
	}
	if w := m.Hello().Warnings; len(w) > 0 {
		t.Errorf("warnings: %v", w)
	}
}

// TestVMHasWhatProgramsNeed: devices, modules, limits, and nothing of ours.
func TestVMHasWhatProgramsNeed(t *testing.T) {
	m := sharedVM(t)
	checks(t, m, map[string]string{
		"ulimit -l; hostname; cat /sys/class/net/lo/flags":                                                  "unlimited\nlab\n0x9",
		"test -c /dev/net/tun && test -c /dev/infiniband/rdma_cm && test -d /sys/module/rdma_rxe && echo y": "y",
		"test -e " + m.cfg.Agent + "; echo $?":                                                              "1",
		"command -v cnuas; cnuas version | head -c5; echo; echo $HOME":                                      "/run/lab/cnuas\ncnuas\n/root",
		"(sleep 0.01 &) ; sleep 0.1; ps ax | grep -c '[d]efunct'":                                           "0",
		"ip link add v0 type veth peer name v1 && ip link del v0; echo $?":                                  "0",
		"perl -e 'print 1+1'; dmesg -l emerg,alert,crit | wc -l":                                            "20",
	})
}

// TestVMSeesHostFiles, and cannot write them. At the end it closes the port
// without a word: the guest must end by itself then.
func TestVMSeesHostFiles(t *testing.T) {
	m := boot(t, config(t))
	defer m.Close()
	checks(t, m, map[string]string{
		"test -x " + m.cfg.Agent + " && echo y":                                           "y",
		"modprobe -a veth bridge && test -d /sys/module/veth && echo y":                   "y",
		"touch /usr/lab-was-here && ls /usr/lab-was-here":                                 "/usr/lab-was-here",
		"command -v cnuas; ulimit -l; ls -d /run/cnuas 2>/dev/null; findmnt -no FSTYPE /": "/run/lab/cnuas\nunlimited\noverlay",
	})
	if _, err := os.Stat("/usr/lab-was-here"); err == nil {
		t.Error("the VM wrote into this machine's files")
	}
	dialed(t, m)
	m.session.Close()
	select {
	case <-m.Done():
		if m.child.err != nil {
			t.Errorf("QEMU: %v", m.child.err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the guest goes on without its host")
	}
}

func TestVMManyAtOnce(t *testing.T) {
	m := sharedVM(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			want := fmt.Sprint(i)
			if status, out, _ := in(t, m, strings.NewReader(want), "cat"); status != 0 || out != want {
				t.Errorf("%d: %d %q", i, status, out)
			}
		})
	}
	all.Wait()
}

func TestVMFilesAndBytes(t *testing.T) {
	m := sharedVM(t)
	data := make([]byte, 8<<20)
	rand.Read(data)
	begin := time.Now()
	if err := agent.Put(stream(t, m), "/tmp/blob", 0o751, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	put := time.Since(begin)
	var back bytes.Buffer
	begin = time.Now()
	if err := agent.Get(stream(t, m), "/tmp/blob", &back); err != nil || !bytes.Equal(back.Bytes(), data) {
		t.Errorf("%d bytes: %v", back.Len(), err)
	}
	t.Logf("put %.1f MB/s, get %.1f MB/s", 8.4/put.Seconds(), 8.4/time.Since(begin).Seconds())
	if _, out, _ := in(t, m, nil, "stat", "-c", "%a %s", "/tmp/blob"); out != "751 8388608\n" {
		t.Errorf("%q", out)
	}
	if _, out, _ := in(t, m, bytes.NewReader(data), "cat"); out != string(data) {
		t.Errorf("%d bytes came back changed", len(out))
	}
	if _, err := os.Stat("/tmp/blob"); err == nil {
		t.Error("the VM wrote into this machine's /tmp")
	}
	if err := agent.Get(stream(t, m), "/tmp/none", io.Discard); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	in(t, m, nil, "rm", "/tmp/blob")
	// Output that nobody reads, and a client that goes away from it.
	flood := stream(t, m)
	started := make(chan struct{})
	var first sync.Once
	ended := make(chan struct{})
	hold := make(chan struct{})
	go func() {
		agent.Exec(flood, agent.Command{Argv: []string{"cat", "/dev/zero"}}, agent.IO{Stdout: writer(func() { first.Do(func() { close(started) }); <-hold })})
		close(ended)
	}()
	<-started
	if _, out, _ := in(t, m, nil, "echo", "x"); out != "x\n" {
		t.Errorf("%q", out)
	}
	flood.Close()
	close(hold)
	<-ended
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if _, out, _ := in(t, m, nil, "sh", "-c", "ps ax | grep -c '[c]at /dev/zero'"); out == "0\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command outlives its client")
		}
	}
}

// dialed reaches a socket at which a program in the VM listens.
func dialed(t *testing.T, m *Machine) {
	t.Helper()
	simtest.Need(t, "perl")
	// perl is in every Debian, and has few files to read.
	const server = `
use Socket; $| = 1;
socket(L, PF_UNIX, SOCK_STREAM, 0); bind(L, sockaddr_un("/run/echo")); listen(L, 5);
print "ready\n";
accept(C, L);
while (sysread(C, $b, 65536)) { $d .= $b }
$d = uc $d;
while (length $d) { $n = syswrite(C, $d) or die; substr($d, 0, $n, "") }
`
	ready, done := make(chan struct{}), make(chan int, 1)
	s := stream(t, m)
	go func() {
		status, _ := agent.Exec(s, agent.Command{Argv: []string{"perl", "-e", server}}, agent.IO{Stdout: writer(func() { close(ready) }), Stderr: os.Stderr})
		done <- status
	}()
	select {
	case <-ready:
	case status := <-done:
		t.Fatalf("server: status %d", status)
	case <-time.After(30 * time.Second):
		t.Fatal("the server does not start")
	}
	c := stream(t, m)
	defer c.Close()
	if err := agent.Dial(c, "/run/echo"); err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("ABC", 300_000)
	go func() {
		io.WriteString(c, strings.ToLower(want))
		c.CloseWrite()
	}()
	if b, err := io.ReadAll(c); string(b) != want || err != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if status := <-done; status != 0 {
		t.Errorf("server: status %d", status)
	}
}

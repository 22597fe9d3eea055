package vm

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/internal/vm/agent"
)

// program is the program under test, which is also the VM's process 1: built
// without cgo, as it is shipped.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "cnuas")
	c := exec.Command("go", "build", "-o", path, "cnuas/cmd/cnuas")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "cnuas-vm-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if shared != nil {
		shared.Close()
	}
	os.RemoveAll(scratch)
	os.Exit(code)
}

// config is what the tests boot; it gets the kernel once per machine.
func config(t *testing.T) Config {
	t.Helper()
	simtest.Need(t, qemuName)
	if _, err := FindKernel(""); errors.Is(err, ErrNoKernel) {
		simtest.Need(t, "apt-get")
	}
	k, err := Fetch(context.Background(), os.Stderr)
	if err != nil {
		simtest.Missing(t, err.Error(), "run: cnuas vm fetch")
	}
	p, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Kernel: k, Agent: p, Log: os.Stderr}
}

// bootGenerous is the limit that a test fails at: the machine may be busy.
const bootGenerous = 60 * time.Second

func boot(t *testing.T, cfg Config) *Machine {
	t.Helper()
	begin := time.Now()
	m, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := time.Since(begin)
	t.Logf("booted in %.1f s on %s; the guest took %.1f s of them", d.Seconds(), m.Accelerator(), float64(m.Hello().UptimeMS)/1000)
	if d > bootGenerous {
		t.Errorf("booting took %v", d)
	}
	return m
}

var (
	shared *Machine
	once   sync.Once
)

// sharedVM boots one VM for all tests that do it no harm: a self-contained one,
// in which programs start faster.
func sharedVM(t *testing.T) *Machine {
	t.Helper()
	cfg := config(t)
	cfg.SelfContained, cfg.With, cfg.MemoryMB = true, []string{"perl"}, 1024
	once.Do(func() { shared = boot(t, cfg) })
	if shared == nil {
		t.Fatal("the shared VM did not boot")
	}
	return shared
}

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

// processGone waits for a process to end.
func processGone(pid int) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(b, []byte(") Z ")) {
			return true
		}
	}
	return false
}

// childNamed returns the number of a child process, or 0. The process has
// executed its program by then: before, its name is its parent's.
func childNamed(parent int, prefix string) int {
	l, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, p := range l {
		b, _ := os.ReadFile(p)
		var pid, ppid int
		var comm, state string
		fmt.Sscan(string(b), &pid, &comm, &state, &ppid)
		if ppid == parent && strings.HasPrefix(comm, "("+prefix) {
			return pid
		}
	}
	return 0
}

// TestVMKilled: kill -9 of whoever holds a VM ends it.
func TestVMKilled(t *testing.T) {
	cfg := config(t)
	sharedVM(t)
	c := exec.Command(cfg.Agent, "vm", "run", "--self-contained", "--", "sleep", "1000")
	c.Stderr = os.Stderr
	c.Env = append(os.Environ(), EnvAccel+"="+shared.Accelerator()) // no probe, whose QEMU would be taken for the VM's
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	qemu := 0
	for end := time.Now().Add(30 * time.Second); qemu == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no QEMU is running")
		}
		qemu = childNamed(c.Process.Pid, "qemu")
	}
	c.Process.Kill()
	c.Wait()
	if !processGone(qemu) {
		t.Errorf("QEMU %d is still there", qemu)
	}
}

// TestVMThatDoesNotBoot: the error has what QEMU or the kernel said, and
// nothing is left.
func TestVMThatDoesNotBoot(t *testing.T) {
	cfg := config(t)
	bad := *cfg.Kernel
	bad.VMLinux, bad.Image = "", filepath.Join(t.TempDir(), "image")
	os.WriteFile(bad.Image, []byte("no kernel"), 0o644)
	cfg.Kernel = &bad
	if _, err := Start(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), "QEMU said") {
		t.Error(err)
	}
	cfg = config(t)
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	cfg.Modules = []string{"no_such_module"}
	if _, err := Start(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), "no_such_module") {
		t.Error(err)
	}
}

func TestAccelerator(t *testing.T) {
	simtest.Need(t, qemuName)
	t.Setenv(EnvAccel, "")
	begin := time.Now()
	a, why, err := Accelerator(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s (%s) after %v", a, why, time.Since(begin))
	begin = time.Now()
	if b, _, _ := Accelerator(context.Background()); b != a || time.Since(begin) > time.Second {
		t.Errorf("%s after %v: the result is not remembered", b, time.Since(begin))
	}
}

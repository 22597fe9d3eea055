//go:build lab

package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cnuas/internal/simtest"
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
	if _, err := Start(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), "QEMU said") || !strings.Contains(err.Error(), "is damaged") {
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

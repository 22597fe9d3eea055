package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// TestUpThatEnds: a fabric whose up was interrupted or killed before it was up
// does not come up later, and nothing of it stays.
func TestUpThatEnds(t *testing.T) {
	simtest.Root(t)
	file := filepath.Join(t.TempDir(), "e2e-ends.toml")
	if err := os.WriteFile(file, []byte("name = \"e2e-ends\"\n"+star("ue", 2, "10Gbps", "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		t.Fatal(err)
	}
	// With the lock in our hands, up waits.
	lock, err := os.OpenFile(filepath.Join(runDir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	// up leaves signals alone that its caller ignores (nohup, a job in the
	// background of a script), and would inherit that from here.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(heard)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		tmp := t.TempDir()
		var out lockedBuffer
		c := exec.Command(cnuasBin, "up", file)
		c.Env = append(os.Environ(), "TMPDIR="+tmp)
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		daemon := 0
		eventually(t, 10*time.Second, "the daemon waits for the lock", func() bool {
			l, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.Process.Pid))
			for _, f := range l {
				b, _ := os.ReadFile(f)
				fmt.Sscan(string(b), &daemon)
			}
			fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", daemon))
			for _, f := range fds {
				if to, _ := os.Readlink(f); to == lock.Name() {
					return true
				}
			}
			return false
		})
		c.Process.Signal(s)
		if c.Wait() == nil {
			t.Errorf("%v: up succeeded: %s", s, out.String())
		}
		if s != syscall.SIGKILL && !strings.Contains(out.String(), "not up") {
			t.Errorf("%v: up says %q", s, out.String())
		}
		gone := func() bool { return unix.Kill(daemon, 0) == unix.ESRCH }
		for end := time.Now().Add(5 * time.Second); !gone() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
		if !gone() {
			t.Errorf("%v: the daemon goes on", s)
			unix.Kill(daemon, unix.SIGKILL)
		}
		if l, _ := os.ReadDir(tmp); len(l) > 0 {
			t.Errorf("%v: %s is left in TMPDIR", s, l[0].Name())
		}
	}
}

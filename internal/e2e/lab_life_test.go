//go:build lab

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// testLabCommands: what works with a fabric here works with one in a VM.
func testLabCommands(t *testing.T, l *lab) {
	if out, err := l.try("exec", "cvr1", "--", "sh", "-c", "echo out; echo err >&2; exit 7"); err == nil || !strings.Contains(err.Error(), "status 7") || !strings.Contains(out, "out\n") || !strings.Contains(out, "err\n") {
		t.Errorf("exec: %v %q", err, out)
	}
	c := exec.Command(cnuasBin, "exec", "cvn1", "--", "cat")
	data := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	c.Stdin = bytes.NewReader(data)
	if out, err := c.Output(); err != nil || !bytes.Equal(out, data) {
		t.Errorf("exec cat: %v, %d of %d bytes", err, len(out), len(data))
	}
	s := l.status()
	if s.VM == nil || s.VM.Kernel == "" || s.Nodes[0].Interfaces[0].RDMA == nil || s.Nodes[0].Interfaces[0].RDMA.Device != "rxe0_cvr1" {
		t.Errorf("status lacks the VM or the kernel's device: %+v", s.Nodes[0])
	}
	for _, g := range s.Nodes[0].Interfaces[0].RDMA.GIDs {
		if g.Index == 1 && g.GID != "::ffff:10.0.0.1" {
			t.Errorf("GID 1 of cvr1 is %s", g.GID)
		}
	}
	for _, bad := range [][]string{{"exec", "nobody", "--", "true"}, {"fault", "loss", "cvr1:eth9", "1%", "--fabric", l.name}, {"capture", "cvs:99", "-w", os.DevNull, "--fabric", l.name}} {
		if out, err := l.try(bad...); err == nil {
			t.Errorf("%v succeeds: %s", bad, out)
		}
	}
}

// children are the processes that a process started.
func children(t *testing.T, pid int) (l []int) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range all {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		// pid (comm) state ppid
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			l = append(l, n)
		}
	}
	return l
}

// TestLabKilled: nothing of the VM is left when its keeper is killed, and the
// fabric can be brought up again.
func TestLabKilled(t *testing.T) {
	const pair = `
[[node]]
name = "cvk1"
stack = "rxe"
[[node]]
name = "cvk2"
[[link]]
a = "cvk1:eth0"
b = "cvk2:eth0"
`
	l := up(t, "e2e-labkill", pair, "--vm") // over 9p
	pid := l.status().PID
	qemus := children(t, pid)
	if len(qemus) == 0 {
		t.Fatal("the daemon has no children: where is QEMU?")
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	eventually(t, 10*time.Second, "QEMU has ended", func() bool {
		for _, q := range qemus {
			if b, err := os.ReadFile("/proc/" + strconv.Itoa(q) + "/stat"); err == nil && !strings.Contains(string(b), ") Z ") {
				return false
			}
		}
		return true
	})
	l.cnuas("down", l.name)
	if _, err := os.Stat(filepath.Join(runDir, l.name)); err == nil {
		t.Error("the fabric's directory is left")
	}
}

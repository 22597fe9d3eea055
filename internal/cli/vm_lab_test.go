//go:build lab

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

// TestVMRun is the command as a user gives it.
func TestVMRun(t *testing.T) {
	simtest.Need(t, "qemu-system-x86_64")
	bin := filepath.Join(t.TempDir(), "cnuas")
	build := exec.Command("go", "build", "-o", bin, "cnuas/cmd/cnuas")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(bin, "vm", "fetch").CombinedOutput(); err != nil {
		simtest.Missing(t, string(out), "run: cnuas vm fetch")
	}
	file := filepath.Join(t.TempDir(), "copy")
	c := exec.Command(bin, "vm", "run", "--self-contained", "--out", "/tmp/made:"+file, "--", "sh", "-c", "cat; echo err >&2; echo made > /tmp/made; kill -USR1 $$; sleep 1; exit 1")
	c.Stdin = strings.NewReader("through")
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	c.Run()
	b, err := os.ReadFile(file)
	if c.ProcessState.ExitCode() != 128+10 || o.String() != "through" || e.String() != "err\n" || string(b) != "made\n" {
		t.Errorf("status %d, %q, %q, copied %q (%v)", c.ProcessState.ExitCode(), o.String(), e.String(), b, err)
	}
}

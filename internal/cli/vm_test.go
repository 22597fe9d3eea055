package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVMArguments(t *testing.T) {
	// A cache without a kernel: nothing here may boot or fetch.
	t.Setenv("CNUAS_CACHE_DIR", t.TempDir())
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"vm", exitUsage, "say run, shell or fetch"},
		{"vm dance", exitUsage, `"dance" is not understood`},
		{"vm run", exitUsage, "name a command"},
		{"vm run --", exitUsage, "name a command"},
		{"vm run --cpus", exitUsage, "cpus"},
		{"vm run --cpus x -- true", exitUsage, "cpus"},
		{"vm run --cpus 0 -- true", exitUsage, "--cpus 0"},
		{"vm run --memory 0 -- true", exitUsage, "--memory 0"},
		{"vm run --kernel= -- true", exitUsage, "--kernel"},
		{"up --vm --cpus 0 two-hosts", exitUsage, "--cpus 0"},
		{"up --vm --memory 0 two-hosts", exitUsage, "--memory 0"},
		{"up --vm --kernel= two-hosts", exitUsage, "--kernel"},
		{"vm run --fast -- true", exitUsage, "fast"},
		{"vm run --with perl -- true", exitUsage, "--self-contained"},
		{"vm run --out relative -- true", exitUsage, "beginning with /"},
		{"vm run --out / -- true", exitUsage, "beginning with /"},
		{"vm run --kernel /no/such -- true", exitExecErr, "/no/such"},
		{"vm shell bash", exitUsage, "takes no command"},
		{"vm fetch x", exitUsage, "takes no arguments"},
		{"vm run -h", exitOK, "usage: cnuas vm run"},
		{"vm fetch -h", exitOK, "-siw"},
	} {
		status, _, errs := cmd(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("cnuas %s: status %d, said %q; want %d and %q", c.args, status, errs, c.status, c.want)
		}
	}
}

func TestParseOuts(t *testing.T) {
	l, err := parseOuts([]string{"/a/b", "/a/b:c/d", "/a:", "/x:/tmp"})
	if err != nil || len(l) != 4 || l[0] != (vmOut{"/a/b", "b"}) || l[1] != (vmOut{"/a/b", "c/d"}) || l[2].host != "a" || l[3].host != "/tmp" {
		t.Error(l, err)
	}
}

// TestCopyOutLeavesNoPart: when the VM does not answer, the file here is as it was.
func TestCopyOutLeavesNoPart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	os.WriteFile(file, []byte("old"), 0o644)
	for _, open := range []func() (io.ReadWriteCloser, error){
		func() (io.ReadWriteCloser, error) { return nil, errors.New("no stream") },
		func() (io.ReadWriteCloser, error) { return silent{}, nil },
	} {
		if err := copyOut(open, []vmOut{{"/x/f", file}}); err == nil || !strings.Contains(err.Error(), "/x/f") {
			t.Error(err)
		}
	}
	l, _ := os.ReadDir(dir)
	if b, _ := os.ReadFile(file); string(b) != "old" || len(l) != 1 {
		t.Errorf("%q, %d files", b, len(l))
	}
}

// silent is a stream that ends at once.
type silent struct{}

func (silent) Read([]byte) (int, error)    { return 0, io.EOF }
func (silent) Write(b []byte) (int, error) { return len(b), nil }
func (silent) Close() error                { return nil }

package simtest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// recorder stands in for a test and keeps what would have happened to it.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(f string, a ...any) {
	r.skipped = fmt.Sprintf(f, a...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(f string, a ...any) {
	r.failed = fmt.Sprintf(f, a...)
	runtime.Goexit()
}

func need(t *testing.T, programs ...string) (*recorder, string) {
	r, path := &recorder{TB: t}, ""
	done := make(chan struct{})
	go func() {
		defer close(done)
		path = Need(r, programs...)
	}()
	<-done
	return r, path
}

func TestNeed(t *testing.T) {
	t.Setenv("CI", "")
	if r, path := need(t, "sh"); r.skipped != "" || r.failed != "" || !strings.HasSuffix(path, "/sh") {
		t.Errorf("present: path %q, skipped %q, failed %q", path, r.skipped, r.failed)
	}
	if r, _ := need(t, "sh", "no-such-program-here"); r.failed != "" || !strings.Contains(r.skipped, "apt-get install no-such-program-here") {
		t.Errorf("missing outside CI: skipped %q, failed %q", r.skipped, r.failed)
	}
	t.Setenv("CI", "true")
	if r, _ := need(t, "no-such-program-here"); r.skipped != "" || !strings.Contains(r.failed, "apt-get install") {
		t.Errorf("missing in CI: skipped %q, failed %q", r.skipped, r.failed)
	}
}

func TestPackage(t *testing.T) {
	for program, want := range map[string]string{"ib_write_bw": "perftest", "tshark": "tshark"} {
		if got := Package(program); got != want {
			t.Errorf("Package(%q) = %q, want %q", program, got, want)
		}
	}
}

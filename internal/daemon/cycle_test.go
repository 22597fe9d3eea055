package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cnuas/internal/host"
	"cnuas/internal/simtest"
	"cnuas/internal/topology"
)

const twoHosts = `
name = "dt-cycle"
[[node]]
name = "dt1"
[[node]]
name = "dt2"
[[switch]]
name = "dts"
[[link]]
a = "dt1:eth0"
b = "dts:1"
[[link]]
a = "dt2:eth0"
b = "dts:2"
`

// usage is what a process must not have more of after a fabric came and went.
type usage struct{ fds, goroutines, threads, netns, maps int }

func measure(t *testing.T) (u usage) {
	t.Helper()
	count := func(dir string) int {
		es, err := os.ReadDir(dir)
		if err != nil {
			return 0
		}
		return len(es)
	}
	u.fds, u.threads = count("/proc/self/fd"), count("/proc/self/task")
	ours, _ := filepath.Glob("/run/netns/dt*")
	u.netns = len(ours)
	u.goroutines = runtime.NumGoroutine()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	u.maps = strings.Count(string(b), "memfd")
	return u
}

// TestCycles brings a fabric up and down many times in one process: no
// descriptor, goroutine, namespace, mapping or memory may be left.
func TestCycles(t *testing.T) {
	simtest.Root(t)
	cycles := 300
	if testing.Short() {
		cycles = 30
	}
	host.RunDir = filepath.Join("/run", filepath.Base(t.TempDir())+"-cnuas-cycle")
	defer os.RemoveAll(host.RunDir)
	spec, problems := topology.Parse("cycle.toml", []byte(twoHosts))
	if spec == nil {
		t.Fatal(problems)
	}
	cycle := func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		up := false
		if err := run(ctx, Config{Spec: spec, Log: io.Discard}, func(*Ready) { up = true; cancel() }); err != nil {
			t.Fatal(err)
		}
		if !up {
			t.Fatal("the fabric never was up")
		}
	}
	for range 10 {
		cycle()
	}
	before, heap := settled(t), heapInUse()
	for range cycles {
		cycle()
	}
	after, heap2 := settled(t), heapInUse()
	t.Logf("%d cycles: %+v, heap %d kB; before: %+v, heap %d kB", cycles, after, heap2>>10, before, heap>>10)
	if after.fds > before.fds || after.goroutines > before.goroutines || after.netns > before.netns || after.maps > before.maps || after.threads > before.threads+4 {
		t.Errorf("leak: %+v before, %+v after", before, after)
	}
	if heap2 > heap+4<<20 {
		t.Errorf("heap grew from %d to %d kB", heap>>10, heap2>>10)
	}
}

// settled waits for goroutines that are on their way out.
func settled(t *testing.T) usage {
	t.Helper()
	u := measure(t)
	for range 50 {
		time.Sleep(10 * time.Millisecond)
		v := measure(t)
		if v == u {
			break
		}
		u = v
	}
	return u
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFailuresLeaveNothing: a fabric that cannot come up says why and undoes
// what it had done.
func TestFailuresLeaveNothing(t *testing.T) {
	simtest.Root(t)
	host.RunDir = filepath.Join("/run", filepath.Base(t.TempDir())+"-cnuas-failures")
	defer os.RemoveAll(host.RunDir)
	before := measure(t)
	spec, problems := topology.Parse("x.toml", []byte(strings.ReplaceAll(twoHosts, "dt-cycle", "dt-foreign")))
	if spec == nil {
		t.Fatal(problems)
	}
	// Somebody else has the second node's name.
	path := "/run/netns/dt2"
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	err := run(context.Background(), Config{Spec: spec, Log: io.Discard}, func(*Ready) { t.Error("came up") })
	if _, gone := os.Stat(path); gone != nil {
		t.Error("the foreign file is gone")
	}
	os.Remove(path)
	if err == nil || !strings.Contains(err.Error(), "dt2") {
		t.Errorf("error: %v", err)
	}
	if left := fmt.Sprint(Live(), Dead()); strings.Contains(left, spec.Name) {
		t.Errorf("left: %s", left)
	}
	if after := settled(t); after.netns > before.netns || after.fds > before.fds {
		t.Errorf("leak: %+v before, %+v after", before, after)
	}
}

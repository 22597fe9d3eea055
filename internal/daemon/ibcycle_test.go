package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cnuas/internal/host"
	"cnuas/internal/simtest"
	"cnuas/internal/topology"
)

const ibHosts = `
name = "dt-ib"
[sm]
node = "dt1"
standby = ["dt2"]
[[node]]
name = "dt1"
[[node]]
name = "dt2"
[[switch]]
name = "dts"
kind = "ib"
[[link]]
a = "dt1:ib0"
b = "dts:1"
[[link]]
a = "dt2:ib0"
b = "dts:2"
`

// TestInfiniBandCycles: an InfiniBand fabric goes up, its subnet with it, and
// down again and again, and leaves nothing in this process or on the machine.
func TestInfiniBandCycles(t *testing.T) {
	simtest.Root(t)
	cycles := 100
	if testing.Short() {
		cycles = 10
	}
	host.RunDir = filepath.Join("/run", filepath.Base(t.TempDir())+"-cnuas-ibcycle")
	defer os.RemoveAll(host.RunDir)
	spec, problems := topology.Parse("ib.toml", []byte(ibHosts))
	if spec == nil {
		t.Fatal(problems)
	}
	cycle := func(sm string) (log string) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		up := false
		var b strings.Builder
		if err := run(ctx, Config{Spec: spec, SM: sm, Log: &b}, func(*Ready) { up = true; cancel() }); err != nil || !up {
			t.Fatalf("up %v: %v", up, err)
		}
		return b.String()
	}
	for range 5 {
		cycle("")
	}
	before, heap := settled(t), heapInUse()
	for range cycles {
		if log := cycle(""); !strings.Contains(log, "verdict: FAITHFUL") {
			t.Errorf("log: %s", log)
		}
	}
	cycle(SMNone)
	after, heap2 := settled(t), heapInUse()
	t.Logf("%d cycles: %+v, heap %d kB; before: %+v, heap %d kB", cycles, after, heap2>>10, before, heap>>10)
	if after.fds > before.fds || after.goroutines > before.goroutines || after.netns > before.netns || after.maps > before.maps || after.threads > before.threads+4 {
		t.Errorf("leak: %+v before, %+v after", before, after)
	}
	if heap2 > heap+4<<20 {
		t.Errorf("heap grew from %d to %d kB", heap>>10, heap2>>10)
	}
	err := run(context.Background(), Config{Spec: spec, SM: "dt7", Log: io.Discard}, func(*Ready) { t.Error("came up") })
	if err == nil || !strings.Contains(err.Error(), `no node "dt7"`) {
		t.Errorf("--sm dt7: %v", err)
	}
}

// TestSMOperations: what the command line asks of subnet managers.
func TestSMOperations(t *testing.T) {
	simtest.Root(t)
	host.RunDir = filepath.Join("/run", filepath.Base(t.TempDir())+"-cnuas-smops")
	defer os.RemoveAll(host.RunDir)
	spec, problems := topology.Parse("ib.toml", []byte(ibHosts))
	if spec == nil {
		t.Fatal(problems)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var said []string
	d, done := (*Daemon)(nil), make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		done <- runWith(ctx, Config{Spec: spec, SM: SMNone, Log: io.Discard}, func(x *Daemon) { d = x }, func(*Ready) { close(ready) })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	ask := func(a SMArgs) SMReply {
		t.Helper()
		r, err := d.sm(a)
		said = append(said, fmt.Sprint(r.Done, err))
		return r
	}
	ask(SMArgs{Action: "status"})
	r := ask(SMArgs{Action: "start", Port: "dt1"})
	if len(r.Managers) != 1 || r.Managers[0].State != "Master" || r.Managers[0].Nodes != 3 {
		t.Errorf("%+v", r)
	}
	prio := uint8(3)
	r = ask(SMArgs{Action: "start", Port: "dt2", Priority: &prio})
	if len(r.Managers) != 2 || r.Managers[1].State != "Standby" || r.Managers[1].Priority != 3 {
		t.Errorf("%+v", r)
	}
	sweeps := r.Managers[0].HeavySweeps
	if r = ask(SMArgs{Action: "sweep"}); r.Managers[0].HeavySweeps <= sweeps {
		t.Errorf("%d sweeps, before %d", r.Managers[0].HeavySweeps, sweeps)
	}
	bad := "best"
	for _, a := range []SMArgs{
		{Action: "sweep", Port: "dt2"}, {Action: "stop", Port: "dts"}, {Action: "dance"}, {Action: "start", Port: "dt1"},
		{Action: "start", Port: "dt1", Engine: &bad}, {Action: "start", Port: "dt1", Partitions: &bad}, {Action: "start", Port: "dt1", Poll: -1},
	} {
		if _, err := d.sm(a); err == nil {
			t.Errorf("%+v was accepted", a)
		}
	}
	ask(SMArgs{Action: "stop", Port: "dt1:ib0"})
	if i := slices.IndexFunc(said, func(s string) bool { return !strings.HasSuffix(s, "<nil>") }); i >= 0 {
		t.Errorf("said %q", said)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

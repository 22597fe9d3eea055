package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestJournal(t *testing.T) {
	private(t)
	j, err := OpenJournal("f1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal("f1"); !errors.Is(err, ErrExists) {
		t.Errorf("second journal: %v", err)
	}
	a := nsName(t, "a")
	if err := j.Created(a, 1); err == nil {
		t.Error("created without being planned")
	}
	if err := j.Plan(a, a); err != nil {
		t.Fatal(err)
	}
	if err := j.Plan("../x"); err == nil {
		t.Error("planned an impossible name")
	}
	n, err := NewNode(j, NodeConfig{Name: a, TAPs: []TAPConfig{tapConfig(1, "10.9.0.1/24")}})
	if err != nil {
		t.Fatal(err)
	}
	fs, err := Fabrics()
	if err != nil || len(fs) != 1 || !fs[0].Alive || fs[0].Name != "f1" {
		t.Fatalf("fabrics %+v, %v", fs, err)
	}
	want := []Planned{{a, n.Inode()}}
	if got := fs[0].State.Planned; len(got) != 1 || got[0] != want[0] {
		t.Errorf("planned %+v, want %+v", got, want)
	}
	if _, err := Cleanup("f1"); !errors.Is(err, ErrAlive) {
		t.Errorf("clean up of a fabric that lives: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if fs, err := Fabrics(); err != nil || len(fs) != 0 {
		t.Errorf("after close: %+v, %v", fs, err)
	}
	if r, err := Cleanup("f1"); err != nil || r != nil {
		t.Errorf("clean up of nothing: %v, %v", r, err)
	}
}

// bury makes the journal look like that of a process that has ended.
func bury(t *testing.T, j *Journal) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.st.Daemon.Start++
	if err := j.write(); err != nil {
		t.Fatal(err)
	}
}

// Each state in which a kill can leave a name.
func TestCleanupStates(t *testing.T) {
	private(t)
	j, err := OpenJournal("f2")
	if err != nil {
		t.Fatal(err)
	}
	planned, bare, whole := nsName(t, "planned"), nsName(t, "bare"), nsName(t, "whole")
	foreign, empty, other := nsName(t, "foreign"), nsName(t, "empty"), nsName(t, "other")
	if err := j.Plan(planned, bare, whole, foreign, empty, other); err != nil {
		t.Fatal(err)
	}
	if err := mountPoint(Path(bare), j.Marker().String()); err != nil {
		t.Fatal(err)
	}
	n, err := Create(whole, j.Marker(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	command(t, "ip", "netns", "add", foreign)
	if err := os.WriteFile(Path(empty), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o, err := Create(other, NewMarker("f2"), nil) // an earlier run of the same fabric
	if err != nil {
		t.Fatal(err)
	}
	defer o.Delete()
	os.MkdirAll(filepath.Join(j.Dir(), "sys", "h1"), 0o755)
	if err := unix.Mount("cnuastest", filepath.Join(j.Dir(), "sys"), "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	bury(t, j)

	removed, err := Cleanup("f2")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint([]string{bare, whole}); fmt.Sprint(removed) != want {
		t.Errorf("removed %v, want %v", removed, want)
	}
	for name, left := range map[string]bool{planned: false, bare: false, whole: false, foreign: true, empty: true, other: true} {
		if _, err := os.Lstat(Path(name)); (err == nil) != left {
			t.Errorf("%s: left %v, want %v", name, err == nil, left)
		}
	}
	if _, err := os.Lstat(j.Dir()); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", j.Dir(), err)
	}
}

func TestDamagedJournal(t *testing.T) {
	private(t)
	os.MkdirAll(FabricDir("early"), 0o755) // killed before the first write
	if r, err := Cleanup("early"); err != nil || r != nil {
		t.Errorf("early: %v, %v", r, err)
	}
	for name, text := range map[string]string{"cut": `{"version":1,"pla`, "future": `{"version":2}`} {
		os.MkdirAll(FabricDir(name), 0o755)
		os.WriteFile(filepath.Join(FabricDir(name), stateFile), []byte(text), 0o644)
		if _, err := Cleanup(name); err == nil || !strings.Contains(err.Error(), stateFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Cleanup("../x"); err == nil {
		t.Error("cleaned up a path")
	}
}

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":1,"marker":{"fabric":"f","token":"t"},"planned":[{"name":"h1","inode":5}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, stateFile), b, 0o644)
		s, err := readState(dir)
		if err != nil {
			return
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	})
}

func TestProcess(t *testing.T) {
	p, err := ThisProcess()
	if err != nil || !p.Alive() {
		t.Fatalf("%+v is not alive: %v", p, err)
	}
	q := p
	q.Start++
	if q.Alive() {
		t.Error("a process with the same number and another start is alive")
	}
	q = p
	q.Boot = "x"
	if q.Alive() {
		t.Error("a process of another boot is alive")
	}
	c := childCommand("none")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	z := Process{PID: c.Process.Pid, Boot: bootID()}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s, ok := startTime(z.PID); ok {
			z.Start = s
		} else if z.Start != 0 {
			break
		}
	}
	if z.Alive() { // a zombie until Wait
		t.Error("a zombie is alive")
	}
	c.Wait()
}

func TestLock(t *testing.T) {
	private(t)
	unlock, err := Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second lock: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, unlock)
	again, err := Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// fabricChild brings four nodes up and down for ever, until it is killed.
func fabricChild(args string) {
	f := strings.Fields(args)
	RunDir = f[0]
	for {
		j, err := OpenJournal("killed")
		if err != nil {
			panic(err)
		}
		var cfgs []NodeConfig
		for i, name := range f[1:] {
			cfgs = append(cfgs, NodeConfig{Name: name, TAPs: []TAPConfig{tapConfig(byte(i), fmt.Sprintf("10.9.0.%d/24", i+1))}})
		}
		fmt.Println("up")
		nodes, err := NewNodes(j, cfgs)
		if err != nil {
			panic(err)
		}
		if err := errors.Join(CloseNodes(nodes), j.Close()); err != nil {
			panic(err)
		}
	}
}

// kill -9 at random moments of up and down: afterwards Cleanup leaves nothing
// of ours, and a foreign namespace stays.
func TestKillAtAnyMoment(t *testing.T) {
	private(t)
	names := []string{nsName(t, "k1"), nsName(t, "k2"), nsName(t, "k3"), nsName(t, "k4")}
	foreign := nsName(t, "kforeign")
	command(t, "ip", "netns", "add", foreign)
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for i := range 50 {
		c := childCommand(append([]string{"fabric", RunDir}, names...)...)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		bufio.NewReader(out).ReadString('\n')
		time.Sleep(time.Duration(rng.IntN(40000)) * time.Microsecond)
		c.Process.Kill()
		c.Wait()

		removed, err := Cleanup("killed")
		if err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		found += len(removed)
		for _, n := range names {
			if _, err := os.Lstat(Path(n)); !os.IsNotExist(err) {
				t.Fatalf("kill %d: %s is left: %v", i, n, err)
			}
		}
		if _, err := os.Lstat(FabricDir("killed")); !os.IsNotExist(err) {
			t.Fatalf("kill %d: the fabric's directory is left: %v", i, err)
		}
	}
	if found == 0 {
		t.Error("no kill left anything to remove: the test tests nothing")
	}
	t.Logf("%d namespaces removed after 50 kills", found)
	command(t, "ip", "-n", foreign, "link")
	b, _ := os.ReadFile("/proc/self/mountinfo")
	for _, n := range names {
		if strings.Contains(string(b), n) {
			t.Errorf("%s is still mounted", n)
		}
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/host"
	"cnuas/internal/simtest"
	"cnuas/internal/status"
)

// cnuasBin is the program under test, built once per run.
var cnuasBin string

// runDir is where its fabrics keep their state.
var runDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cnuas-e2e-")
	if err != nil {
		panic(err)
	}
	cnuasBin = filepath.Join(dir, "cnuas")
	// Fabrics of whoever uses this machine are not ours to see, let alone to
	// take down.
	runDir = filepath.Join("/run", filepath.Base(dir))
	os.Setenv(host.EnvRunDir, runDir)
	build := exec.Command("go", "build", "-o", cnuasBin, "cnuas/cmd/cnuas")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.RemoveAll(runDir)
	os.Exit(code)
}

// lab is a fabric that is up for the length of a test.
type lab struct {
	t    *testing.T
	name string
	file string
}

// up writes the topology and brings it up. Node names in it should begin with
// the test's own letters: they are names of namespaces on this machine.
func up(t *testing.T, name, toml string, args ...string) *lab {
	t.Helper()
	simtest.Root(t)
	simtest.Need(t, "ip")
	simtest.Need(t, "ib_write_bw")
	l := &lab{t: t, name: name, file: filepath.Join(t.TempDir(), name+".toml")}
	if err := os.WriteFile(l.file, []byte(fmt.Sprintf("name = %q\n%s", name, toml)), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out, err := exec.Command(cnuasBin, "down", name).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "not up") {
			t.Errorf("down: %v\n%s", err, out)
		}
		if t.Failed() {
			t.Logf("down said: %s", out)
		}
	})
	l.cnuas(append([]string{"up", l.file}, args...)...)
	return l
}

// cnuas runs the command line and returns its standard output.
func (l *lab) cnuas(args ...string) string {
	l.t.Helper()
	out, err := l.try(args...)
	if err != nil {
		l.t.Fatalf("cnuas %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try is cnuas for a command that may fail; both outputs are returned then.
func (l *lab) try(args ...string) (string, error) {
	var out, errb bytes.Buffer
	c := exec.Command(cnuasBin, args...)
	c.Stdout, c.Stderr = &out, &errb
	if err := runFor(c, 2*time.Minute); err != nil {
		return out.String() + errb.String(), err
	}
	return out.String(), nil
}

// runFor runs c and ends it when it takes longer than d.
func runFor(c *exec.Cmd, d time.Duration) error {
	if err := c.Start(); err != nil {
		return err
	}
	timer := time.AfterFunc(d, func() { c.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	err := c.Wait()
	if err != nil && !timer.Stop() {
		return fmt.Errorf("took longer than %v: %w", d, err)
	}
	return err
}

func (l *lab) status() *status.Fabric {
	l.t.Helper()
	var s status.Fabric
	if err := json.Unmarshal([]byte(l.cnuas("status", l.name, "--json")), &s); err != nil {
		l.t.Fatal(err)
	}
	return &s
}

// port finds a port in a snapshot.
func port(t *testing.T, s *status.Fabric, name string) *status.Port {
	t.Helper()
	for i := range s.Nodes {
		for j := range s.Nodes[i].Interfaces {
			if p := &s.Nodes[i].Interfaces[j].Port; p.Name == name {
				return p
			}
		}
		for j := range s.Nodes[i].IBPorts {
			if p := &s.Nodes[i].IBPorts[j].Port; p.Name == name {
				return p
			}
		}
	}
	for i := range s.Switches {
		for j := range s.Switches[i].Ports {
			if p := &s.Switches[i].Ports[j]; p.Name == name {
				return p
			}
		}
	}
	t.Fatalf("status has no port %s", name)
	return nil
}

// job is a program that runs in a node.
type job struct {
	cmd  *exec.Cmd
	out  lockedBuffer
	done chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start runs a program in a node under exec.
func (l *lab) start(node string, argv ...string) *job {
	l.t.Helper()
	return l.startCmd(exec.Command(cnuasBin, append([]string{"exec", node, "--"}, argv...)...))
}

func (l *lab) startCmd(c *exec.Cmd) *job {
	l.t.Helper()
	j := &job{cmd: c, done: make(chan error, 1)}
	c.Stdout, c.Stderr = &j.out, &j.out
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	go func() { j.done <- c.Wait() }()
	l.t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		select {
		case <-j.done:
		case <-time.After(5 * time.Second):
			c.Process.Kill()
		}
	})
	return j
}

// wait returns the program's error, or fails the test after d.
func (j *job) wait(t *testing.T, d time.Duration) error {
	t.Helper()
	select {
	case err := <-j.done:
		j.done <- err
		return err
	case <-time.After(d):
		t.Fatalf("%v still runs after %v; it printed:\n%s", j.cmd.Args, d, j.out.String())
		return nil
	}
}

// eventually polls until ok is true, which must happen within d.
func eventually(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", d, what)
		}
	}
}

// listening waits until a TCP server in the node's namespace listens on port.
func (l *lab) listening(node, port string) {
	l.t.Helper()
	eventually(l.t, 10*time.Second, "a server listens on "+node+":"+port, func() bool {
		out, _ := exec.Command("ip", "netns", "exec", node, "ss", "-Hltn", "sport", "=", ":"+port).Output()
		return len(bytes.TrimSpace(out)) > 0
	})
}

// pair runs a perftest program as server in one node and as client in another
// and returns what both printed.
func (l *lab) pair(server, client, addr string, d time.Duration, argv ...string) (srv, cli string) {
	l.t.Helper()
	s := l.start(server, argv...)
	p := "18515"
	for i, a := range argv {
		if a == "-p" {
			p = argv[i+1]
		}
	}
	l.listening(server, p)
	c := l.start(client, append(argv[:len(argv):len(argv)], addr)...)
	if err := c.wait(l.t, d); err != nil {
		l.t.Fatalf("client %v: %v\n%s\nserver:\n%s", argv, err, c.out.String(), s.out.String())
	}
	if err := s.wait(l.t, 10*time.Second); err != nil {
		l.t.Fatalf("server %v: %v\n%s", argv, err, s.out.String())
	}
	return s.out.String(), c.out.String()
}

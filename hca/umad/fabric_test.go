package umad_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/umad"
	"cnuas/hca/uverbs"
	"cnuas/internal/fabric"
	"cnuas/internal/launch"
	"cnuas/internal/realtime"
	"cnuas/internal/simtest"
	"cnuas/internal/topology"
	"cnuas/internal/wire/mad"
)

// world is a daemon in small: an InfiniBand fabric under the wall clock, and a
// namespace for each node that programs are started in.
type world struct {
	t    testing.TB
	dir  string
	fab  *fabric.Fabric
	loop *realtime.Loop
	srv  *uverbs.Server
	node map[string]*host

	stopped sync.WaitGroup
	mu      sync.Mutex
	log     []string
}

type host struct {
	*uverbs.Node
	kind  *umad.Kind
	netns string
	ready sync.Once
}

// newWorld builds a fabric of a topology's text; sm: with a subnet manager of
// ours on its first node.
func newWorld(t testing.TB, name, text string, sm bool) *world {
	t.Helper()
	simtest.Root(t)
	simtest.Need(t, "ip")
	dir, err := os.MkdirTemp("/run", "cnuas-umad-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	spec, problems := topology.Parse(name, []byte(text))
	if spec == nil {
		t.Fatal(problems)
	}
	w := &world{t: t, dir: dir, node: map[string]*host{}}
	batch := hca.NewBatch()
	if w.fab, err = fabric.Build(spec, fabric.Options{Batch: batch, NoSM: true}); err != nil {
		t.Fatal(err)
	}
	if w.loop, err = realtime.New(w.fab.Engine, realtime.Config{}); err != nil {
		t.Fatal(err)
	}
	w.srv, err = uverbs.NewServer(uverbs.Config{Fabric: "test", Do: w.loop.Do, Log: w.logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range w.fab.Nodes() {
		w.addNode(n)
	}
	if sm {
		if _, err := w.fab.StartSM(spec.Nodes[0].Name, fabric.SMOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.loop.SetCommit(batch.Commit)
	if err := w.loop.SetWork(w.srv); err != nil {
		t.Fatal(err)
	}
	w.stopped.Go(func() {
		if err := w.loop.Run(); err != nil {
			panic(err)
		}
	})
	t.Cleanup(w.close)
	if sm {
		w.await("the subnet is up", func() bool { return w.fab.SubnetsAtRest() })
	}
	return w
}

func (w *world) logf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) addNode(n *fabric.Node) {
	w.t.Helper()
	cfg := uverbs.NodeConfig{Name: n.Spec.Name}
	var devs []umad.Device
	for _, p := range n.IBPorts() {
		cfg.Devices = append(cfg.Devices, uverbs.Device{HCA: p.Device(), Name: p.DeviceName()})
		devs = append(devs, umad.Device{HCA: p.Device(), Name: p.DeviceName(), MADs: w.fab.MADs(p.Device())})
	}
	k, err := umad.New(umad.Config{Do: w.loop.Do, Log: w.logf, Devices: devs})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.Kinds = []uverbs.Kind{k}
	v, err := w.srv.AddNode(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.node[n.Spec.Name] = &host{Node: v, kind: k, netns: fmt.Sprintf("cnumt%d%s", os.Getpid(), n.Spec.Name)}
}

func (w *world) close() {
	if err := w.srv.Close(); err != nil {
		w.t.Error(err)
	}
	for name, h := range w.node {
		w.loop.Do(func() {
			if n := h.kind.Files(); n != 0 {
				w.t.Errorf("node %s: %d files are still open", name, n)
			}
		})
	}
	w.loop.Stop()
	w.stopped.Wait()
	if w.t.Failed() {
		w.t.Logf("daemon: %s", strings.Join(w.log, "\n"))
	}
}

// await waits until f, which is called with the engine held, is true.
func (w *world) await(what string, f func() bool) {
	w.t.Helper()
	for range 4000 {
		ok := false
		w.loop.Do(func() { ok = f() })
		if ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("it did not happen that %s", what)
}

// isSM tells whether a node's first port says that it has a subnet manager.
func (w *world) isSM(node string) bool {
	return w.fab.Node(node).IBPorts()[0].Port().CapMask()&mad.CapIsSM != 0
}

// agents is how many agents there are at a node's first port.
func (w *world) agents(node string) int {
	return w.fab.MADs(w.fab.Node(node).IBPorts()[0].Device()).Agents()
}

// program is a running `cnuas exec`.
type program struct {
	*exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer
	done chan struct{}
}

// Write collects the output.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *program) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// start runs a program on a node. It is killed when the test ends.
func (w *world) start(node string, env []string, argv ...string) *program {
	w.t.Helper()
	h := w.node[node]
	h.ready.Do(func() {
		if out, err := exec.Command("ip", "netns", "add", h.netns).CombinedOutput(); err != nil {
			w.t.Fatalf("namespace: %v %s", err, out)
		}
		w.t.Cleanup(func() { exec.Command("ip", "netns", "del", h.netns).Run() })
		if err := uverbs.WriteSysfs(w.dir+"/"+node, h.Node); err != nil {
			w.t.Fatal(err)
		}
	})
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "session"), os.NewFile(uintptr(pair[1]), "launcher")
	c, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	go func() {
		if err := h.Attach(c.(*net.UnixConn)); err != nil {
			w.logf("attach: %v", err)
		}
	}()
	b, err := json.Marshal(launch.Config{Fabric: "test", Node: node, NetNS: "/run/netns/" + h.netns, SysfsDir: w.dir + "/" + node,
		Argv: argv, Env: append(os.Environ(), env...)})
	if err != nil {
		w.t.Fatal(err)
	}
	p := &program{Cmd: exec.Command("/proc/self/exe"), done: make(chan struct{})}
	p.Env = append(os.Environ(), launchEnv+"="+string(b))
	p.ExtraFiles = []*os.File{theirs}
	p.Stdout, p.Stderr = p, p
	p.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	theirs.Close()
	go func() {
		_ = p.Cmd.Wait()
		close(p.done)
	}()
	w.t.Cleanup(p.kill)
	return p
}

// kill ends the program and its launcher.
func (p *program) kill() {
	select {
	case <-p.done:
	default:
		unix.Kill(-p.Process.Pid, unix.SIGKILL)
		<-p.done
	}
}

// own starts the test binary as the program that programMain knows by name.
func (w *world) own(node, name string) *program {
	w.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	return w.start(node, []string{programEnv + "=" + name}, exe)
}

// wait returns the output; the test fails unless the program ends in time with
// the status.
func (p *program) wait(t testing.TB, limit time.Duration, status int) string {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.kill()
		t.Fatalf("%v: still running after %v\n%s", p.Args, limit, p.text())
	}
	if got := p.ProcessState.ExitCode(); got != status {
		t.Fatalf("status %d, want %d\n%s", got, status, p.text())
	}
	return p.text()
}

// run runs a command line on a node and returns what it prints.
func (w *world) run(node, line string) string {
	w.t.Helper()
	return w.start(node, nil, strings.Fields(line)...).wait(w.t, 20*time.Second, 0)
}

// untilIn runs a command line again until it prints a text: the server that it
// asks may not be ready yet.
func (w *world) untilIn(node, line, text string) {
	w.t.Helper()
	out := ""
	for range 10 {
		p := w.start(node, nil, strings.Fields(line)...)
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
			w.t.Fatalf("%s does not end: %s", line, p.text())
		}
		if out = p.text(); strings.Contains(out, text) {
			return
		}
	}
	w.t.Fatalf("%s: no %q in %s", line, text, out)
}

// expect waits for a text in the output.
func (p *program) expect(t testing.TB, text string) {
	t.Helper()
	for range 4000 {
		if strings.Contains(p.text(), text) {
			return
		}
		select {
		case <-p.done:
			if !strings.Contains(p.text(), text) {
				t.Fatalf("ended without %q: %s", text, p.text())
			}
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatalf("no %q in %q", text, p.text())
}

// twoHosts is a switch with two hosts.
const twoHosts = `
[[node]]
name = "h1"
[[node]]
name = "h2"
[[switch]]
name = "s1"
kind = "ib"
[[link]]
a = "h1:ib0"
b = "s1:1"
[[link]]
a = "h2:ib0"
b = "s1:2"
`

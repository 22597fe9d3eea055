package uverbs_test

import (
	"bytes"
	"context"
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
	"cnuas/hca/uverbs"
	"cnuas/internal/frame"
	"cnuas/internal/launch"
	"cnuas/internal/link"
	"cnuas/internal/nic"
	"cnuas/internal/qdisc"
	"cnuas/internal/realtime"
	"cnuas/internal/sim"
	"cnuas/internal/simtest"
)

// fabric is a daemon in small: two nodes joined by one link, and a veth between
// their namespaces for the TCP by which programs find each other.
type fabric struct {
	dir    string
	prefix string
	loop   *realtime.Loop
	srv    *uverbs.Server
	nodes  [2]*uverbs.Node
	devs   [2]*hca.Device
	nics   [2]*nic.NIC
	pool   *frame.Pool

	stopped sync.WaitGroup
	mu      sync.Mutex
	log     []string
}

func (f *fabric) netns(i int) string { return f.prefix + string(rune('a'+i)) }
func address(i int) string           { return fmt.Sprintf("10.213.7.%d", i+1) }
func mac(i int) [6]byte              { return [6]byte{2, 0xc, 0xa, 0, 0, byte(i + 1)} }

func mapped(i int) (g hca.GID) {
	g[10], g[11] = 0xff, 0xff
	copy(g[12:], net.ParseIP(address(i)).To4())
	return g
}

// newFabric starts a fabric; it is gone when the test ends.
func newFabric(t testing.TB) *fabric {
	t.Helper()
	simtest.Root(t)
	simtest.Need(t, "ip")
	dir, err := os.MkdirTemp("/run", "cnuas-uverbs-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := &fabric{dir: dir, prefix: fmt.Sprintf("cnuvt%d", os.Getpid())}
	makeNamespaces(t, f)
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("daemon: %s", strings.Join(f.log, "\n"))
		}
	})
	return f
}

func run(t testing.TB, line string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

func makeNamespaces(t testing.TB, f *fabric) {
	a, b := f.netns(0), f.netns(1)
	t.Cleanup(func() {
		exec.Command("ip", "netns", "del", a).Run()
		exec.Command("ip", "netns", "del", b).Run()
	})
	for _, n := range []string{a, b} {
		run(t, "ip netns add "+n+" && ip -n "+n+" link set lo up")
	}
	run(t, fmt.Sprintf("ip link add eth0 netns %s type veth peer name eth0 netns %s", a, b))
	for i, n := range []string{a, b} {
		run(t, fmt.Sprintf("ip -n %s addr add %s/24 dev eth0 && ip -n %s link set eth0 up", n, address(i), n))
	}
}

// start builds the engine's side and serves.
func (f *fabric) start() error {
	e := sim.NewEngine(1)
	f.pool = &frame.Pool{}
	batch := hca.NewBatch()
	var err error
	if f.loop, err = realtime.New(e, realtime.Config{}); err != nil {
		return err
	}
	f.srv, err = uverbs.NewServer(uverbs.Config{Fabric: "test", Do: f.loop.Do, Log: func(format string, args ...any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.log = append(f.log, fmt.Sprintf(format, args...))
	}})
	if err != nil {
		return err
	}
	for i := range 2 {
		n := nic.New(e, f.pool, nic.Config{Name: fmt.Sprintf("h%d:eth0", i+1), MAC: mac(i), Classifier: qdisc.Classifier{}})
		d := hca.New(e, f.pool, batch, hca.Config{Name: "rxe0", GUID: 0x020c0afffe000001 + uint64(i), MAC: mac(i), KeySeed: [32]byte{byte(i)}})
		d.SetKick(n.Kick)
		n.SetSource(d)
		d.SetGID(0, hca.GIDEntry{GID: hca.GID{0: 0xfe, 1: 0x80, 15: byte(i + 1)}, Valid: true})
		d.SetGID(1, hca.GIDEntry{GID: mapped(i), Valid: true})
		f.nics[i], f.devs[i] = n, d
		f.nodes[i], err = f.srv.AddNode(uverbs.NodeConfig{
			Name:    fmt.Sprintf("h%d", i+1),
			Devices: []uverbs.Device{{HCA: d, Name: "rxe0", NetDev: "eth0", Rate: 100e9}},
			Kinds:   []uverbs.Kind{&echoKind{}},
			Resolve: resolve,
		})
		if err != nil {
			return err
		}
		if err := uverbs.WriteSysfs(f.sysfs(i), f.nodes[i]); err != nil {
			return err
		}
	}
	if err := link.Connect(f.nics[0].Port(), f.nics[1].Port(), link.Config{Rate: 100 * link.Gbps, Delay: 300 * sim.Nanosecond}); err != nil {
		return err
	}
	f.loop.SetCommit(batch.Commit)
	if err := f.loop.SetWork(f.srv); err != nil {
		return err
	}
	f.stopped.Go(func() {
		if err := f.loop.Run(); err != nil {
			panic(err)
		}
	})
	return nil
}

func (f *fabric) sysfs(i int) string { return fmt.Sprintf("%s/sys/h%d", f.dir, i+1) }

func resolve(_ context.Context, _ int, dgid, _ hca.GID) ([6]byte, error) {
	for i := range 2 {
		if dgid == mapped(i) {
			return mac(i), nil
		}
	}
	return [6]byte{}, unix.EHOSTUNREACH
}

func (f *fabric) close() error {
	err := f.srv.Close()
	f.loop.Stop()
	f.stopped.Wait()
	if n := f.pool.Live(); n != 0 && err == nil {
		err = fmt.Errorf("%d frames are still alive", n)
	}
	return err
}

// program is a running `cnuas exec`.
type program struct {
	*exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer
	done chan struct{}
	err  error
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

// session connects a launcher to node i and returns the launcher's end.
func (f *fabric) session(i int) (*os.File, error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours := os.NewFile(uintptr(p[0]), "session")
	c, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		if err := f.nodes[i].Attach(c.(*net.UnixConn)); err != nil {
			f.mu.Lock()
			f.log = append(f.log, "attach: "+err.Error())
			f.mu.Unlock()
		}
	}()
	return os.NewFile(uintptr(p[1]), "launcher"), nil
}

func (f *fabric) config(i int, argv ...string) launch.Config {
	return launch.Config{Fabric: "test", Node: fmt.Sprintf("h%d", i+1), NetNS: "/run/netns/" + f.netns(i), SysfsDir: f.sysfs(i), Argv: argv}
}

// start runs a program on node i. It is killed when the test ends.
func (f *fabric) exec(t testing.TB, i int, argv ...string) *program {
	t.Helper()
	conn, err := f.session(i)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return launchOn(t, conn, f.config(i, argv...))
}

func launchOn(t testing.TB, conn *os.File, cfg launch.Config) *program {
	t.Helper()
	return begin(t, []*os.File{conn}, launchEnv+"="+encode(t, cfg))
}

func encode(t testing.TB, cfg launch.Config) string {
	t.Helper()
	b, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// launchNested runs a launcher inside of another's program and returns what it
// printed. The inner one finds its connection as descriptor 3 too.
func launchNested(t testing.TB, outer, inner *os.File, cfg, in launch.Config) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The stage keeps only the standard descriptors, so the inner connection
	// travels as standard input.
	cfg.Argv = []string{"sh", "-c", "exec 3<&0 </dev/null; exec " + exe}
	cfg.Env = append(os.Environ(), launchEnv+"="+encode(t, in))
	p := start(t, []*os.File{outer}, inner, launchEnv+"="+encode(t, cfg))
	<-p.done
	return p.text()
}

func begin(t testing.TB, files []*os.File, env string) *program {
	t.Helper()
	return start(t, files, nil, env)
}

func start(t testing.TB, files []*os.File, stdin *os.File, env string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command("/proc/self/exe"), done: make(chan struct{})}
	p.Env = append(os.Environ(), env)
	p.ExtraFiles = files
	if stdin != nil {
		p.Stdin = stdin
	}
	p.Stdout, p.Stderr = p, p
	p.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.Cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			unix.Kill(-p.Process.Pid, unix.SIGKILL)
			<-p.done
		}
	})
	return p
}

// wait returns the output; the test fails unless the program ends in time with
// the wanted status.
func (p *program) wait(t testing.TB, limit time.Duration, status int) string {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		unix.Kill(-p.Process.Pid, unix.SIGKILL)
		<-p.done
		t.Fatalf("%v: still running after %v\n%s", p.Env[len(p.Env)-1], limit, p.text())
	}
	if got := p.ProcessState.ExitCode(); got != status {
		t.Fatalf("status %d, want %d\n%s", got, status, p.text())
	}
	return p.text()
}

// pair runs a program as server on node 0 and as client on node 1.
func (f *fabric) pair(t testing.TB, limit time.Duration, argv ...string) (server, client string) {
	t.Helper()
	s := f.exec(t, 0, argv...)
	f.listening(t, s)
	c := f.exec(t, 1, append(argv, address(0))...)
	client = c.wait(t, limit, 0)
	return s.wait(t, limit, 0), client
}

// listening waits until a server in node 0 accepts TCP connections.
func (f *fabric) listening(t testing.TB, s *program) {
	t.Helper()
	for range 1000 {
		out, _ := exec.Command("ip", "netns", "exec", f.netns(0), "ss", "-Hltn").Output()
		if len(bytes.TrimSpace(out)) > 0 {
			return
		}
		select {
		case <-s.done:
			t.Fatalf("the server ended: %s", s.text())
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatalf("the server does not listen: %s", s.text())
}

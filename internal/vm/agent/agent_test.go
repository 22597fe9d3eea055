package agent

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A guest is a server in this process. Its processes are real, its port is a
// pair of sockets with yamux on it, as in a VM; direct streams are what a
// process gets that another one splices to such a stream.
type testGuest struct {
	t *testing.T
	s *server
	x *Session
}

func newGuest(t *testing.T) *testGuest {
	t.Helper()
	g := &testGuest{t: t, s: &server{env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/"}}}
	a, b := pair(t)
	x, err := NewSession(a)
	if err != nil {
		t.Fatal(err)
	}
	g.x = x
	served := make(chan struct{})
	go func() { g.s.serve(b); close(served) }()
	t.Cleanup(func() { x.Close(); <-served })
	return g
}

// pair is two ends of a byte stream with a half-close.
func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fd, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var c [2]*net.UnixConn
	for i := range c {
		f := os.NewFile(uintptr(fd[i]), "")
		n, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		c[i] = n.(*net.UnixConn)
	}
	return c[0], c[1]
}

func (g *testGuest) open() io.ReadWriteCloser {
	g.t.Helper()
	s, err := g.x.Open()
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// direct is a stream without yamux.
func (g *testGuest) direct() io.ReadWriteCloser {
	a, b := pair(g.t)
	go g.s.stream(b, 0, b.CloseWrite)
	return a
}

// both runs a test over each kind of stream.
func both(t *testing.T, f func(t *testing.T, open func() io.ReadWriteCloser)) {
	g := newGuest(t)
	t.Run("port", func(t *testing.T) { f(t, g.open) })
	t.Run("spliced", func(t *testing.T) { f(t, g.direct) })
}

func run(t *testing.T, conn io.ReadWriteCloser, stdin io.Reader, argv ...string) (status int, stdout, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	status, err := Exec(conn, Command{Argv: argv, Dir: "/"}, IO{Stdin: stdin, Stdout: &o, Stderr: &e})
	if err != nil {
		t.Errorf("%v: %v", argv, err)
	}
	return status, o.String(), e.String()
}

// within fails the test if f takes longer: something hangs.
func within(t *testing.T, d time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("not done within %v", d)
	}
}

func TestExec(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		status, out, errs := run(t, open(), strings.NewReader("in"), "sh", "-c", "cat; echo out; echo err >&2; exit 7")
		if status != 7 || out != "inout\n" || errs != "err\n" {
			t.Errorf("%d %q %q", status, out, errs)
		}
		if status, _, _ := run(t, open(), nil, "sh", "-c", "kill -9 $$"); status != StatusSignalBase+9 {
			t.Errorf("killed: status %d", status)
		}
		if status, out, _ := run(t, open(), nil, "cat"); status != 0 || out != "" {
			t.Errorf("no input: %d %q", status, out)
		}
	})
}

func TestExecErrors(t *testing.T) {
	g := newGuest(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	script := filepath.Join(dir, "script")
	os.WriteFile(plain, []byte("x"), 0o644)
	os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755)
	for _, c := range []struct {
		c      Command
		status int
		want   string
	}{
		{Command{Argv: []string{"no-such-program"}}, StatusNotFound, "no such program"},
		{Command{Argv: []string{"/no/such"}}, StatusNotFound, "no such program"},
		{Command{Argv: []string{plain}}, StatusCannotRun, "permission denied"},
		{Command{Argv: []string{script}}, StatusCannotRun, "no such file"},
		{Command{Argv: []string{dir}}, StatusCannotRun, "directory"},
		{Command{Argv: []string{"true"}, Dir: "/no/such"}, StatusCannotRun, "no directory /no/such"},
		{Command{}, StatusLost, ""},
		{Command{Argv: []string{"a\x00b"}}, StatusLost, ""},
	} {
		status, err := Exec(g.open(), c.c, IO{})
		if status != c.status || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %d, %v; want %d, %q", c.c, status, err, c.status, c.want)
		}
	}
}

func TestExecEnvironmentAndDirectory(t *testing.T) {
	g := newGuest(t)
	var o bytes.Buffer
	_, err := Exec(g.open(), Command{Argv: []string{"sh", "-c", "pwd; echo $A,$HOME"}, Env: []string{"A=1=2", "HOME=/x"}, Dir: "/usr"}, IO{Stdout: &o})
	if err != nil || o.String() != "/usr\n1=2,/x\n" {
		t.Errorf("%q %v", o.String(), err)
	}
}

func TestLargeOutputKeepsItsTail(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		within(t, time.Minute, func() {
			_, out, _ := run(t, open(), nil, "sh", "-c", "head -c 20000000 /dev/zero; echo END")
			if len(out) != 20000004 || !strings.HasSuffix(out, "END\n") {
				t.Errorf("%d bytes, end %q", len(out), out[max(0, len(out)-8):])
			}
		})
	})
}

func TestBinaryBothWays(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		data := make([]byte, 5<<20)
		rand.Read(data)
		within(t, time.Minute, func() {
			_, out, _ := run(t, open(), bytes.NewReader(data), "cat")
			if out != string(data) {
				t.Errorf("%d bytes came back changed", len(out))
			}
		})
	})
}

func TestSignals(t *testing.T) {
	g := newGuest(t)
	// Where these are ignored (nohup, a job in the background of a script)
	// programs would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		ch := make(chan os.Signal, 1)
		pr, pw := io.Pipe()
		go func() {
			io.ReadFull(pr, make([]byte, 1))
			ch <- sig
			io.Copy(io.Discard, pr)
		}()
		within(t, 10*time.Second, func() {
			status, err := Exec(g.open(), Command{Argv: []string{"sh", "-c", "echo; exec sleep 100"}}, IO{Stdout: pw, Signals: ch})
			if status != StatusSignalBase+int(sig) || err != nil {
				t.Errorf("%v: %d %v", sig, status, err)
			}
		})
	}
}

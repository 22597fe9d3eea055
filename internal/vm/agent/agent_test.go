package agent

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// endless counts what is read of it.
type endless struct {
	mu sync.Mutex
	n  int
}

func (e *endless) Read(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n += len(b)
	return len(b), nil
}

func TestInputThatNobodyReads(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		within(t, 20*time.Second, func() {
			in := &endless{}
			// A signal passes the input that waits.
			sig := make(chan os.Signal, 1)
			pr, pw := io.Pipe()
			go func() {
				buf := make([]byte, 6)
				io.ReadFull(pr, buf)
				sig <- syscall.SIGTERM
				io.Copy(io.Discard, pr)
			}()
			status, err := Exec(open(), Command{Argv: []string{"sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"}}, IO{Stdin: in, Stdout: pw, Signals: sig})
			if status != 5 || err != nil {
				t.Errorf("%d %v", status, err)
			}
			const pipe = 64 << 10 // what the command's end of the pipe holds
			if in.n > stdinWindow+pipe+chunk {
				t.Errorf("%d bytes of input were taken for a command that reads none", in.n)
			}
			if status, _, _ := run(t, open(), &endless{}, "true"); status != 0 {
				t.Errorf("true: %d", status)
			}
			if status, _, _ := run(t, open(), &endless{}, "sh", "-c", "exec <&-; sleep 0.2; exit 3"); status != 3 {
				t.Errorf("closed input: %d", status)
			}
			if status, out, _ := run(t, open(), io.LimitReader(&endless{}, 100<<20), "head", "-c", "5"); status != 0 || out != "\x00\x00\x00\x00\x00" {
				t.Errorf("head: %d %q", status, out)
			}
		})
	})
}

func TestManyAtOnce(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		var all sync.WaitGroup
		for i := range 50 {
			c := open()
			all.Go(func() {
				want := fmt.Sprint(i)
				status, out, _ := run(t, c, strings.NewReader(want), "sh", "-c", "cat; exit "+want)
				if status != i || out != want {
					t.Errorf("%d: %d %q", i, status, out)
				}
			})
		}
		within(t, time.Minute, all.Wait)
	})
}

// TestFloodDoesNotBlockOthers: output that nobody reads fills its own stream.
func TestFloodDoesNotBlockOthers(t *testing.T) {
	g := newGuest(t)
	flood, stop := io.Pipe()
	ended := make(chan struct{})
	c := g.open()
	go func() {
		Exec(c, Command{Argv: []string{"cat", "/dev/zero"}}, IO{Stdout: stop})
		close(ended)
	}()
	io.ReadFull(flood, make([]byte, 10))
	within(t, 10*time.Second, func() {
		if status, out, _ := run(t, g.open(), nil, "echo", "x"); status != 0 || out != "x\n" {
			t.Errorf("%d %q", status, out)
		}
	})
	flood.CloseWithError(errors.New("enough")) // the host's output fails: Exec ends
	within(t, 10*time.Second, func() { <-ended })
}

// marker is an argument by which a test finds its processes.
func marker(t *testing.T) string {
	return fmt.Sprintf("%d.%d", os.Getpid(), 1000000+time.Now().UnixNano()%1000000)
}

func alive(mark string) (n int) {
	l, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range l {
		if b, err := os.ReadFile(p); err == nil && bytes.Contains(b, []byte(mark)) && !strings.Contains(p, fmt.Sprint(os.Getpid())) {
			n++
		}
	}
	return n
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func TestHangupEndsTheCommand(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		for _, script := range []string{
			"sleep %s; :",
			"trap '' HUP; sleep %s; :", // needs SIGKILL
			"(trap '' HUP; sleep %s) & sleep %[1]s; :",
			"trap '' HUP; cat /dev/zero; : %s", // floods
		} {
			mark := marker(t)
			c := open()
			done := make(chan struct{})
			go func() {
				defer close(done)
				Exec(c, Command{Argv: []string{"sh", "-c", "echo; " + fmt.Sprintf(script, mark)}}, IO{})
			}()
			eventually(t, "the command does not start", func() bool { return alive(mark) > 0 })
			c.Close()
			within(t, 10*time.Second, func() { <-done })
			eventually(t, script+": still there", func() bool { return alive(mark) == 0 })
		}
	})
}

func TestSignals(t *testing.T) {
	g := newGuest(t)
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

// TestBackgroundProcessDoesNotHoldTheCommand: what a command left behind keeps
// its output open, and lives on.
func TestBackgroundProcessDoesNotHoldTheCommand(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		mark := marker(t)
		within(t, 5*time.Second, func() {
			status, out, _ := run(t, open(), nil, "sh", "-c", "sleep "+mark+" & echo $!; exit 4")
			if status != 4 || alive(mark) != 1 {
				t.Errorf("%d %q; %d processes left", status, out, alive(mark))
			}
			run(t, open(), nil, "kill", strings.TrimSpace(out))
		})
		within(t, 5*time.Second, func() {
			if _, out, _ := run(t, open(), nil, "sh", "-c", "(sleep 0.3; echo late) & :"); out != "late\n" {
				t.Errorf("output that came soon after the end: %q", out)
			}
		})
	})
}

func TestTerminal(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		var o bytes.Buffer
		status, err := Exec(open(), Command{Argv: []string{"sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size && echo $TERM; cat; exit 3"},
			TTY: true, Rows: 33, Cols: 77, Term: "vt100"}, IO{Stdin: strings.NewReader("typed\n"), Stdout: &o})
		if status != 3 || err != nil || !strings.Contains(o.String(), "33 77\r\n") || !strings.Contains(o.String(), "vt100\r\n") || strings.Count(o.String(), "typed") != 2 {
			t.Errorf("%d %v %q", status, err, o.String())
		}
	})
}

func TestTerminalResizeAndInterrupt(t *testing.T) {
	g := newGuest(t)
	size := make(chan Size, 1)
	in, type_ := io.Pipe()
	var o bytes.Buffer
	w := writerFunc(func(b []byte) (int, error) {
		o.Write(b)
		switch s := o.String(); {
		case strings.HasSuffix(s, "ready\r\n"):
			size <- Size{Rows: 11, Cols: 22}
		case strings.HasSuffix(s, "resized\r\n"):
			go type_.Write([]byte{3})
		}
		return len(b), nil
	})
	within(t, 20*time.Second, func() {
		status, err := Exec(g.open(), Command{Argv: []string{"sh", "-c", "trap 'stty size; echo resized' WINCH; trap 'exit 9' INT; echo ready; while :; do sleep 0.05; done"},
			TTY: true, Rows: 5, Cols: 5}, IO{Stdin: in, Stdout: w, Resize: size})
		if status != 9 || err != nil || !strings.Contains(o.String(), "11 22\r\n") {
			t.Errorf("%d %v %q", status, err, o.String())
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestPutGet(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		path := filepath.Join(t.TempDir(), "f")
		data := make([]byte, 3<<20+1)
		rand.Read(data)
		for _, d := range [][]byte{data, nil, []byte("short")} {
			if err := Put(open(), path, 0o640, bytes.NewReader(d)); err != nil {
				t.Fatal(err)
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
				t.Error(st, err)
			}
			var back bytes.Buffer
			if err := Get(open(), path, &back); err != nil || !bytes.Equal(back.Bytes(), d) {
				t.Errorf("%d bytes: %v", back.Len(), err)
			}
		}
		// A source that fails leaves the file as it was.
		bad := io.MultiReader(strings.NewReader("half"), &failing{})
		if err := Put(open(), path, 0o600, bad); err == nil || !strings.Contains(err.Error(), "no more") {
			t.Error(err)
		}
		eventually(t, "the file was changed, or a part left", func() bool {
			b, _ := os.ReadFile(path)
			l, _ := os.ReadDir(filepath.Dir(path))
			return string(b) == "short" && len(l) == 1
		})
		if err := Put(open(), "/dev/null", 0, strings.NewReader("x")); err != nil {
			t.Error(err)
		}
		if st, _ := os.Stat("/dev/null"); st.Mode().IsRegular() {
			t.Fatal("/dev/null was replaced")
		}
		for _, err := range []error{
			Get(open(), "/no/such", io.Discard),
			Put(open(), "/no/such/file", 0o600, strings.NewReader("x")),
			Dial(open(), "/no/such"),
		} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
		if err := Get(open(), "/", io.Discard); err == nil {
			t.Error("a directory was read")
		}
	})
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errors.New("no more") }

func TestGetThatIsGivenUp(t *testing.T) {
	g := newGuest(t)
	c := g.open()
	err := Get(c, "/dev/zero", &failingWriter{left: 1 << 20, close: c})
	if err == nil {
		t.Error("no error")
	}
	eventually(t, "the guest still reads", func() bool {
		g.s.mu.Lock()
		defer g.s.mu.Unlock()
		return len(g.s.streams) == 0
	})
}

// failingWriter closes a stream while it is read.
type failingWriter struct {
	left  int
	close io.Closer
}

func (f *failingWriter) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 && f.close != nil {
		f.close.Close()
		f.close = nil
	}
	return len(b), nil
}

func TestDialHalfClose(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		got := make(chan string, 2)
		go func() { // reads to the end, then answers; the second way round
			a, _ := l.Accept()
			b, _ := io.ReadAll(a)
			got <- string(b)
			a.Write(bytes.Repeat([]byte("y"), 1<<20))
			a.Close()
			a, _ = l.Accept()
			a.Write([]byte("first"))
			a.(*net.UnixConn).CloseWrite()
			b, _ = io.ReadAll(a)
			got <- string(b)
			a.Close()
		}()
		within(t, 20*time.Second, func() {
			c := open()
			if err := Dial(c, path); err != nil {
				t.Fatal(err)
			}
			c.Write([]byte("question"))
			c.(interface{ CloseWrite() error }).CloseWrite()
			b, err := io.ReadAll(c)
			if q := <-got; q != "question" || len(b) != 1<<20 || err != nil {
				t.Errorf("%q, %d bytes, %v", q, len(b), err)
			}
			c.Close()
			c = open()
			if err := Dial(c, path); err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(c); string(b) != "first" || err != nil {
				t.Errorf("%q %v", b, err)
			}
			c.Write([]byte("second"))
			c.Close()
			if s := <-got; s != "second" {
				t.Errorf("%q", s)
			}
		})
	})
}

// TestDialGivenUp: a server that sends for ever is told that nobody listens.
func TestDialGivenUp(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		told := make(chan error, 1)
		go func() {
			a, _ := l.Accept()
			_, err := io.Copy(a, &endless{})
			told <- err
			a.Close()
		}()
		c := open()
		if err := Dial(c, path); err != nil {
			t.Fatal(err)
		}
		io.ReadFull(c, make([]byte, 1000))
		c.Close()
		within(t, 10*time.Second, func() {
			if err := <-told; !errors.Is(err, syscall.EPIPE) {
				t.Error(err)
			}
		})
	})
}

func TestEndOfTheGuest(t *testing.T) {
	g := newGuest(t)
	c := g.open()
	done := make(chan error, 1)
	go func() {
		_, err := Exec(c, Command{Argv: []string{"sleep", "100"}}, IO{})
		done <- err
	}()
	if _, err := Greet(g.open()); err != nil {
		t.Fatal(err)
	}
	g.x.Close()
	within(t, 10*time.Second, func() {
		if err := <-done; err == nil || !strings.Contains(err.Error(), "sleep") {
			t.Error(err)
		}
	})
	if _, err := g.x.Open(); err == nil || !strings.Contains(err.Error(), "the VM has ended") {
		t.Error(err)
	}
}

// TestCommandsEndWithTheGuest: the port's end is a hangup for all.
func TestCommandsEndWithTheGuest(t *testing.T) {
	g := newGuest(t)
	mark := marker(t)
	go Exec(g.open(), Command{Argv: []string{"sh", "-c", "sleep " + mark + "; :"}}, IO{})
	eventually(t, "does not start", func() bool { return alive(mark) > 0 })
	g.x.Close()
	eventually(t, "still runs", func() bool { return alive(mark) == 0 })
}

package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

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
			var o bytes.Buffer
			status, err := Exec(open(), Command{Argv: []string{"sh", "-c", "trap '' HUP; sleep 20 & echo started; exit 4"}, TTY: true}, IO{Stdout: &o})
			if status != 4 || err != nil || o.String() != "started\r\n" {
				t.Errorf("terminal: %d %v %q", status, err, o.String())
			}
		})
		within(t, 5*time.Second, func() {
			if _, out, _ := run(t, open(), nil, "sh", "-c", "(sleep 0.3; echo late) & :"); out != "late\n" {
				t.Errorf("output that came soon after the end: %q", out)
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

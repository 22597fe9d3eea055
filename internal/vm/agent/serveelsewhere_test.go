package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestServeExec: a command that runs elsewhere has its input, outputs, signals
// and status, and learns of a client that has gone.
func TestServeExec(t *testing.T) {
	serve := func(run func(context.Context, Command, IO) (int, error)) net.Conn {
		a, b := net.Pipe()
		go ServeExec(a, run)
		return b
	}
	big := strings.Repeat("x", 3*stdinWindow)
	var out, errs bytes.Buffer
	status, err := Exec(serve(func(_ context.Context, c Command, o IO) (int, error) {
		b, err := io.ReadAll(o.Stdin)
		if err != nil {
			return 1, err
		}
		o.Stdout.Write(bytes.ToUpper(b))
		io.WriteString(o.Stderr, strings.Join(c.Argv, " "))
		return 7, nil
	}), Command{Argv: []string{"a", "b"}}, IO{Stdin: strings.NewReader(big), Stdout: &out, Stderr: &errs})
	if status != 7 || err != nil || out.String() != strings.ToUpper(big) || errs.String() != "a b" {
		t.Errorf("%d %v, %d bytes, %q", status, err, out.Len(), errs.String())
	}
	sig, size := make(chan os.Signal, 1), make(chan Size, 1)
	sig <- syscall.SIGINT
	size <- Size{12, 34}
	status, err = Exec(serve(func(_ context.Context, _ Command, o IO) (int, error) {
		if s, z := <-o.Signals, <-o.Resize; s != syscall.SIGINT || z != (Size{12, 34}) {
			t.Errorf("%v %v", s, z)
		}
		return StatusNotFound, errors.New("no such thing")
	}), Command{Argv: []string{"a"}}, IO{Signals: sig, Resize: size})
	if status != StatusNotFound || err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("%d %v", status, err)
	}
	gone := make(chan struct{})
	c := serve(func(ctx context.Context, _ Command, _ IO) (int, error) {
		<-ctx.Done()
		close(gone)
		return 1, nil
	})
	writeLine(c, Request{Op: OpExec, Command: &Command{Argv: []string{"a"}}})
	c.Close()
	<-gone
	for _, bad := range []string{"{\"op\":\"get\",\"path\":\"x\"}\n", "{}\n", "no\n"} {
		c := serve(func(context.Context, Command, IO) (int, error) { t.Error("it runs"); return 0, nil })
		go io.WriteString(c, bad)
		if b, _ := io.ReadAll(c); !bytes.Contains(b, []byte(`"error"`)) {
			t.Errorf("%q: %q", bad, b)
		}
	}
}

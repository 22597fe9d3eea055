package agent

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

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

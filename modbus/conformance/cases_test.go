//go:build conformance

package conformance

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// kase is one thing that a client does, and what it must get to see.
type kase struct {
	row  string // of rows
	do   string // in the client's words
	want string // of its output
}

// rows are the requirements, each of which some case checks.
var rows = []struct{ name, text string }{
	{"serve", "01 to 06, 0F and 10h read and write, up to the largest quantities"},
	{"plain", "a shelf serves 03, 06 and 10h only; all else is exception 1"},
	{"broadcast", "address 0: writes (05, 06, 0F, 10h) are executed, nothing is answered"},
	{"silence", "wrong CRC, wrong parity, short frame, other address: silence, only counters tell"},
	{"function", "unknown function code: exception 1"},
	{"address", "absent address, or a range that touches one: exception 2"},
	{"quantity", "quantity outside the standard's limits, byte count that does not fit, 05 with another value than 0000h or FF00h: exception 3"},
	{"order", "function code, then quantity, then address, then execution"},
	{"exceptions", "exceptions 1 to 8, 0Ah and 0Bh of a device reach the client"},
	{"16", "16h: register = register & and | or &^ and"},
	{"17", "17h: reads 1 to 125 and writes 1 to 121 registers, the write first"},
	{"14", "14h: byte count 7 to F5h, reference type 6, records up to 270Fh"},
	{"2B", "2Bh/0Eh: codes 1 to 4, objects 0 to 2, more follows; unknown object: exception 2 with code 4, else restart at 0; other code: exception 3; other MEI type: exception 1"},
	{"08", "08: all sub-functions and their counters"},
	{"listen only", "08/04 is not answered and silences all but 08/01, which is not answered either"},
	{"0B 0C 11", "0B and 0C: event counter and log; 11h: report server ID"},
	{"time", "t1.5 and t3.5: no reply before t3.5; pauses of a host inside a frame, frames without a pause between them, strays"},
	{"line", "rate, parity and stop bits of each client and each slave; another setting is noise"},
	{"reserved", "addresses 248 to 255 serve as any other"},
}

// asker is a client that runs: a program that answers each line with one.
type asker struct {
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Scanner
	c   *exec.Cmd
}

func startAsker(t testing.TB, c *exec.Cmd) *asker {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	a := &asker{t: t, in: in, out: bufio.NewScanner(out), c: c}
	a.out.Buffer(nil, 1<<20)
	// A client that hangs must not hang the suite.
	guard := time.AfterFunc(2*time.Minute, func() { c.Process.Kill() })
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", c.Path, err, errs.String())
		} else if t.Failed() && errs.Len() > 0 {
			t.Logf("%s: %s", c.Path, errs.String())
		}
		guard.Stop()
	})
	return a
}

// ask sends a line and returns the answer.
func (a *asker) ask(line string) string {
	if _, err := fmt.Fprintln(a.in, line); err != nil {
		a.t.Fatalf("%s: %v", a.c.Path, err)
	}
	if !a.out.Scan() {
		a.t.Fatalf("%s: no answer to %q: %v", a.c.Path, line, a.out.Err())
	}
	return a.out.Text()
}

// play runs the cases of a client in their order: later ones may need what
// earlier ones wrote.
func play(t *testing.T, client string, cases []kase, ask func(string) string) {
	for i, k := range cases {
		got := ask(k.do)
		if got != k.want {
			t.Errorf("%s: %s\n got %s\nwant %s", k.row, short(k.do), short(got), short(k.want))
		}
		record(client, i, got == k.want)
	}
}

// short is a text for a table or an error.
func short(s string) string {
	if len(s) > 160 {
		return s[:100] + " … " + s[len(s)-50:]
	}
	return s
}

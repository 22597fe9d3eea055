package bmc

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func lineConsole(t *testing.T) (*Console, net.Conn) {
	t.Helper()
	ours, guest := net.Pipe()
	c, err := newConsole(ours, filepath.Join(t.TempDir(), consoleLog))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, guest
}

// TestConsole: what the guest says is logged and shown, also what was before;
// what a terminal sends goes to the guest.
func TestConsole(t *testing.T) {
	c, guest := lineConsole(t)
	io.WriteString(guest, "U-Boot\r\n")
	a, term := net.Pipe()
	gone := make(chan struct{})
	go func() {
		c.Attach(a)
		close(gone)
	}()
	b := make([]byte, 100)
	hear := func(want string) {
		t.Helper()
		if n, err := io.ReadFull(term, b[:len(want)]); string(b[:n]) != want || err != nil {
			t.Errorf("%q %v, want %q", b[:n], err, want)
		}
	}
	hear("U-Boot\r\n")
	io.WriteString(guest, "login: ")
	hear("login: ")
	go io.WriteString(term, "root\n")
	if n, err := guest.Read(b); string(b[:n]) != "root\n" || err != nil {
		t.Errorf("%q %v", b[:n], err)
	}
	term.Close()
	<-gone
	guest.Close()
	<-c.done
	if log, err := os.ReadFile(c.path); string(log) != "U-Boot\r\nlogin: " || err != nil {
		t.Errorf("%q %v", log, err)
	}
	if c.Tail() != "U-Boot\nlogin:" {
		t.Errorf("%q", c.Tail())
	}
	a, term = net.Pipe()
	go c.Attach(a)
	if _, err := term.Read(b); err != io.EOF {
		t.Errorf("a terminal at a guest that has ended: %v", err)
	}
}

// TestConsoleOfSlowTerminal: one that does not read is let go, and neither the
// guest nor another terminal waits for it.
func TestConsoleOfSlowTerminal(t *testing.T) {
	c, guest := lineConsole(t)
	slow, stuck := net.Pipe()
	defer stuck.Close()
	go c.Attach(slow)
	for n := 0; n == 0; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		n = len(c.terms)
		c.mu.Unlock()
	}
	line := bytes.Repeat([]byte("x"), 4000)
	for range behind/4096 + 10 {
		if _, err := guest.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	n := len(c.terms)
	c.mu.Unlock()
	if n > 0 {
		t.Errorf("%d terminals are still attached", n)
	}
	a, term := net.Pipe()
	go c.Attach(a)
	b := make([]byte, recent)
	if _, err := io.ReadFull(term, b); err != nil || string(b) != strings.Repeat("x", recent) {
		t.Errorf("%q %v", b, err)
	}
	term.Close()
}

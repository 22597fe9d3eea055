package bmc

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"cnuas/internal/vm"
)

const (
	consoleLog = "console.log"
	// maxLog bounds the log of the console, in bytes; then it begins anew.
	maxLog = 16 << 20
	// recent is what a terminal that is attached is shown of what was before, in
	// bytes.
	recent = 2048
	// behind is how much a terminal may be behind before it is let go, in bytes.
	behind = 256 << 10
)

// Console is the guest's console: a serial line that is always read, logged, and
// shown at the terminals that are attached. What they send goes to the guest.
type Console struct {
	line net.Conn
	path string
	tail *vm.Tail
	done chan struct{}

	mu    sync.Mutex
	log   *os.File
	size  int
	last  []byte // at most recent bytes
	terms map[*terminal]bool
	ended bool
}

type terminal struct{ out chan []byte }

func newConsole(line net.Conn, path string) (*Console, error) {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the console: %w", err)
	}
	c := &Console{line: line, path: path, log: log, tail: vm.NewTail(2048), terms: map[*terminal]bool{}, done: make(chan struct{})}
	go c.read()
	return c, nil
}

func (c *Console) read() {
	defer close(c.done)
	b := make([]byte, 4096)
	for {
		n, err := c.line.Read(b)
		if n > 0 {
			c.said(b[:n])
		}
		if err != nil {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for t := range c.terms {
		c.drop(t)
	}
	c.log.Close()
}

func (c *Console) said(b []byte) {
	c.tail.Write(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += len(b); c.size > maxLog {
		c.log.Truncate(0)
		c.log.Seek(0, io.SeekStart)
		c.size = len(b)
	}
	c.log.Write(b) // a full disk costs the log, not the guest
	if c.last = append(c.last, b...); len(c.last) > recent {
		c.last = append(c.last[:0], c.last[len(c.last)-recent:]...)
	}
	b = append([]byte(nil), b...)
	for t := range c.terms {
		select {
		case t.out <- b:
		default: // it does not read: it would hold the guest up
			c.drop(t)
		}
	}
}

func (c *Console) drop(t *terminal) {
	delete(c.terms, t)
	close(t.out)
}

// Attach shows the console at a connection, beginning with the end of what was
// before, and sends the guest what comes from it, until either ends. It closes
// the connection. A terminal that does not keep up is let go.
func (c *Console) Attach(conn io.ReadWriteCloser) {
	defer conn.Close()
	t := &terminal{out: make(chan []byte, behind/4096)}
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	if len(c.last) > 0 {
		t.out <- append([]byte(nil), c.last...)
	}
	c.terms[t] = true
	c.mu.Unlock()
	go func() {
		io.Copy(c.line, conn)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.terms[t] {
			c.drop(t)
		}
	}()
	for b := range t.out {
		if _, err := conn.Write(b); err != nil {
			conn.Close() // ends the other direction, which drops it
		}
	}
}

// Tail is the end of what the guest has said, some lines.
func (c *Console) Tail() string { return c.tail.String() }

// Close ends it.
func (c *Console) Close() error {
	err := c.line.Close()
	<-c.done
	return err
}

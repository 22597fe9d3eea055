package uverbs

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// channelFor makes a channel and the program's reading end.
func channelFor(t *testing.T, c *context, size int, async bool) (*channel, int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, read, err := c.addChannel(size, async)
	if err != nil {
		t.Fatal(err)
	}
	return ch, read
}

func number(n uint64) []byte { return le.AppendUint64(nil, n) }

// TestTakeBack: of events for two queues the program has read some; those of
// one queue that it has not read are taken out, the others stay in order.
func TestTakeBack(t *testing.T) {
	r := newRig(t, Limits{})
	c := r.open(t)
	defer c.close()
	ch, read := channelFor(t, c, compEventLen, false)
	defer unix.Close(read)
	r.srv.do(func() {
		for _, n := range []uint64{1, 2, 1, 3, 1, 2} {
			ch.send(number(n))
		}
	})
	b := make([]byte, 8)
	unix.Read(read, b) // the first 1
	takeBack := func(match func([]byte) bool) (n uint32) {
		r.srv.do(func() { n = ch.takeBack(match) })
		return n
	}
	if n := takeBack(func(e []byte) bool { return le.Uint64(e) == 1 }); n != 2 {
		t.Errorf("%d events taken back, want 2", n)
	}
	for _, want := range []uint64{2, 3, 2} {
		if n, err := unix.Read(read, b); n != 8 || err != nil || le.Uint64(b) != want {
			t.Errorf("event %d (%d bytes, %v), want %d", le.Uint64(b), n, err, want)
		}
	}
	if n := takeBack(func([]byte) bool { return true }); n != 0 {
		t.Errorf("%d events taken from an empty channel", n)
	}
}

// TestFullChannel: events beyond what a pipe holds are kept, in order, and
// written when the program reads.
func TestFullChannel(t *testing.T) {
	r := newRig(t, Limits{})
	c := r.open(t)
	defer c.close()
	ch, read := channelFor(t, c, compEventLen, false)
	defer unix.Close(read)
	const n = 20000
	r.srv.do(func() {
		for i := range uint64(n) {
			if !ch.send(number(i)) {
				t.Fatalf("event %d was lost", i)
			}
		}
	})
	b := make([]byte, 8)
	for i := range uint64(n) {
		if k, err := unix.Read(read, b); k != 8 || err != nil || le.Uint64(b) != i {
			t.Fatalf("event %d: got %d (%d bytes, %v)", i, le.Uint64(b), k, err)
		}
	}
	// A program that never reads is not kept for ever.
	lost := false
	r.srv.do(func() {
		for range 1 << 18 {
			lost = lost || !ch.send(number(0))
		}
	})
	if !lost || len(ch.backlog) > maxBacklog {
		t.Errorf("%d bytes are kept for a program that does not read", len(ch.backlog))
	}
}

// TestHangUp: a closed completion channel is freed; the closed event file ends
// the context.
func TestHangUp(t *testing.T) {
	r := newRig(t, Limits{})
	c := r.open(t)
	_, comp := channelFor(t, c, compEventLen, false)
	_, async := channelFor(t, c, asyncEventLen, true)
	unix.Close(comp)
	until(t, "the completion channel to go", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.channels) == 1
	})
	if r.node.Usage().Contexts != 1 {
		t.Error("the context went with a completion channel")
	}
	unix.Close(async)
	until(t, "the context to go", func() bool { return r.node.Usage().Contexts == 0 })
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

// TestDoorbell: a write to the memory file wakes a thread that sleeps, and only
// then; the log is put back to its beginning.
func TestDoorbell(t *testing.T) {
	r := newRig(t, Limits{})
	c := r.open(t)
	defer c.close()
	ring := func() {
		if n, err := unix.Write(c.file.fd, make([]byte, 32)); n != 32 || err != nil {
			t.Fatal(n, err)
		}
	}
	readable := func() bool {
		p := []unix.PollFd{{Fd: int32(r.srv.FD()), Events: unix.POLLIN}}
		n, _ := unix.Poll(p, 0)
		return n > 0
	}
	// The thread may sleep while a device is opened.
	ring()
	if !readable() {
		t.Error("the first doorbell of a new device was not noticed")
	}
	r.srv.Disarm()
	r.srv.Drain()
	ring()
	if readable() {
		t.Error("a doorbell was noticed by a thread that is awake")
	}
	if r.srv.Arm() {
		t.Error("work without any queue")
	}
	if pos, _ := unix.Seek(c.file.fd, 0, unix.SEEK_CUR); pos != 1<<40 {
		t.Errorf("the log is at %#x", pos)
	}
	ring()
	if !readable() {
		t.Error("a doorbell was not noticed")
	}
	r.srv.Drain()
	if readable() {
		t.Error("still readable after Drain")
	}
	r.srv.Disarm()
	ring()
	r.srv.Drain()
	if readable() {
		t.Error("a doorbell was noticed after Disarm")
	}
	r.srv.Arm()
	if n := testing.AllocsPerRun(100, func() { r.srv.Sweep(); r.srv.Arm(); r.srv.Drain() }); n != 0 {
		t.Errorf("%v allocations per turn", n)
	}
}

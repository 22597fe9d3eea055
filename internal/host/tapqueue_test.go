package host

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// blast makes the namespace's kernel send count datagrams from a socket with
// the usual buffer, which blocks when the kernel holds too many. sent counts.
func blast(t *testing.T, n *NS, count, size int, sent *atomic.Int64) <-chan error {
	t.Helper()
	command(t, "ip", "-n", n.Name(), "neigh", "replace", "10.9.1.2", "lladdr", "02:00:00:00:00:02", "dev", "eth0")
	done := make(chan error, 1)
	go func() {
		done <- n.In(func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			b := make([]byte, size)
			for range count {
				if err := unix.Sendto(fd, b, 0, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{10, 9, 1, 2}}); err != nil {
					return err
				}
				sent.Add(1)
			}
			return nil
		})
	}()
	return done
}

// A fabric that does not read for 100 ms, as when a port is paused, loses
// nothing: with backpressure the sender waits, without it the ring holds
// txqueuelen frames and what is lost beyond is counted.
func TestTAPPausedReader(t *testing.T) {
	simtest.Root(t)
	const ring, count = 1000, 5000
	n := newNS(t, "paused")
	c := tapConfig(1, "10.9.1.1/24")
	c.TxQueueLen = ring
	x := newTAP(t, n, c)
	drain(x)
	if x.TxQueueLen() != ring || x.Qdisc() != "pfifo" {
		t.Errorf("txqueuelen %d, qdisc %s", x.TxQueueLen(), x.Qdisc())
	}
	var sent atomic.Int64
	done := blast(t, n, count, 1000, &sent)
	if x.Backpressure() {
		time.Sleep(100 * time.Millisecond)
		for before := int64(-1); before != sent.Load(); time.Sleep(50 * time.Millisecond) {
			before = sent.Load()
		}
		if k := sent.Load(); k < ring || k >= 2*ring {
			t.Errorf("nobody reads and the sender did not wait: it sent %d frames", k)
		}
	} else if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := drain(x)
	s, err := x.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("backpressure %v: %d of %d frames were read, kernel %+v", x.Backpressure(), got, count, s)
	if x.Backpressure() {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got += drain(x); got != count || s.Lost() != 0 {
			t.Errorf("%d of %d frames were read, kernel %+v", got, count, s)
		}
	} else if got > ring || got < ring-16 || s.Lost() != uint64(count-got) {
		// The kernel frees slots of the ring by the cache line, 16 at a time.
		t.Errorf("%d frames of a ring of %d were read, kernel %+v", got, ring, s)
	}
}

// What a qdisc of ours drops is a loss, also after it was replaced; what one of
// the user's drops was asked for.
func TestTAPQdiscDrops(t *testing.T) {
	simtest.Root(t)
	simtest.Need(t, "tc")
	n := newNS(t, "qdisc")
	x := newTAP(t, n, tapConfig(1, "10.9.1.1/24"))
	drain(x)
	tc := func(args string) {
		t.Helper()
		command(t, "tc", strings.Fields("-n "+n.Name()+" qdisc "+args)...)
	}
	lost := func(when string, want uint64) {
		t.Helper()
		s, err := x.Kernel()
		if err != nil || s.QdiscDropped != want || s.Lost() != want {
			t.Errorf("%s: kernel %+v, %v, want %d lost", when, s, err, want)
		}
	}
	lost("at first", 0)
	tc("change dev eth0 root handle caa5: pfifo limit 0") // takes nothing
	send(t, n, 30, 64)
	lost("no room", 30)
	tc("replace dev eth0 root handle 1: pfifo limit 0")
	lost("replaced", 30)
	send(t, n, 10, 64)
	lost("the user's", 30)
	tc("del dev eth0 root") // the kernel puts its own default there
	send(t, n, 10, 64)
	lost("the default", 30)
	if k := drain(x); k != 10 {
		t.Errorf("%d of 10 frames passed", k)
	}
}

// A TAP that cannot be set up leaves no interface and no descriptor, persistent
// or not; and the test of what the driver can do costs none.
func TestTAPOpenLeavesNothing(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "leave")
	x := newTAP(t, n, tapConfig(1))
	f, err := tunFeatures()
	if err != nil || f&unix.IFF_TAP == 0 || f&iffBackpressure != 0 != x.Backpressure() {
		t.Errorf("features %#x, %v, backpressure %v", f, err, x.Backpressure())
	}
	if out := command(t, "ip", "-d", "-n", n.Name(), "link", "show", "eth0"); !strings.Contains(out, "persist off") {
		t.Errorf("the interface would outlive the daemon:\n%s", out)
	}
	y := &TAP{ns: n, cfg: tapConfig(2), fd: -1}
	y.cfg.Name = "eth1"
	if err := n.In(func() error { return y.create(true) }); err != nil {
		t.Fatal(err)
	}
	if _, err := n.nl.LinkByName("eth1"); err != nil {
		t.Fatalf("the persistent interface is gone: %v", err)
	}
	if y.remove(); y.fd != -1 {
		t.Error("a descriptor is left")
	}
	if _, err := n.nl.LinkByName("eth1"); err == nil {
		t.Error("the interface is left")
	}
}

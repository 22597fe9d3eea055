//go:build conformance

package conformance

import (
	"slices"
	"testing"
	"time"

	"cnuas/internal/sim"

	"golang.org/x/sys/unix"
)

// serialClient polls a terminal at 115200 8E1, as a bus master's program does:
// what is left is flushed before each request, characters with errors are
// dropped by the line discipline (INPCK and IGNPAR).
type serialClient struct {
	tally
	t       testing.TB
	fd      int
	timeout time.Duration // from the end of the request on, of time in which the machine ran
	gap     time.Duration // from one exchange to the next
	latency []time.Duration
	late    time.Duration // the most that a poll was behind its time
	stalls  int           // times that the machine stood still for more than stall
	buf     [1024]byte
}

func openSerial(t testing.TB, tty string) *serialClient {
	t.Helper()
	fd, err := unix.Open(tty, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	m := &unix.Termios{Iflag: unix.INPCK | unix.IGNPAR, Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL | unix.PARENB | unix.B115200,
		Ispeed: unix.B115200, Ospeed: unix.B115200}
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, m); err != nil {
		t.Fatal(err)
	}
	return &serialClient{t: t, fd: fd, timeout: 300 * time.Millisecond, gap: 2 * time.Millisecond}
}

// wireOf n characters at 115200 8E1.
func wireOf(n int) time.Duration {
	return time.Duration(n) * time.Duration(fast.CharTime()/sim.Nanosecond)
}

// exchange asks once, and counts.
func (c *serialClient) exchange(req []byte) {
	if err := unix.IoctlSetInt(c.fd, unix.TCFLSH, unix.TCIOFLUSH); err != nil {
		c.t.Fatal(err)
	}
	start := time.Now()
	if n, err := unix.Write(c.fd, req); err != nil || n != len(req) {
		c.t.Fatalf("write: %d, %v", n, err)
	}
	c.Polls++
	got := c.buf[:0]
	left := wireOf(len(req)) + c.timeout
	for {
		f := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
		before := time.Now()
		n, err := unix.Poll(f, int(slice/time.Millisecond))
		if err != nil && err != unix.EINTR {
			c.t.Fatal(err)
		}
		if n > 0 {
			k, err := unix.Read(c.fd, c.buf[len(got):])
			if err != nil || k <= 0 {
				c.t.Fatalf("read: %d, %v", k, err)
			}
			got = c.buf[:len(got)+k]
			if c.count(req, got) {
				c.latency = append(c.latency, time.Since(start))
				return
			}
		}
		took := time.Since(before)
		if took > slice+stall {
			c.stalls++
		}
		if left -= min(took, 2*slice); left <= 0 || len(got) == len(c.buf) {
			c.gaveUp(len(got) > 0)
			return
		}
	}
}

const (
	// slice is how long the client sleeps at a time while it waits. A virtual
	// machine may stand still for longer than a reply takes, client and slaves
	// alike: of such a time no more than two slices count.
	slice = 10 * time.Millisecond
	stall = 50 * time.Millisecond
)

// run follows a plan for a time.
func (c *serialClient) run(plan []poll, d time.Duration) {
	start := time.Now()
	for {
		q := soonest(plan)
		now := time.Since(start)
		due := time.Duration(q.due / sim.Nanosecond)
		if max(now, due) >= d {
			return
		}
		if due > now {
			time.Sleep(due - now)
			now = time.Since(start)
		}
		c.late = max(c.late, now-due)
		q.due = max(q.due+q.every, sim.Time(now.Nanoseconds())*sim.Nanosecond)
		c.exchange(q.req)
		time.Sleep(c.gap)
	}
}

// percentile of the latencies, 0 to 100.
func (c *serialClient) percentile(p float64) time.Duration {
	l := slices.Clone(c.latency)
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[min(int(p/100*float64(len(l))), len(l)-1)]
}

package rack

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"cnuas/internal/sim"
	"cnuas/modbus/bus"
	"cnuas/modbus/rtu"

	"golang.org/x/sys/unix"
)

// stopwatch is an observer that takes the wire time of transactions: from the
// first bit of a request to the last of its reply.
type stopwatch struct {
	start sim.Time
	took  chan sim.Time
}

func (s *stopwatch) Frame(f *bus.Frame) {
	switch f.Kind {
	case rtu.Request:
		s.start = f.Start
	case rtu.Reply:
		select {
		case s.took <- f.End - s.start:
		default:
		}
	}
}

// latencies makes transactions through the segment's terminal, as a client does
// that blocks in read(2), and returns how much longer than on the wire each took.
func latencies(t testing.TB, r *Rack, segment string, addr uint8, l rtu.Line, words uint16, n int) []time.Duration {
	t.Helper()
	w := &stopwatch{took: make(chan sim.Time, 1)}
	var remove func()
	r.Do(func() { remove = r.Segment(segment).Observe(w) })
	defer func() { r.Do(remove) }()
	c := client(t, r.TTY(segment), l) // which sets the line
	defer c.Port.Close()
	fd, err := unix.Open(r.TTY(segment), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	req, want := request(addr, 0, words), 5+2*int(words)
	var all []time.Duration
	var b [rtu.MaxADU]byte
	pfd := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for range n {
		time.Sleep(3 * time.Millisecond) // t3.5, and a little more
		start := time.Now()
		if _, err := unix.Write(fd, req); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < want; {
			if k, err := unix.Poll(pfd, 2000); err != nil && err != unix.EINTR || err == nil && k == 0 {
				t.Fatalf("no reply: %v", err)
			}
			k, err := unix.Read(fd, b[got:])
			if err != nil && err != unix.EAGAIN && err != unix.EINTR {
				t.Fatal(err)
			}
			got += max(k, 0)
		}
		took := time.Since(start)
		all = append(all, took-time.Duration((<-w.took).Nanoseconds()))
	}
	slices.Sort(all)
	return all
}

// TestReplyLatency: a client of the terminal sees a reply when it has been on
// the wire, and little later.
func TestReplyLatency(t *testing.T) {
	r := running(t)
	for _, c := range []struct {
		addr  uint8
		line  rtu.Line
		words uint16
	}{{10, slow, 1}, {20, fast, 1}, {20, fast, 20}} {
		l := latencies(t, r, "bus0", c.addr, c.line, c.words, 100)
		t.Logf("%v, %d words: p50 %v, p90 %v, max %v over the wire time", c.line, c.words, l[50], l[90], l[99])
		// A request that meets a loop without a core is stamped with the time of
		// what the loop has not done yet, so single figures can be negative.
		if l[50] < 0 || l[50] >= 3*time.Millisecond {
			t.Errorf("%v, %d words: median %v over the wire time, want 0 to 3 ms", c.line, c.words, l[50])
		}
	}
}

// BenchmarkReplyLatency reports how much longer than on the wire a transaction
// through the terminal takes.
func BenchmarkReplyLatency(b *testing.B) {
	for name, c := range map[string]struct {
		addr uint8
		line rtu.Line
	}{"19200": {10, slow}, "115200": {20, fast}} {
		b.Run(name, func(b *testing.B) {
			r := running(b)
			l := latencies(b, r, "bus0", c.addr, c.line, 12, b.N)
			us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
			b.ReportMetric(us(l[len(l)/2]), "p50-us")
			b.ReportMetric(us(l[len(l)*9/10]), "p90-us")
			b.ReportMetric(us(l[len(l)*99/100]), "p99-us")
		})
	}
}

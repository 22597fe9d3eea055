package rack

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"cnuas/internal/sim"
	"cnuas/modbus/port"
	"cnuas/modbus/rtu"

	"golang.org/x/sys/unix"
)

// open opens a terminal as a careless client does.
func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// client opens a terminal as a careful one does.
func client(t testing.TB, path string, l rtu.Line) *port.Client {
	t.Helper()
	p, err := port.Open(path, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return &port.Client{Port: p, Timeout: time.Second}
}

func wantRead(t *testing.T, c *port.Client, addr uint8, reg uint16) {
	t.Helper()
	if got, err := c.ReadRegisters(addr, reg, 3); err != nil || fmt.Sprint(got) != fmt.Sprint([]uint16{reg, reg + 1, reg + 2}) {
		t.Errorf("slave %d: %v, %v", addr, got, err)
	}
}

// receive reads n bytes.
func receive(f interface {
	Read([]byte) (int, error)
	SetReadDeadline(time.Time) error
}, n int, wait time.Duration) ([]byte, error) {
	f.SetReadDeadline(time.Now().Add(wait))
	b := make([]byte, 0, 512)
	for len(b) < n {
		k, err := f.Read(b[len(b):cap(b)])
		if err != nil {
			return b, err
		}
		b = b[:len(b)+k]
	}
	return b, nil
}

// silence ends whatever incomplete frame there is on a segment.
func silence() { time.Sleep(3 * time.Duration(tolerance/sim.Nanosecond)) }

func wantReply(t *testing.T, req, got []byte, err error, first uint16) {
	t.Helper()
	if err != nil {
		t.Fatalf("% x: %v", got, err)
	}
	data, ex, err := rtu.ParseReply(req, got)
	if err != nil || ex != rtu.OK || uint16(data[0])<<8|uint16(data[1]) != first {
		t.Errorf("reply % x: %x, %d, %v", got, data, ex, err)
	}
}

func TestReopenedTerminalHasNoStaleBytes(t *testing.T) {
	r := running(t)
	for i := range 20 {
		a := open(t, r.TTY("bus1"))
		if _, err := a.Write(request(10, uint16(i), 20)); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 { // the reply is there and was not read
			unix.Poll([]unix.PollFd{{Fd: int32(a.Fd()), Events: unix.POLLIN}}, 1000)
		}
		a.Close()
		if i%4 < 2 { // else at once: its request is still on the wire
			eventually(t, "close seen", func() bool { return !r.Clients("bus1")[0].Open })
		}
		// What is on the wire now the next client hears, as on a wire; it waits
		// for its turn.
		time.Sleep(30 * time.Millisecond)
		b := open(t, r.TTY("bus1"))
		if got, err := receive(b, 1, 5*time.Millisecond); len(got) > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("run %d: the next client reads % x, %v", i, got, err)
		}
		req := request(10, 500, 1)
		b.Write(req)
		got, err := receive(b, 7, time.Second)
		wantReply(t, req, got, err, 500)
		b.Close()
		eventually(t, "close seen", func() bool { return !r.Clients("bus1")[0].Open })
	}
}

// TestFlood: a client writes as fast as it can and reads nothing. Clients of
// other segments do not notice, those of its own go on when it is gone.
func TestFlood(t *testing.T) {
	r := running(t)
	other := client(t, r.TTY("bus1"), fast)
	f := open(t, r.TTY("bus0"))
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(i * 7)
	}
	sum := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		n, err := unix.Write(int(f.Fd()), b)
		if err != nil && err != unix.EAGAIN {
			t.Fatal(err)
		}
		sum += max(n, 0)
		wantRead(t, other, 10, 5)
	}
	if c := r.Clients("bus0")[0]; sum > 100000 || c.Waits == 0 || c.QueuedMS > 3000 {
		t.Errorf("%d bytes were taken in a second: %+v", sum, c)
	}
	f.Close()
	eventually(t, "close seen", func() bool { return !r.Clients("bus0")[0].Open })
	if c := r.Clients("bus0")[0]; c.Dropped == 0 {
		t.Errorf("%+v", c)
	}
	eventually(t, "the flood is over", func() bool { return r.Clients("bus0")[0].QueuedMS == 0 })
	silence()
	wantRead(t, client(t, r.TTY("bus0"), slow), 10, 5)
}

// TestSlowLeftovers: what a client has left at 50 baud does not keep others from
// the wire for as long as that would take.
func TestSlowLeftovers(t *testing.T) {
	r := running(t)
	f := open(t, r.TTY("bus0"))
	tio, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	tio.Cflag = tio.Cflag&^unix.CBAUD | unix.B50
	if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, tio); err != nil {
		t.Fatal(err)
	}
	f.Write(make([]byte, 300)) // a minute
	eventually(t, "taken", func() bool { return r.Clients("bus0")[0].QueuedMS > 50000 })
	f.Close()
	eventually(t, "thrown away", func() bool { c := r.Clients("bus0")[0]; return c.QueuedMS < 3300 && c.Dropped > 280 })
	eventually(t, "over", func() bool { return r.Clients("bus0")[0].QueuedMS == 0 })
	silence()
	wantRead(t, client(t, r.TTY("bus0"), slow), 10, 5)
}

// TestFlushEndsAFlood: a client throws away what it wrote too much.
func TestFlushEndsAFlood(t *testing.T) {
	r := running(t)
	f := open(t, r.TTY("bus0"))
	eventually(t, "held up", func() bool {
		unix.Write(int(f.Fd()), make([]byte, 4096))
		return r.Clients("bus0")[0].Waits > 0
	})
	if err := unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIOFLUSH); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	// What the master's side of the terminal holds already follows.
	eventually(t, "flushed", func() bool { return r.Clients("bus0")[0].QueuedMS < 100 })
	var purged uint64
	r.Do(func() { purged = r.Segment("bus0").Counters().Masters[0].Purged })
	if purged == 0 {
		t.Errorf("nothing was purged, %v", time.Since(start))
	}
}

// TestBrokenFrames: a client hangs up in a frame, pauses in one, changes the
// baud rate in one. The next request is answered.
func TestBrokenFrames(t *testing.T) {
	r := running(t)
	req := request(10, 7, 3)
	t.Run("hangs up", func(t *testing.T) {
		f := open(t, r.TTY("bus0"))
		f.Write(req[:5])
		f.Close()
		silence()
		wantRead(t, client(t, r.TTY("bus0"), slow), 10, 5)
	})
	t.Run("half open", func(t *testing.T) {
		f := open(t, r.TTY("bus0"))
		f.Write(req[:5])
		silence()
		c := dial(t, r, "bus0")
		c.Write(req)
		got, err := receive(c, 11, time.Second)
		wantReply(t, req, got, err, 7)
	})
	t.Run("changes baud", func(t *testing.T) {
		f := open(t, r.TTY("bus0"))
		f.Write(req[:5])
		eventually(t, "taken", func() bool { return r.Clients("bus0")[0].QueuedMS == 0 })
		tio, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		tio.Cflag = tio.Cflag&^unix.CBAUD | unix.B115200
		if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, tio); err != nil {
			t.Fatal(err)
		}
		f.Write(req[5:])
		silence()
		if got, _ := receive(f, 1, 50*time.Millisecond); len(got) > 0 {
			t.Errorf("somebody answers a frame in two halves: % x", got)
		}
		// The same client goes on, at the new rate.
		req := request(20, 9, 1)
		f.Write(req)
		got, err := receive(f, 7, time.Second)
		wantReply(t, req, got, err, 9)
	})
}

// TestNeverReads: what a client does not read is lost to it alone.
func TestNeverReads(t *testing.T) {
	r := running(t)
	lazy := open(t, r.TTY("bus1"))
	s, busy := dial(t, r, "bus1"), dial(t, r, "bus1") // the second one never reads either
	_ = busy
	req := request(10, 0, 125)
	for i := 0; ; i++ {
		s.Write(req)
		got, err := receive(s, 255, time.Second)
		wantReply(t, req, got[max(0, len(got)-255):], err, 0)
		if t.Failed() || i > 400 {
			break
		}
		if c := r.Clients("bus1"); c[0].Overruns > 0 && i > 10 {
			break
		}
		time.Sleep(4 * time.Millisecond) // t3.5, and the bus is ours
	}
	if c := r.Clients("bus1")[0]; c.Overruns == 0 || c.RxBytes < 4096 {
		t.Errorf("%+v", c)
	}
	lazy.Close()
	eventually(t, "close seen", func() bool { return !r.Clients("bus1")[0].Open })
	wantRead(t, client(t, r.TTY("bus1"), fast), 10, 5)
}

// TestOthersLine: a client at another setting neither reaches a slave nor
// understands what is said.
func TestOthersLine(t *testing.T) {
	r := running(t)
	odd := slow
	odd.Parity = rtu.Odd
	for _, l := range []rtu.Line{odd, fast, {Baud: 9600, Data: 8, Parity: rtu.Even, Stop: 1}, {Baud: 19200, Data: 8, Stop: 1}} {
		c := client(t, r.TTY("bus0"), l)
		c.Timeout = 100 * time.Millisecond
		if got, err := c.ReadRegisters(10, 1, 1); err == nil {
			t.Errorf("%v: slave 10 answers %v", l, got)
		}
		c.Port.Close()
		wantRead(t, client(t, r.TTY("bus0"), slow), 10, 5)
	}
	// One that only listens, with a parity that the others do not have.
	before := r.Clients("bus0")[0].Errors
	p := client(t, r.TTY("bus0"), odd)
	eventually(t, "line seen", func() bool { return strings.HasPrefix(r.Clients("bus0")[0].Line, "19200 8O") })
	s := dial(t, r, "bus0")
	req := request(10, 7, 1)
	s.Write(req)
	got, err := receive(s, 7, time.Second)
	wantReply(t, req, got, err, 7)
	if c := r.Clients("bus0")[0]; c.Errors == before {
		t.Errorf("no errors heard: %+v", c)
	}
	var b [100]byte
	n, err := p.Port.Read(b[:], time.Now().Add(time.Second))
	for _, x := range b[:n] {
		if x != 0 { // INPCK: a character with an error reads as NUL
			t.Errorf("heard % x, %v", b[:n], err)
			break
		}
	}
}

func dial(t *testing.T, r *Rack, segment string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: r.Socket(segment), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestSocket(t *testing.T) {
	r := running(t)
	req := request(10, 100, 2)
	c := dial(t, r, "bus0")
	c.Write(req)
	got, err := receive(c, 9, time.Second)
	wantReply(t, req, got, err, 100)

	// One that says that it is done and waits for its answer.
	half := dial(t, r, "bus0")
	half.Write(req)
	half.CloseWrite()
	got, err = receive(half, 9, time.Second)
	wantReply(t, req, got, err, 100)
	half.Close()

	// One that says something and goes: the wire has it.
	ear, gone := dial(t, r, "bus0"), dial(t, r, "bus0")
	gone.Write(rtu.AppendWriteRegister(nil, rtu.Broadcast, 700, 1234))
	gone.Close()
	if got, err := receive(ear, 8, time.Second); err != nil || got[1] != rtu.WriteSingleRegister {
		t.Errorf("heard % x, %v", got, err)
	}
	ear.Close()
	c.Close()
	c = dial(t, r, "bus0")
	time.Sleep(20 * time.Millisecond)
	req = request(10, 700, 1)
	c.Write(req)
	got, err = receive(c, 7, time.Second)
	wantReply(t, req, got, err, 1234)

	c.Close()
	eventually(t, "all gone", func() bool { return len(r.Clients("bus0")) == 1 })
	var masters int
	r.Do(func() { masters = len(r.Segment("bus0").Counters().Masters) })
	if masters != 1 {
		t.Errorf("%d masters on the segment, want the terminal's only", masters)
	}
}

func TestSocketsAreBounded(t *testing.T) {
	r := running(t)
	var l []*net.UnixConn
	for range maxSockets {
		l = append(l, dial(t, r, "bus0"))
	}
	eventually(t, "all accepted", func() bool { return len(r.Clients("bus0")) == 1+maxSockets })
	if n, err := dial(t, r, "bus0").Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("one too many: %d, %v", n, err)
	}
	if c := r.Clients("bus0")[0]; c.Refused != 1 {
		t.Errorf("%+v", c)
	}
	l[3].Close()
	eventually(t, "one gone", func() bool { return len(r.Clients("bus0")) == maxSockets })
	c := dial(t, r, "bus0")
	req := request(10, 100, 2)
	c.Write(req)
	got, err := receive(c, 9, time.Second)
	wantReply(t, req, got, err, 100)
}

// TestSocketFlood: a client that floods its socket and never reads does not
// take the rack's memory, and others go on when it has hung up.
func TestSocketFlood(t *testing.T) {
	r := running(t)
	c := dial(t, r, "bus1")
	c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	b := make([]byte, 1<<16)
	for {
		if _, err := c.Write(b); err != nil {
			break
		}
	}
	wantRead(t, client(t, r.TTY("bus0"), slow), 10, 5)
	c.Close()
	eventually(t, "gone", func() bool { return len(r.Clients("bus1")) == 1 })
	silence()
	wantRead(t, client(t, r.TTY("bus1"), fast), 10, 5)
}

func TestPathsGoWithTheRack(t *testing.T) {
	r := running(t)
	link, sock, tty := r.Link("bus0"), r.Socket("bus0"), r.TTY("bus0")
	if to, err := os.Readlink(link); err != nil || to != tty {
		t.Errorf("%s -> %s, %v; want %s", link, to, err, tty)
	}
	f := open(t, link)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for _, p := range []string{link, sock, tty} {
		if _, err := os.Lstat(p); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if n, err := f.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("a client reads %d, %v", n, err)
	}
	if r.TTY("bus9") != "" || r.Socket("bus9") != "" || r.Link("bus9") != "" || r.Segment("bus9") != nil || r.Clients("bus9") != nil {
		t.Error("there is a bus9")
	}
}

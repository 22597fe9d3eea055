package pty

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"cnuas/modbus/rtu"

	"golang.org/x/sys/unix"

	"cnuas/internal/poll"
)

var line = rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}

// world is a hub with one terminal and what it was told.
type world struct {
	t   *testing.T
	hub *Hub
	p   *PTY
	got []Change
}

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := NewHub()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, hub: h}
	if w.p, err = h.Open(line, func(c Change) { w.got = append(w.got, c) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.p.Close(), h.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) client() *os.File {
	w.t.Helper()
	f, err := os.OpenFile(w.p.Path(), os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { f.Close() })
	return f
}

// read waits for what the terminal has next.
func (w *world) read() ([]byte, Flush, error) {
	for end := time.Now().Add(5 * time.Second); ; {
		b, f, err := w.p.Read()
		if !errors.Is(err, ErrEmpty) || time.Now().After(end) {
			return b, f, err
		}
		poll.Wait(w.p.FD(), unix.POLLIN|unix.POLLPRI, time.Second)
	}
}

func (w *world) wantRead(want string) {
	w.t.Helper()
	b, f, err := w.read()
	if string(b) != want || f != 0 || err != nil {
		w.t.Errorf("Read = %q, %d, %v; want %q", b, f, err, want)
	}
}

func (w *world) drain() []Change {
	poll.Wait(w.hub.FD(), unix.POLLIN, time.Second)
	w.hub.Drain()
	g := w.got
	w.got = nil
	return g
}

func readNow(t *testing.T, f *os.File) []byte {
	t.Helper()
	f.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	b := make([]byte, 100)
	n, err := f.Read(b)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	return b[:n]
}

func TestRawBeforeTheFirstClient(t *testing.T) {
	w := newWorld(t)
	if w.p.Open() {
		t.Error("open before any client")
	}
	m, err := w.p.Mode()
	if err != nil || m.Cooked || m.Line != line || !m.Check {
		t.Fatalf("Mode = %+v, %v", m, err)
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	c := w.client()
	if _, err := c.Write(all); err != nil {
		t.Fatal(err)
	}
	if b, _, err := w.read(); !bytes.Equal(b, all) || err != nil {
		t.Errorf("client to master: %x, %v", b, err)
	}
	if n, err := w.p.Write(all); n != len(all) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	got := make([]byte, 512)
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := c.Read(got); err != nil || !bytes.Equal(got[:n], all) {
		t.Errorf("master to client: %x, %v", got[:n], err)
	}
	// And nothing of it was echoed.
	if b, f, err := w.p.Read(); !errors.Is(err, ErrEmpty) {
		t.Errorf("echo: %x %d %v", b, f, err)
	}
}

func TestOpenAndCloseAreSeen(t *testing.T) {
	w := newWorld(t)
	a := w.client()
	if g := w.drain(); len(g) != 1 || g[0] != (Change{Open: true}) {
		t.Errorf("open: %+v", g)
	}
	b := w.client()
	b.Close()
	if g := w.drain(); len(g) != 1 || g[0] != (Change{Open: true}) {
		t.Errorf("a second one came and went: %+v", g)
	}
	a.Write([]byte("last words"))
	a.Close()
	if g := w.drain(); len(g) != 1 || g[0] != (Change{Free: true}) {
		t.Errorf("close: %+v", g)
	}
	w.wantRead("last words")
	if _, _, err := w.read(); !errors.Is(err, ErrNoClient) {
		t.Errorf("read after the last words: %v", err)
	}
	w.client().Close()
	c := w.client()
	if g := w.drain(); len(g) != 1 || g[0] != (Change{Free: true, Open: true}) {
		t.Errorf("one went, another came: %+v", g)
	}
	c.Write([]byte("x"))
	w.wantRead("x")
	if err := w.p.Clear(); err != nil {
		t.Fatal(err)
	}
	if g := w.got; len(g) != 0 {
		t.Errorf("Clear itself is a change: %+v", g)
	}
	c.Close()
	if g := w.drain(); len(g) != 1 || g[0] != (Change{Free: true}) {
		t.Errorf("close after Clear: %+v", g)
	}
}

func TestNoStaleBytes(t *testing.T) {
	w := newWorld(t)
	if n, err := w.p.Write([]byte("nobody")); n != 0 || !errors.Is(err, ErrNoClient) {
		t.Errorf("Write without a client = %d, %v", n, err)
	}
	a := w.client()
	if b := readNow(t, a); len(b) > 0 {
		t.Errorf("first client reads %q", b)
	}
	if _, err := w.p.Write([]byte("unread")); err != nil {
		t.Fatal(err)
	}
	poll.Wait(int(a.Fd()), unix.POLLIN, time.Second)
	if _, err := w.p.Write([]byte(" and more")); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetInt(int(a.Fd()), unix.TIOCEXCL, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetInt(int(a.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if n, err := w.p.Write([]byte("late")); n != 0 || !errors.Is(err, ErrNoClient) {
		t.Errorf("Write after close = %d, %v", n, err)
	}
	if err := w.p.Clear(); err != nil {
		t.Fatal(err)
	}
	b := w.client()
	if g := readNow(t, b); len(g) > 0 {
		t.Errorf("second client reads %q", g)
	}
	if _, err := b.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	w.wantRead("hello") // and no word of Clear's own flush
}

func TestCookedIsPutBack(t *testing.T) {
	w := newWorld(t)
	a := w.client()
	tio, err := unix.IoctlGetTermios(int(a.Fd()), unix.TCGETS2)
	if err != nil {
		t.Fatal(err)
	}
	tio.Lflag |= unix.ICANON | unix.ECHO | unix.ISIG
	tio.Iflag |= unix.ICRNL | unix.IXON
	tio.Oflag |= unix.OPOST | unix.ONLCR
	setLine(tio, rtu.Line{Baud: 115200, Parity: rtu.Odd, Stop: 2})
	if err := unix.IoctlSetTermios(int(a.Fd()), unix.TCSETS2, tio); err != nil {
		t.Fatal(err)
	}
	if m, _ := w.p.Mode(); !m.Cooked {
		t.Errorf("Mode %+v", m)
	}
	a.Close()
	if err := w.p.Clear(); err != nil {
		t.Fatal(err)
	}
	want := Mode{Line: rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Odd, Stop: 2}, Check: true}
	if m, err := w.p.Mode(); m != want || err != nil {
		t.Errorf("Mode %+v, %v; want %+v", m, err, want)
	}
}

func TestModePerChunk(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for _, l := range []rtu.Line{
		{Baud: 9600, Data: 8, Parity: rtu.None, Stop: 2},
		{Baud: 31250, Data: 8, Parity: rtu.Even, Stop: 1},
		{Baud: 115200, Data: 8, Parity: rtu.Odd, Stop: 1},
		{Baud: 4000000, Data: 8, Parity: rtu.None, Stop: 1},
	} {
		tio, err := unix.IoctlGetTermios(int(c.Fd()), unix.TCGETS2)
		if err != nil {
			t.Fatal(err)
		}
		setLine(tio, l)
		tio.Cflag |= unix.PARENB | unix.CS7 // which the kernel drops
		if err := unix.IoctlSetTermios(int(c.Fd()), unix.TCSETS2, tio); err != nil {
			t.Fatal(err)
		}
		c.Write([]byte{1})
		w.wantRead("\x01")
		if m, err := w.p.Mode(); m.Line != l || err != nil {
			t.Errorf("Mode %+v, %v; want %v", m, err, l)
		}
	}
}

func TestModeOf(t *testing.T) {
	for _, c := range []struct {
		t    unix.Termios
		want Mode
	}{
		{unix.Termios{Cflag: unix.B9600}, Mode{Named: true, Line: rtu.Line{Baud: 9600, Data: 8, Stop: 1}}},
		{unix.Termios{Ospeed: 1, Cflag: unix.BOTHER}, Mode{Line: rtu.Line{Baud: 50, Data: 8, Stop: 1}}},
		{unix.Termios{Ospeed: 1<<32 - 1, Cflag: unix.BOTHER}, Mode{Line: rtu.Line{Baud: 4000000, Data: 8, Stop: 1}}},
		{unix.Termios{Ospeed: 300, Cflag: unix.BOTHER, Iflag: unix.IGNPAR | unix.INPCK},
			Mode{Line: rtu.Line{Baud: 300, Data: 8, Parity: rtu.Even, Stop: 1}, Check: true, IgnoreBad: true}},
		{unix.Termios{Ospeed: 300, Cflag: unix.BOTHER | unix.PARODD}, Mode{Line: rtu.Line{Baud: 300, Data: 8, Stop: 1}}},
		{unix.Termios{Ospeed: 300, Cflag: unix.BOTHER, Lflag: unix.ECHO}, Mode{Line: rtu.Line{Baud: 300, Data: 8, Stop: 1}, Cooked: true}},
	} {
		if got := modeOf(&c.t); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.t, got, c.want)
		}
	}
}

// TestNamedRates: a client that sets what is set already is not refused, see
// setNumber.
func TestNamedRates(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	tio, err := unix.IoctlGetTermios(int(c.Fd()), unix.TCGETS2)
	if err != nil || tio.Cflag&unix.CBAUD != unix.BOTHER {
		t.Fatalf("at first: %+v, %v", tio, err)
	}
	for what, settle := range map[string]func() error{"Settle": w.p.Settle, "Clear": w.p.Clear} {
		tio.Cflag = tio.Cflag&^unix.CBAUD | unix.B115200
		if err := unix.IoctlSetTermios(int(c.Fd()), unix.TCSETS, tio); err != nil {
			t.Fatal(err)
		}
		want := Mode{Line: rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}, Check: true, Named: true}
		if m, err := w.p.Mode(); m != want || err != nil {
			t.Errorf("named: %+v, %v", m, err)
		}
		if err := settle(); err != nil {
			t.Fatal(err)
		}
		want.Named = false
		if m, err := w.p.Mode(); m != want || err != nil {
			t.Errorf("after %s: %+v, %v", what, m, err)
		}
	}
}

func TestFlushComesAheadOfWhatFollows(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.Write([]byte("gone"))
	poll.Wait(w.p.FD(), unix.POLLIN, time.Second)
	if err := unix.IoctlSetInt(int(c.Fd()), unix.TCFLSH, unix.TCIOFLUSH); err != nil {
		t.Fatal(err)
	}
	c.Write([]byte("kept"))
	if b, f, err := w.read(); len(b) != 0 || f&FlushInput == 0 || err != nil {
		t.Errorf("Read = %q, %d, %v", b, f, err)
	}
	// What the master's line discipline has taken over is not the client's any
	// more: on a wire, it would have been sent.
	var all []byte
	for !bytes.HasSuffix(all, []byte("kept")) {
		b, f, err := w.read()
		if f&FlushInput != 0 || err != nil { // FlushOutput may come apart
			t.Fatalf("%q, then Read = %q, %d, %v", all, b, f, err)
		}
		all = append(all, b...)
	}
	if s := string(all); s != "kept" && s != "gonekept" {
		t.Errorf("read %q", all)
	}
}

func TestWriteIsBounded(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	sum := 0
	b := make([]byte, 1000)
	var err error
	for range 200 {
		var n int
		n, err = w.p.Write(b)
		sum += n
		if err != nil {
			break
		}
	}
	if !errors.Is(err, ErrFull) || sum < 4096 || sum > 150000 {
		t.Errorf("%d bytes taken, %v", sum, err)
	}
	if n, err := w.p.Write(b); n != 0 || !errors.Is(err, ErrFull) {
		t.Errorf("Write = %d, %v", n, err)
	}
	c.Close()
	if err := w.p.Clear(); err != nil {
		t.Fatal(err)
	}
	c = w.client()
	if _, err := w.p.Write([]byte("fresh")); err != nil {
		t.Fatal(err)
	}
	poll.Wait(int(c.Fd()), unix.POLLIN, time.Second)
	if g := readNow(t, c); string(g) != "fresh" {
		t.Errorf("next client reads %q", g)
	}
}

func TestCloseEndsClients(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	path := w.p.Path()
	if err := w.p.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d, %v", n, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", path, err)
	}
	w.hub.Drain()
	if err := w.p.Close(); err != nil {
		t.Error(err)
	}
}

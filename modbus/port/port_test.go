package port

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"cnuas/internal/sim"
	"cnuas/modbus/pty"
	"cnuas/modbus/rtu"

	"golang.org/x/sys/unix"
)

var line = rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}

// far is the other end of a port: what it answers to each request is a
// function. It has no wire: frames are cut as they come.
type far struct {
	t    *testing.T
	hub  *pty.Hub
	tty  *pty.PTY
	stop chan struct{}
	done chan struct{}
}

func newFar(t *testing.T, answer func(m pty.Mode, req []byte) []byte) *far {
	t.Helper()
	h, err := pty.NewHub()
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Open(line, func(pty.Change) {})
	if err != nil {
		t.Fatal(err)
	}
	f := &far{t: t, hub: h, tty: p, stop: make(chan struct{}), done: make(chan struct{})}
	go f.serve(answer)
	t.Cleanup(f.close)
	return f
}

func (f *far) close() {
	select {
	case <-f.stop:
		return
	default:
	}
	close(f.stop)
	<-f.done
	f.tty.Close()
	f.hub.Close()
}

func (f *far) serve(answer func(pty.Mode, []byte) []byte) {
	defer close(f.done)
	var b []byte
	for {
		select {
		case <-f.stop:
			return
		default:
		}
		unix.Poll([]unix.PollFd{{Fd: int32(f.tty.FD()), Events: unix.POLLIN}}, 2)
		c, fl, err := f.tty.Read()
		if err != nil || fl != 0 {
			if errors.Is(err, pty.ErrNoClient) {
				time.Sleep(time.Millisecond)
			}
			continue
		}
		b = append(b, c...)
		if n, ok := rtu.RequestLen(b); len(b) < n || !ok {
			continue
		}
		m, err := f.tty.Mode()
		if err != nil {
			return
		}
		if r := answer(m, b); r != nil {
			f.tty.Write(r)
		}
		b = nil
	}
}

func client(t *testing.T, f *far) *Client {
	t.Helper()
	p, err := Open(f.tty.Path(), line)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return &Client{Port: p, Timeout: 500 * time.Millisecond}
}

// registers is a device whose register n holds n.
type registers struct{}

func (registers) ReadRegisters(_ sim.Time, addr uint16, dst []uint16) rtu.Exception {
	if addr >= 1000 {
		return rtu.IllegalDataAddress
	}
	for i := range dst {
		dst[i] = addr + uint16(i)
	}
	return rtu.OK
}

func (registers) WriteRegisters(sim.Time, uint16, []uint16) rtu.Exception { return rtu.OK }

func slave(addr uint8) func(pty.Mode, []byte) []byte {
	s := rtu.NewSlave(addr, registers{}, rtu.Options{})
	return func(_ pty.Mode, req []byte) []byte { return s.Serve(0, req, nil) }
}

func TestTransactions(t *testing.T) {
	c := client(t, newFar(t, slave(7)))
	got, err := c.ReadRegisters(7, 100, 3)
	if fmt.Sprint(got) != "[100 101 102]" || err != nil {
		t.Errorf("read: %v, %v", got, err)
	}
	var ex *ExceptionError
	if _, err := c.ReadRegisters(7, 1000, 1); !errors.As(err, &ex) || *ex != (ExceptionError{7, 3, rtu.IllegalDataAddress}) {
		t.Errorf("missing register: %v", err)
	}
	if _, err := c.Do(rtu.AppendRead(nil, 7, rtu.ReadCoils, 0, 1)); !errors.As(err, &ex) || ex.Code != rtu.IllegalFunction {
		t.Errorf("missing function: %v", err)
	}
	if d, err := c.Do(rtu.AppendWriteRegisters(nil, 7, 5, []uint16{1, 2})); string(d) != "\x00\x05\x00\x02" || err != nil {
		t.Errorf("write: %x, %v", d, err)
	}
	start := time.Now()
	if d, err := c.Do(rtu.AppendWriteRegister(nil, rtu.Broadcast, 5, 1)); d != nil || err != nil || time.Since(start) < turnaround {
		t.Errorf("broadcast: %x, %v after %v", d, err, time.Since(start))
	}
	c.Retries = 2
	if _, err := c.ReadRegisters(8, 0, 1); !errors.Is(err, ErrTimeout) {
		t.Errorf("absent slave: %v", err)
	}
	want := [6]uint64{8, 4, 3, 0, 2, 2}
	if g := [6]uint64{c.Requests, c.Replies, c.Timeouts, c.Bad, c.Exceptions, c.Retried}; g != want {
		t.Errorf("requests, replies, timeouts, bad, exceptions, retried: %v, want %v", g, want)
	}
}

func TestRetries(t *testing.T) {
	good := slave(7)
	n := 0
	bad := func(m pty.Mode, req []byte) []byte {
		r := good(m, req)
		switch n++; n {
		case 1:
			r[3] ^= 4 // CRC
		case 2:
			return nil
		case 3:
			r = rtu.AppendRequest(nil, 7, req[1]|rtu.ExceptionBit, byte(rtu.ServerDeviceBusy))
		case 4:
			// What another slave says comes first, and noise behind.
			other := rtu.AppendRequest(nil, 9, rtu.ReadHoldingRegisters, 2, 0, 1)
			r = append(append(other, r...), 0)
		case 5:
			r = r[:len(r)-1]
		case 6:
			return make([]byte, 2000)
		}
		return r
	}
	c := client(t, newFar(t, bad))
	c.Retries = 3
	if got, err := c.ReadRegisters(7, 3, 1); err != nil || got[0] != 3 {
		t.Errorf("%v, %v", got, err)
	}
	if c.Retried != 3 || c.Bad != 1 || c.Timeouts != 1 || c.Exceptions != 1 {
		t.Errorf("%+v", c)
	}
	c.Retries = 0
	if _, err := c.ReadRegisters(7, 3, 1); !errors.Is(err, rtu.ErrShort) {
		t.Errorf("cut reply: %v", err)
	}
	if _, err := c.ReadRegisters(7, 3, 1); err == nil {
		t.Error("noise is a reply")
	}
	if got, err := c.ReadRegisters(7, 3, 1); err != nil || got[0] != 3 {
		t.Errorf("after noise: %v, %v", got, err)
	}
}

func TestEcho(t *testing.T) {
	good := slave(7)
	c := client(t, newFar(t, func(m pty.Mode, req []byte) []byte { return append(append([]byte{}, req...), good(m, req)...) }))
	c.Echo = true
	for range 3 {
		if got, err := c.ReadRegisters(7, 3, 2); err != nil || fmt.Sprint(got) != "[3 4]" {
			t.Errorf("%v, %v", got, err)
		}
	}
	c = client(t, newFar(t, good))
	c.Echo = true
	if _, err := c.ReadRegisters(7, 3, 20); err == nil || !strings.Contains(err.Error(), "echo") {
		t.Errorf("a bus without echo: %v", err)
	}
}

func TestSetLine(t *testing.T) {
	var seen []rtu.Line
	good := slave(7)
	f := newFar(t, func(m pty.Mode, req []byte) []byte { seen = append(seen, m.Line); return good(m, req) })
	c := client(t, f)
	lines := []rtu.Line{line, {Baud: 9600, Data: 8, Parity: rtu.None, Stop: 2}, {Baud: 19200, Data: 8, Parity: rtu.Odd, Stop: 1}}
	for _, l := range lines {
		if err := c.Port.SetLine(l); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadRegisters(7, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	f.close()
	if fmt.Sprint(seen) != fmt.Sprint(lines) {
		t.Errorf("lines %v, want %v", seen, lines)
	}
}

func TestHangup(t *testing.T) {
	f := newFar(t, slave(7))
	c := client(t, f)
	c.Retries = 100
	f.close()
	start := time.Now()
	_, err := c.Port.Read(make([]byte, 1), time.Now().Add(time.Minute))
	if !errors.Is(err, ErrHangup) && !errors.Is(err, unix.EIO) || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if _, err := c.ReadRegisters(7, 0, 1); err == nil {
		t.Error("a transaction on a dead port")
	}
}

func TestRefusals(t *testing.T) {
	f := newFar(t, slave(7))
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		line rtu.Line
		want string
	}{
		{f.tty.Path(), rtu.Line{Baud: 31250, Data: 8, Parity: rtu.Even, Stop: 1}, "named rate"},
		{f.tty.Path(), rtu.Line{Data: 8, Parity: rtu.Even, Stop: 1}, "positive rate"},
		{f.tty.Path(), rtu.Line{Baud: 19200, Data: 9, Stop: 1}, "data bits"},
		{f.tty.Path(), rtu.Line{Baud: 19200, Data: 8, Parity: 7, Stop: 1}, "no serial line"},
		{file + "-not", line, "rack tty"},
		{file, line, "must be a terminal"},
	} {
		p, err := Open(c.path, c.line)
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %v: %v, want %q", c.path, c.line, err, c.want)
		}
	}
	p, err := Open(f.tty.Path(), line)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if _, err := p.Read(make([]byte, 1), time.Now()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if err := p.Write([]byte{1}, time.Now()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
}

// TestDescriptorAboveSelect: select(2) cannot watch the port, which must be
// said and not end in reads that return at once.
func TestDescriptorAboveSelect(t *testing.T) {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	if lim.Cur <= selectable+10 {
		was := lim.Cur
		lim.Cur = min(selectable+100, lim.Max)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			t.Fatal(err)
		}
		defer func() { lim.Cur = was; unix.Setrlimit(unix.RLIMIT_NOFILE, &lim) }()
	}
	f := newFar(t, slave(7))
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for {
		fd, err := unix.Dup(f.hub.FD())
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
		if fd >= selectable {
			break
		}
	}
	p, err := Open(f.tty.Path(), line)
	if err == nil {
		p.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "1024 other files") {
		t.Errorf("%v", err)
	}
}

func TestDrainIsBounded(t *testing.T) {
	f := newFar(t, func(pty.Mode, []byte) []byte { return make([]byte, 5000) })
	c := client(t, f)
	c.Port.Write(rtu.AppendRead(nil, 7, 3, 0, 1), time.Now().Add(time.Second))
	if err := c.Port.Drain(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Port.Read(make([]byte, 1), time.Now()); !errors.Is(err, ErrTimeout) {
		t.Errorf("%d, %v", n, err)
	}
}

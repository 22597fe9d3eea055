package ftdi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
	"cnuas/modbus/usbredir"
	"cnuas/modbus/usbredir/redirtest"
)

// wire notes what a port does to it.
type wire struct {
	log  []string
	line rtu.Line
	now  func() sim.Time
	end  sim.Time
}

func (w *wire) note(format string, a ...any) { w.log = append(w.log, fmt.Sprintf(format, a...)) }
func (w *wire) Drained() sim.Time            { return w.end }
func (w *wire) Break(on bool)                { w.note("break %v", on) }
func (w *wire) PurgeReceived()               { w.note("forget") }

func (w *wire) Send(l rtu.Line, b []byte) int {
	w.note("send %v % x", l, b)
	w.end = max(w.end, w.now()) + sim.Time(len(b))*l.CharTime()
	return len(b)
}

func (w *wire) PurgeSend() {
	w.note("purge")
	w.end = min(w.end, w.now())
}

func (w *wire) Listen(l rtu.Line) error {
	if l.Baud > 3_000_000 {
		return errors.New("too fast")
	}
	w.line = l
	return nil
}

func (w *wire) take() string {
	s := strings.Join(w.log, "; ")
	w.log = nil
	return s
}

// lab is a chip with a guest, in virtual time.
type lab struct {
	t    *testing.T
	mu   sync.Mutex
	eng  *sim.Engine
	chip *Chip
	host *usbredir.Host
	g    *redirtest.Guest
	w    [Ports]wire
}

func (l *lab) do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// run lets time pass until then.
func (l *lab) run(until sim.Time) { l.do(func() { l.eng.RunUntil(until) }) }

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, eng: sim.NewEngine(1)}
	l.eng.RunUntil(sim.Second)
	var err error
	if l.chip, err = New(l.eng.NewProc(), Config{Serial: "CN000001"}); err != nil {
		t.Fatal(err)
	}
	for i := range l.w {
		l.w[i].now = l.eng.Now
		l.chip.Port(i).Connect(&l.w[i])
	}
	if l.host, err = usbredir.NewHost(l.chip, usbredir.Options{Do: l.do}); err != nil {
		t.Fatal(err)
	}
	l.host.Plug()
	a, b := net.Pipe()
	go l.host.Serve(a)
	if l.g, err = redirtest.NewGuest(b, usbredir.Own); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.g.Close() })
	if st, err := l.g.Configure(1); st != usbredir.Success || err != nil {
		t.Fatal(st, err)
	}
	for i := range l.w {
		l.w[i].take()
	}
	return l
}

func (l *lab) control(typ, req uint8, value, index, length uint16) ([]byte, usbredir.Status) {
	l.t.Helper()
	b, st, err := l.g.Control(usbredir.Setup{RequestType: typ, Request: req, Value: value, Index: index, Length: length}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return b, st
}

func TestEnumeration(t *testing.T) {
	l := newLab(t)
	d, err := l.g.Descriptor(1, 0, 64)
	want := []byte{18, 1, 0, 2, 0, 0, 0, 64, 0x03, 0x04, 0x11, 0x60, 0x00, 0x08, 1, 2, 3, 1}
	if err != nil || !bytes.Equal(d, want) {
		t.Errorf("device % x, %v", d, err)
	}
	d, err = l.g.Descriptor(2, 0, 512)
	if err != nil || len(d) != 9+4*23 || int(binary.LittleEndian.Uint16(d[2:])) != len(d) || d[4] != 4 {
		t.Errorf("configuration % x, %v", d, err)
	}
	if got := d[9 : 9+23]; !bytes.Equal(got, []byte{9, 4, 0, 0, 2, 255, 255, 255, 2, 7, 5, 0x81, 2, 0, 2, 0, 7, 5, 2, 2, 0, 2, 0}) {
		t.Errorf("first interface % x", got)
	}
	if got := d[9+3*23:]; got[2] != 3 || got[11] != 0x87 || got[18] != 0x08 {
		t.Errorf("last interface % x", got)
	}
	if d, err = l.g.Descriptor(6, 0, 10); err != nil || len(d) != 10 {
		t.Errorf("qualifier % x, %v", d, err)
	}
	for i, s := range []string{1: "FTDI", 2: "Quad RS232-HS", 3: "CN000001"} {
		if d, err := l.g.Descriptor(3, uint8(i), 255); i > 0 && (err != nil || strings.ReplaceAll(string(d[2:]), "\x00", "") != s) {
			t.Errorf("string %d: %q, %v", i, d, err)
		}
	}
	if _, err := l.g.Descriptor(3, 4, 255); err == nil {
		t.Error("there is a string 4")
	}
}

func TestSerialNumbers(t *testing.T) {
	p := sim.NewEngine(1).NewProc()
	for _, s := range []string{"", strings.Repeat("x", 21), "a b", "é", "a\x00"} {
		if _, err := New(p, Config{Serial: s}); err == nil {
			t.Errorf("%q is a serial number", s)
		}
	}
	if _, err := New(p, Config{Serial: strings.Repeat("x", 20)}); err != nil {
		t.Error(err)
	}
}

// TestEEPROM reads it as drivers do and looks at it as libftdi does.
func TestEEPROM(t *testing.T) {
	l := newLab(t)
	var b []byte
	for i := range uint16(eepromWords) {
		w, st := l.control(0xc0, 0x90, 0, i, 2)
		if st != usbredir.Success || len(w) != 2 {
			t.Fatal(w, st)
		}
		b = append(b, w...)
	}
	sum := uint16(0xaaaa)
	for i := 0; i < 126; i += 2 {
		sum ^= binary.LittleEndian.Uint16(b[i:])
		sum = sum<<1 | sum>>15
	}
	if got := binary.LittleEndian.Uint16(b[126:]); got != sum {
		t.Errorf("checksum %04x, want %04x", got, sum)
	}
	if !bytes.Equal(b[2:8], []byte{0x03, 0x04, 0x11, 0x60, 0x00, 0x08}) || b[0x0b] != 0xf0 {
		t.Errorf("head % x", b[:0x1a])
	}
	for i, want := range []string{"FTDI", "Quad RS232-HS", "CN000001"} {
		at, n := int(b[0x0e+2*i]&0x7f), int(b[0x0f+2*i])
		s := b[at : at+n]
		if int(s[0]) != n || s[1] != 3 || strings.ReplaceAll(string(s[2:]), "\x00", "") != want {
			t.Errorf("string %d: %q", i, s)
		}
	}
}

// TestRequests is every request, and what it does to the second port.
func TestRequests(t *testing.T) {
	l := newLab(t)
	p := l.chip.Port(1)
	for _, c := range []struct {
		name         string
		req          uint8
		value, index uint16
		ok           bool
		want         string // line, latency, outputs, flow, break
	}{
		{"reset", 0, 0, 2, true, "9600 8N1 16 0 0 false"},
		{"baud 19200", 3, 0x0271, 0x0202, true, "19200 8N1 16 0 0 false"},
		{"8E1", 4, 0x0208, 2, true, "19200 8E1 16 0 0 false"},
		{"baud 115200", 3, 0xc068, 0x0202, true, "115246 8E1 16 0 0 false"},
		{"12 MBd is no segment's", 3, 0, 0x0202, false, "115246 8E1 16 0 0 false"},
		{"nor are 4 MBd this one's", 3, 3, 0x0202, false, "115246 8E1 16 0 0 false"},
		{"3 MBd is", 3, 0, 0x0002, true, "3000000 8E1 16 0 0 false"},
		{"7O2", 4, 0x1107, 2, true, "3000000 7O2 16 0 0 false"},
		{"mark", 4, 0x0308, 2, true, "3000000 8N2 16 0 0 false"},
		{"one and a half", 4, 0x0808, 2, true, "3000000 8N2 16 0 0 false"},
		{"space", 4, 0x0408, 2, false, "3000000 8N2 16 0 0 false"},
		{"parity 5", 4, 0x0508, 2, false, "3000000 8N2 16 0 0 false"},
		{"stop 3", 4, 0x1808, 2, false, "3000000 8N2 16 0 0 false"},
		{"6 bits", 4, 0x0006, 2, false, "3000000 8N2 16 0 0 false"},
		{"break", 4, 0x4008, 2, true, "3000000 8N1 16 0 0 true"},
		{"no break", 4, 0x0008, 2, true, "3000000 8N1 16 0 0 false"},
		{"DTR", 1, 0x0101, 2, true, "3000000 8N1 16 1 0 false"},
		{"RTS", 1, 0x0202, 2, true, "3000000 8N1 16 3 0 false"},
		{"not DTR", 1, 0x0100, 2, true, "3000000 8N1 16 2 0 false"},
		{"unmasked", 1, 0x0003, 2, true, "3000000 8N1 16 2 0 false"},
		{"RTS/CTS", 2, 0, 0x0102, true, "3000000 8N1 16 2 1 false"},
		{"XON/XOFF", 2, 0x1311, 0x0402, true, "3000000 8N1 16 2 4 false"},
		{"no flow control", 2, 0, 0x0002, true, "3000000 8N1 16 2 0 false"},
		{"latency", 9, 1, 2, true, "3000000 8N1 1 2 0 false"},
		{"latency 0", 9, 0, 2, false, "3000000 8N1 1 2 0 false"},
		{"latency 256", 9, 256, 2, false, "3000000 8N1 1 2 0 false"},
		{"event character", 6, 0x010d, 2, true, "3000000 8N1 1 2 0 false"},
		{"no event character", 6, 0x000d, 2, true, "3000000 8N1 1 2 0 false"},
		{"no error character", 7, 0, 2, true, "3000000 8N1 1 2 0 false"},
		{"error character", 7, 0x0158, 2, false, "3000000 8N1 1 2 0 false"},
		{"serial mode", 11, 0x00ff, 2, true, "3000000 8N1 1 2 0 false"},
		{"bit bang mode", 11, 0x01ff, 2, false, "3000000 8N1 1 2 0 false"},
		{"purge receiver", 0, 1, 2, true, "3000000 8N1 1 2 0 false"},
		{"purge transmitter", 0, 2, 2, true, "3000000 8N1 1 2 0 false"},
		{"reset 3", 0, 3, 2, false, "3000000 8N1 1 2 0 false"},
		{"port 5", 9, 9, 5, false, "3000000 8N1 1 2 0 false"},
		{"port 0 is the first", 9, 77, 0, true, "3000000 8N1 1 2 0 false"},
		{"no request", 0x55, 0, 2, false, "3000000 8N1 1 2 0 false"},
		{"write EEPROM", 0x91, 0, 2, false, "3000000 8N1 1 2 0 false"},
	} {
		_, st := l.control(0x40, c.req, c.value, c.index, 0)
		var s Status
		l.do(func() { s = p.Status() })
		got := fmt.Sprintf("%v %d %d %d %v", s.Line, s.Latency, s.Outputs, s.Flow, s.Break)
		if (st == usbredir.Success) != c.ok || !c.ok && st != usbredir.Stall || got != c.want {
			t.Errorf("%s: %v, %s, want %s", c.name, st, got, c.want)
		}
		if l.w[1].line != s.Line {
			t.Errorf("%s: the wire listens at %v", c.name, l.w[1].line)
		}
	}
	if got := l.w[1].take(); got != "forget; purge; break true; break false; forget; purge" {
		t.Errorf("the wire: %s", got)
	}
	for _, c := range []struct {
		req   uint8
		index uint16
		want  []byte
	}{{5, 2, []byte{0x32, 0x60}}, {10, 2, []byte{1}}, {10, 1, []byte{77}}, {10, 3, []byte{16}}, {12, 2, []byte{0xff}}} {
		if b, st := l.control(0xc0, c.req, 0, c.index, 2); st != usbredir.Success || !bytes.Equal(b, c.want) {
			t.Errorf("request %d of port %d: % x %v, want % x", c.req, c.index, b, st, c.want)
		}
	}
	if _, st := l.control(0xc0, 0x33, 0, 2, 2); st != usbredir.Stall {
		t.Errorf("no request: %v", st)
	}
	if _, st := l.control(0x21, 3, 0, 2, 0); st != usbredir.Stall {
		t.Errorf("a class request: %v", st)
	}
	// A new peer, or the plug pulled and put: as after power-up.
	l.do(func() { l.host.Unplug(); l.host.Plug() })
	if s := p.Status(); s.Line.String() != "9600 8N1" || s.Latency != 16 || s.Outputs != 0 {
		t.Errorf("after power-up: %+v", s)
	}
}

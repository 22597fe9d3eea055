package ftdi

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
	"cnuas/modbus/usbredir"
)

const ms = sim.Millisecond

// chars are characters that end one after the other from a time on.
func chars(at, every sim.Time, b ...byte) (l []rtu.Char) {
	for i, c := range b {
		l = append(l, rtu.Char{At: at + sim.Time(i)*every, Byte: c})
	}
	return l
}

// burst gives characters to a port at the end of the last.
func (l *lab) burst(port int, c []rtu.Char) {
	at := c[len(c)-1].At
	l.run(at)
	l.do(func() { l.chip.Port(port).ReceiveChars(at, c) })
}

// expect awaits a transfer whose data are these, in hex.
func (l *lab) expect(what string, in <-chan usbredir.Message, want string) {
	l.t.Helper()
	b, st, err := l.g.Bulk(in)
	if got := fmt.Sprintf("% x", b); got != want || st != usbredir.Success || err != nil {
		l.t.Errorf("%s: %s %v %v, want %s", what, got, st, err, want)
	}
}

// silent checks that no transfer has been completed.
func (l *lab) silent(what string, port int, waiting int) {
	l.t.Helper()
	l.do(func() {
		if n := len(l.chip.ports[port].rx.transfers); n != waiting {
			l.t.Errorf("%s: %d transfers wait, want %d", what, n, waiting)
		}
	})
}

// arrive waits until what the guest has sent is with the device: requests are
// served in order.
func (l *lab) arrive() { l.g.Call(usbredir.GetConfiguration, nil) }

// TestLatencyTimer: characters wait for the timer, which has started with the
// last packet, at 1 s; a packet that would have gone before the end of the
// burst goes at its end.
func TestLatencyTimer(t *testing.T) {
	l := newLab(t)
	_, a := l.g.StartIn(0x81, 512)
	_, b := l.g.StartIn(0x81, 512)
	l.arrive()
	t0 := sim.Second
	l.burst(0, chars(t0+5*ms, ms, 1, 2, 3))
	l.run(t0 + 16*ms - 1)
	l.silent("before 16 ms", 0, 2)
	l.run(t0 + 16*ms)
	l.expect("after 16 ms", a, "32 60 01 02 03")
	// 50 ms later: the timer has gone round at 32, 48 and 64 ms.
	l.burst(0, chars(t0+66*ms, ms, 4))
	l.run(t0 + 80*ms - 1)
	l.silent("before 80 ms", 0, 1)
	l.run(t0 + 80*ms)
	l.expect("after 80 ms", b, "32 60 04")
	// A burst longer than the timer: what was due before its end is sent, the
	// rest waits.
	_, a = l.g.StartIn(0x81, 512)
	_, b = l.g.StartIn(0x81, 512)
	l.arrive()
	l.burst(0, chars(t0+90*ms, 3*ms, 1, 2, 3, 4, 5))
	l.expect("due before the end", a, "32 60 01 02 03")
	l.silent("the rest", 0, 1)
	l.run(t0 + 112*ms)
	l.expect("the rest", b, "32 60 04 05")
	// Latency 1 ms, as for real-time use.
	l.control(0x40, 9, 1, 1, 0)
	_, a = l.g.StartIn(0x81, 512)
	l.arrive()
	l.burst(0, chars(t0+200*ms+ms/2, ms, 9))
	l.run(t0 + 201*ms - 1)
	l.silent("before 1 ms", 0, 1)
	l.run(t0 + 201*ms)
	l.expect("after 1 ms", a, "32 60 09")
}

func TestEventCharacter(t *testing.T) {
	l := newLab(t)
	l.control(0x40, 6, 0x010d, 1, 0)
	_, a := l.g.StartIn(0x81, 512)
	l.arrive()
	l.burst(0, chars(sim.Second+ms, ms/10, 'o', 'k', 13, 'x'))
	l.expect("event", a, "32 60 6f 6b 0d")
	_, a = l.g.StartIn(0x81, 512)
	l.arrive()
	l.silent("the rest", 0, 1)
}

// TestPackets: a full packet goes at once, each has status bytes, and a
// transfer may have several.
func TestPackets(t *testing.T) {
	l := newLab(t)
	data := make([]byte, 1100)
	for i := range data {
		data[i] = byte(i)
	}
	_, a := l.g.StartIn(0x87, 4096)
	l.arrive()
	l.burst(3, chars(sim.Second+ms, ms/1000, data...))
	// Two packets were full; the timer flushes the rest.
	b, st, err := l.g.Bulk(a)
	want := append([]byte{0x32, 0x60}, data[:510]...)
	want = append(append(want, 0x32, 0x60), data[510:1020]...)
	if !bytes.Equal(b, want) || st != usbredir.Success || err != nil {
		t.Errorf("%d bytes, %v, %v", len(b), st, err)
	}
	l.run(sim.Second + 100*ms)
	_, a = l.g.StartIn(0x87, 34)
	_, c := l.g.StartIn(0x87, 512)
	l.expect("cut by the transfer's length", a, "32 60"+hex(data[1020:1052]))
	l.expect("the rest", c, "32 60"+hex(data[1052:]))
}

func hex(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return fmt.Sprintf(" % x", b)
}

// TestLineErrors: each error of a character is in the status of its packet, and
// in no other.
func TestLineErrors(t *testing.T) {
	l := newLab(t)
	at := sim.Second
	for _, c := range []struct {
		err  rtu.LineError
		want string
	}{
		{0, "60"}, {rtu.ParityError, "e4"}, {rtu.FramingError, "e8"}, {rtu.Overrun, "62"}, {rtu.Break, "f0"},
		{rtu.ParityError | rtu.FramingError, "ec"}, {0, "60"},
	} {
		_, in := l.g.StartIn(0x83, 512)
		l.arrive()
		at += 100 * ms
		b := chars(at, ms/10, 1, 2, 3)
		b[1].Err = c.err
		l.burst(1, b)
		l.run(at + 20*ms)
		l.expect(fmt.Sprint("error ", c.err), in, "32 "+c.want+" 01 02 03")
	}
	s := l.chip.Port(1).Status().Counters
	if s.ParityErrors != 2 || s.FramingErrors != 2 || s.Breaks != 1 || s.RxBytes != 21 || s.BulkIn != 7 {
		t.Errorf("%+v", s)
	}
}

// TestOverrun: nobody reads, 2048 characters stay, and the next packet tells.
func TestOverrun(t *testing.T) {
	l := newLab(t)
	l.burst(2, chars(sim.Second+ms, ms/100, make([]byte, FIFOSize+5)...))
	got := 0
	for i := range 5 {
		_, in := l.g.StartIn(0x85, 512)
		l.run(sim.Second + sim.Time(i+1)*100*ms)
		b, _, _ := l.g.Bulk(in)
		got += len(b) - 2
		if over := b[1]&2 != 0; over != (i == 0) {
			t.Errorf("packet %d: status %#x", i, b[1])
		}
	}
	if got != FIFOSize || l.chip.Port(2).Status().Counters.Overruns != 5 {
		t.Errorf("%d characters, %+v", got, l.chip.Port(2).Status())
	}
}

func TestPurge(t *testing.T) {
	l := newLab(t)
	p := l.chip.Port(0)
	at := sim.Second + ms
	l.burst(0, chars(at, ms, 1, 2))
	l.control(0x40, 0, 1, 1, 0) // at 2 ms
	_, in := l.g.StartIn(0x81, 512)
	l.arrive()
	// A burst that had begun before the purge: its first character is gone, too.
	l.burst(0, chars(at+ms, 4*ms, 3, 4))
	l.run(at + 60*ms)
	l.expect("after a purge", in, "32 60 04")
	if p.c.Discarded != 2 {
		t.Errorf("%d bytes discarded", p.c.Discarded)
	}
}

// TestSend: data go to the wire at the port's line at that time, the status
// tells when they have been sent, and a full FIFO makes the host wait.
func TestSend(t *testing.T) {
	l := newLab(t)
	p := l.chip.Port(0)
	l.control(0x40, 3, 0x0271, 0x0201, 0)
	l.control(0x40, 4, 0x0208, 1, 0)
	if st, err := l.g.Out(2, []byte{1, 2, 3}); st != usbredir.Success || err != nil {
		t.Error(st, err)
	}
	if got := l.w[0].take(); got != "send 19200 8E1 01 02 03" {
		t.Error(got)
	}
	end := sim.Second + 3*p.line.CharTime()
	l.run(end - 1)
	if b, _ := l.control(0xc0, 5, 0, 1, 2); b[1] != 0 {
		t.Errorf("status while sending: %#x", b[1])
	}
	l.run(end)
	if b, _ := l.control(0xc0, 5, 0, 1, 2); b[1] != 0x60 {
		t.Errorf("status afterwards: %#x", b[1])
	}
	// 2048 fit; 100 more wait until 100 have been sent.
	big := make([]byte, FIFOSize)
	if st, err := l.g.Out(2, big); st != usbredir.Success || err != nil {
		t.Error(st, err)
	}
	_, more := l.g.Start(usbredir.BulkPacket, usbredir.BulkBody{Endpoint: 2, Length: 100, Data: make([]byte, 100)}.Append(nil))
	l.arrive()
	l.w[0].take()
	room := end + 100*p.line.CharTime()
	l.run(room - 1)
	if got := l.w[0].take(); got != "" || len(p.tx.waiting) != 1 {
		t.Errorf("too early: %s", got)
	}
	l.run(room)
	if _, st, _ := l.g.Bulk(more); st != usbredir.Success || !strings.HasPrefix(l.w[0].take(), "send 19200 8E1 00") {
		t.Error(st)
	}
	// A purge ends those that wait.
	_, more = l.g.Start(usbredir.BulkPacket, usbredir.BulkBody{Endpoint: 2, Length: 100, Data: make([]byte, 100)}.Append(nil))
	l.arrive()
	l.control(0x40, 0, 2, 1, 0)
	if _, st, _ := l.g.Bulk(more); st != usbredir.Success || l.w[0].take() != "purge" {
		t.Error(st)
	}
	if b, _ := l.control(0xc0, 5, 0, 1, 2); b[1] != 0x60 {
		t.Errorf("status after a purge: %#x", b[1])
	}
	// One that is taken back is not sent.
	l.g.Out(2, big)
	id, more := l.g.Start(usbredir.BulkPacket, usbredir.BulkBody{Endpoint: 2, Length: 50, Data: make([]byte, 50)}.Append(nil))
	l.g.Cancel(id)
	if _, st, _ := l.g.Bulk(more); st != usbredir.Cancelled || len(p.tx.waiting) != 0 || p.tx.bytes != 0 {
		t.Error(st, len(p.tx.waiting))
	}
	// A host that does not wait is refused in the end, and nothing grows.
	for range 4 {
		l.g.Start(usbredir.BulkPacket, usbredir.BulkBody{Endpoint: 2, Length: 60000, Data: make([]byte, 60000)}.Append(nil))
	}
	if st, err := l.g.Out(2, make([]byte, 60000)); st != usbredir.IOError || err != nil {
		t.Error(st, err)
	}
}

// TestUnplugInTransfer: a transfer of the device that was pulled out gets
// nothing of what the next one hears.
func TestUnplugInTransfer(t *testing.T) {
	l := newLab(t)
	l.g.StartIn(0x81, 512)
	l.arrive()
	l.do(func() { l.host.Unplug(); l.host.Plug() })
	if _, err := l.g.Event(usbredir.DeviceConnect); err != nil {
		t.Fatal(err)
	}
	l.g.Event(usbredir.DeviceConnect)
	l.g.Configure(1)
	_, in := l.g.StartIn(0x81, 512)
	l.arrive()
	l.burst(0, chars(sim.Second+100*ms, ms, 7))
	l.run(sim.Second + 200*ms)
	l.expect("after a replug", in, "32 60 07")
}

func TestReceivingAllocatesNothing(t *testing.T) {
	eng := sim.NewEngine(1)
	c, err := New(eng.NewProc(), Config{Serial: "X"})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Port(0)
	at := sim.Second
	b := chars(0, 0, make([]byte, 64)...)
	if n := testing.AllocsPerRun(200, func() {
		at += 20 * ms
		eng.RunUntil(at)
		for i := range b {
			b[i].At = at
		}
		p.ReceiveChars(at, b)
		eng.RunUntil(at + 16*ms)
		p.in(usbredir.Transfer{Endpoint: 0x81, Length: 512})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzChip: any requests and bursts, in any order: the FIFO's accounts hold.
func FuzzChip(f *testing.F) {
	f.Add([]byte("\x00\x40\x03\x71\x02\x01\x02\x01abc\x02\x03"))
	f.Fuzz(func(t *testing.T, b []byte) {
		eng := sim.NewEngine(1)
		c, err := New(eng.NewProc(), Config{Serial: "X"})
		if err != nil {
			t.Fatal(err)
		}
		at := sim.Time(0)
		for len(b) >= 8 {
			at += sim.Time(b[1]) * ms
			eng.RunUntil(at)
			p := c.Port(int(b[2] % 4))
			switch b[0] % 4 {
			case 0:
				c.Control(usbredir.Setup{RequestType: b[3], Request: b[4], Value: uint16(b[5])<<8 | uint16(b[6]), Index: uint16(b[7])<<8 | uint16(b[2])}, nil)
			case 1:
				n := int(b[3]) * 16
				p.ReceiveChars(at, chars(at-sim.Time(n)*sim.Time(b[4]), sim.Time(b[4]), make([]byte, n+1)...))
			case 2:
				c.In(usbredir.Transfer{Endpoint: inEndpoint(p.n), Length: int(b[3])<<4 | int(b[4])})
			case 3:
				c.Out(usbredir.Transfer{Endpoint: outEndpoint(p.n)}, make([]byte, int(b[3])<<4))
			}
			if r := &p.rx; r.n < r.ready || r.n > FIFOSize || r.ready < 0 || p.tx.bytes > maxWaiting {
				t.Fatalf("%d characters, %d ready, %d to send", r.n, r.ready, p.tx.bytes)
			}
			b = b[8:]
		}
	})
}

package rack

import (
	"errors"

	"cnuas/internal/sim"
	"cnuas/modbus/pty"
	"cnuas/modbus/rtu"
)

// tty is the pseudo terminal of a segment: one master, whoever has it open.
type tty struct {
	outlet
	p *pty.PTY
}

func (t *tty) open(s *segment, h *pty.Hub) error {
	p, err := h.Open(s.spec.Line, t.changed)
	if err != nil {
		return err
	}
	t.p = p
	t.init(s, "tty", p.FD(), t)
	return nil
}

// Readable takes what programs have written. The line is looked at for each
// chunk: a program sets it before it writes.
func (t *tty) Readable() {
	for t.room(pty.Chunk) {
		b, flushed, err := t.p.Read()
		if err != nil {
			return
		}
		t.flush(flushed)
		if len(b) == 0 {
			continue
		}
		if m, err := t.p.Mode(); err == nil {
			t.tune(t.line(m))
			if m.Named {
				t.p.Settle() // for the next program; without it this one is none the worse
			}
		}
		t.send(b)
	}
}

// line is what the program has set.
func (t *tty) line(m pty.Mode) rtu.Line {
	if p := t.seg.spec.TTYParity; p != nil {
		m.Line.Parity = *p
	}
	return m.Line
}

// flush does to the wire's queues what a driver does to its own.
func (t *tty) flush(f pty.Flush) {
	if f&pty.FlushOutput != 0 {
		t.m.PurgeSend()
	}
	if f&pty.FlushInput != 0 {
		t.m.PurgeReceived()
	}
}

// changed is told of programs that opened or closed the terminal.
func (t *tty) changed(c pty.Change) {
	if c.Free {
		t.Readable() // the last words
		if !c.Open {
			t.drop()
			t.leave()
		}
		t.m.PurgeReceived()
		if err := t.p.Clear(); err != nil {
			t.seg.rack.logf("segment %s: %v", t.seg.spec.Name, err)
		}
		// Nobody tells of one that came meanwhile.
		c.Open = t.p.Open()
	}
	if c.Open && (c.Free || !t.c.Open) {
		t.c.Opened++
	}
	t.c.Open = c.Open
	if c.Open {
		t.watch()
	} else {
		t.unwatch()
	}
}

// drop forgets what a program that is gone has written and the wire's queue
// does not hold: a flood ends with the one who made it. A program may open the
// terminal at any moment, and what it writes comes behind the flood: from then
// on nothing is dropped.
func (t *tty) drop() {
	for !t.p.Open() {
		b, flushed, err := t.p.Read()
		if err != nil {
			return
		}
		if t.p.Open() {
			t.flush(flushed)
			t.send(b)
			return
		}
		t.c.Dropped += uint64(len(b))
	}
}

// ReceiveChars implements bus.Receiver: what the master hears goes to the
// program, if there is one.
func (t *tty) ReceiveChars(_ sim.Time, c []rtu.Char) {
	if !t.p.Open() {
		t.c.Unheard += uint64(len(c))
		return
	}
	m, err := t.p.Mode()
	if err != nil {
		return
	}
	if m.Cooked {
		// Left by a program that is still there, or by one that restored what
		// another had set. It would echo the reply onto the wire.
		if err := t.p.Raw(); err != nil {
			return
		}
	}
	t.tune(t.line(m))
	b := t.out[:0]
	for _, x := range c {
		v := x.Byte
		if x.Err != 0 {
			t.c.Errors++
			switch {
			case m.Check && m.IgnoreBad:
				continue
			case m.Check:
				v = 0 // termios(3), INPCK without IGNPAR and PARMRK
			}
		}
		b = append(b, v)
	}
	t.out = b[:0]
	n, err := t.p.Write(b)
	t.c.RxBytes += uint64(n)
	if errors.Is(err, pty.ErrFull) {
		t.c.Overruns += uint64(len(b) - n)
	}
}

// tick looks after what no event tells of: a program that only listens and has
// set another line, one that flushed while it was being held up.
func (t *tty) tick() {
	if !t.c.Open {
		return
	}
	if t.blocked && t.p.Flushed() {
		t.resume()
	}
	if m, err := t.p.Mode(); err == nil {
		t.tune(t.line(m))
	}
}

func (t *tty) shut() error {
	t.close()
	return t.p.Close()
}

package ftdi

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
	"cnuas/modbus/usbredir"
)

// receiver is a port's half towards the host. A character waits in the FIFO
// until there are enough for a packet, the event character comes, or the
// latency timer expires, which runs all the time and starts anew with each
// packet (AN232B-04, 3.2). From then on the characters are ready: the next IN
// transfer takes them.
//
// The chip also sends a packet of the two status bytes alone whenever the timer
// expires on an empty FIFO. This one does not: it would say nothing new, and a
// thousand times a second on four idle ports is what an emulated guest can do
// without.
type receiver struct {
	fifo      [FIFOSize]rxChar // ring
	head, n   int
	ready     int      // of n, may be sent
	overrun   bool     // since the last packet
	period    sim.Time // when the latency timer has started last
	purged    sim.Time // characters that ended before are gone
	timer     sim.Timer
	transfers []usbredir.Transfer // that wait, oldest first
	packet    []byte
}

type rxChar struct {
	b   byte
	err rtu.LineError
}

// payload is how many characters a packet has beside its status bytes.
const payload = packetSize - 2

func (r *receiver) reset(now sim.Time) {
	r.clear(now)
	r.period = now
	r.transfers = nil
}

func (r *receiver) clear(now sim.Time) {
	r.head, r.n, r.ready, r.overrun, r.purged = 0, 0, 0, false, now
	r.timer.Stop()
}

func (r *receiver) cancel(t usbredir.Transfer) {
	for i, w := range r.transfers {
		if w == t {
			r.transfers = append(r.transfers[:i], r.transfers[i+1:]...)
			return
		}
	}
}

// ReceiveChars takes characters from the wire, in a burst whose last one has
// ended by now: what is sent when follows from their own times.
func (p *Port) ReceiveChars(now sim.Time, chars []rtu.Char) {
	r := &p.rx
	for _, c := range chars {
		if c.At <= r.purged && r.purged > 0 {
			continue
		}
		p.account(c)
		if due := r.period + p.period(); r.n > r.ready && due < c.At {
			r.ready, r.period = r.n, due // sent before this one came
		}
		if r.n == FIFOSize {
			r.overrun = true
			p.c.Overruns++
			continue
		}
		if r.n == r.ready { // the timer has gone round while there was nothing to send
			r.period += max(0, (c.At-r.period)/p.period()) * p.period()
		}
		r.fifo[(r.head+r.n)%FIFOSize] = rxChar{c.Byte, c.Err}
		r.n++
		if r.n-r.ready >= payload || p.eventOn && c.Byte == p.event {
			r.ready, r.period = r.n, c.At
		}
	}
	switch due := r.period + p.period(); {
	case r.n == r.ready:
		r.timer.Stop()
	case due > now:
		r.timer.Reset(due)
	default:
		r.ready, r.period = r.n, due
		r.timer.Stop()
	}
	p.serve(now)
}

func (p *Port) period() sim.Time { return sim.Time(p.latency) * sim.Millisecond }

func (p *Port) account(c rtu.Char) {
	p.c.RxBytes++
	if c.Err&rtu.ParityError != 0 {
		p.c.ParityErrors++
	}
	if c.Err&rtu.FramingError != 0 {
		p.c.FramingErrors++
	}
	if c.Err&rtu.Break != 0 {
		p.c.Breaks++
	}
}

// flush makes everything ready: the latency timer has expired.
func (p *Port) flush(now sim.Time) {
	p.rx.ready, p.rx.period = p.rx.n, now
	p.rx.timer.Stop()
	p.serve(now)
}

// in takes an IN transfer.
func (p *Port) in(t usbredir.Transfer) {
	p.rx.transfers = append(p.rx.transfers, t)
	p.serve(p.proc.Now())
}

// serve completes IN transfers with what is ready.
func (p *Port) serve(now sim.Time) {
	r := &p.rx
	for r.ready > 0 && len(r.transfers) > 0 {
		t := r.transfers[0]
		r.transfers = append(r.transfers[:0], r.transfers[1:]...)
		r.packet = r.packet[:0]
		// A transfer has whole packets, each with status bytes of its own, until
		// a short one ends it.
		for t.Length-len(r.packet) > 2 && r.ready > 0 {
			if n := p.appendPacket(min(t.Length-len(r.packet), packetSize)); n < packetSize {
				break
			}
		}
		p.c.BulkIn++
		t.Done(usbredir.Success, r.packet)
	}
}

// appendPacket takes up to size-2 characters that are ready. The line status is
// about them all: an error marks the packet, as on the chip.
func (p *Port) appendPacket(size int) int {
	r := &p.rx
	at := len(r.packet)
	r.packet = append(r.packet, p.modemStatus(), p.lineStatus())
	n := min(size-2, r.ready)
	var e rtu.LineError
	for range n {
		c := r.fifo[r.head]
		r.packet = append(r.packet, c.b)
		e |= c.err
		r.head = (r.head + 1) % FIFOSize
	}
	r.n -= n
	r.ready -= n
	if r.overrun {
		e |= rtu.Overrun
		r.overrun = false
	}
	r.packet[at+1] |= errorBits(e)
	return n + 2
}

func errorBits(e rtu.LineError) (b uint8) {
	for _, m := range [...]struct {
		e rtu.LineError
		b uint8
	}{
		{rtu.Overrun, statusOverrun}, {rtu.ParityError, statusParity | statusErrorInRun},
		{rtu.FramingError, statusFraming | statusErrorInRun}, {rtu.Break, statusBreak | statusErrorInRun},
	} {
		if e&m.e != 0 {
			b |= m.b
		}
	}
	return b
}

// purgeReceive forgets what has come.
func (p *Port) purgeReceive() {
	p.c.Discarded += uint64(p.rx.n)
	p.rx.clear(p.proc.Now())
	if p.wire != nil {
		p.wire.PurgeReceived()
	}
}

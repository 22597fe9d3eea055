package ftdi

import (
	"cnuas/internal/sim"
	"cnuas/modbus/usbredir"
)

// transmitter is a port's half towards the wire. A transfer is complete when
// its data are in the FIFO; a host that sends more than the wire takes waits,
// as the chip answers NAK.
type transmitter struct {
	end     sim.Time // of the last character that the wire was given
	char    sim.Time // how long each of those takes
	waiting []outgoing
	bytes   int // in waiting
	timer   sim.Timer
}

type outgoing struct {
	t    usbredir.Transfer
	data []byte
}

// maxWaiting bounds what one port keeps for a host that does not wait, in
// bytes. Drivers have two or three transfers under way.
const maxWaiting = 128 << 10

func (x *transmitter) reset() {
	x.end, x.waiting, x.bytes = 0, nil, 0
	x.timer.Stop()
}

func (x *transmitter) cancel(t usbredir.Transfer) {
	for i, w := range x.waiting {
		if w.t == t {
			x.waiting = append(x.waiting[:i], x.waiting[i+1:]...)
			x.bytes -= len(w.data)
			return
		}
	}
}

// level is how many characters the wire has not begun to send, rounded up.
func (p *Port) level(now sim.Time) int {
	if p.tx.end <= now || p.tx.char == 0 {
		return 0
	}
	return int((p.tx.end - now + p.tx.char - 1) / p.tx.char)
}

// pending is how many characters are still to be sent.
func (p *Port) pending(now sim.Time) int { return p.level(now) + p.tx.bytes }

// out takes an OUT transfer.
func (p *Port) out(t usbredir.Transfer, data []byte) {
	x := &p.tx
	if x.bytes+len(data) > maxWaiting {
		t.Done(usbredir.IOError, nil)
		return
	}
	p.c.BulkOut++
	now := p.proc.Now()
	if len(x.waiting) == 0 && p.level(now)+len(data) <= FIFOSize {
		p.transmit(now, data)
		t.Done(usbredir.Success, nil)
		return
	}
	x.waiting = append(x.waiting, outgoing{t, append([]byte(nil), data...)})
	x.bytes += len(data)
	p.pump(now)
}

// pump moves what waits into the FIFO, a packet at a time, and comes again when
// there is room for the next.
func (p *Port) pump(now sim.Time) {
	x := &p.tx
	for len(x.waiting) > 0 {
		w := &x.waiting[0]
		n := min(len(w.data), packetSize)
		if p.level(now)+n > FIFOSize {
			x.timer.Reset(x.end - sim.Time(FIFOSize-n)*x.char)
			return
		}
		p.transmit(now, w.data[:n])
		w.data = w.data[n:]
		x.bytes -= n
		if len(w.data) == 0 {
			t := w.t
			x.waiting = append(x.waiting[:0], x.waiting[1:]...)
			t.Done(usbredir.Success, nil)
		}
	}
}

// transmit gives characters to the wire. A port without one sends into the air.
func (p *Port) transmit(now sim.Time, data []byte) {
	if len(data) == 0 {
		return
	}
	x := &p.tx
	x.char = p.line.CharTime()
	p.c.TxBytes += uint64(len(data))
	if p.wire == nil {
		x.end = max(x.end, now) + sim.Time(len(data))*x.char
		return
	}
	if n := p.wire.Send(p.line, data); n < len(data) {
		p.chip.log("ftdi: port %d: the segment took %d of %d bytes", p.n+1, n, len(data))
	}
	x.end = p.wire.Drained()
}

// purgeTransmit forgets what has not been sent. Transfers that waited are done:
// the chip has taken and thrown away their data.
func (p *Port) purgeTransmit() {
	x := &p.tx
	now := p.proc.Now()
	p.c.Discarded += uint64(p.pending(now))
	l := x.waiting
	x.reset()
	if p.wire != nil {
		p.wire.PurgeSend()
		x.end = p.wire.Drained() // the character that is going out ends
	}
	for _, w := range l {
		w.t.Done(usbredir.Success, nil)
	}
}

package hca

import (
	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

// loopback carries the packets between queue pairs of one device, as the
// switch inside a NIC does: Ethernet bridges never send a frame back to where
// it came from. It serves one packet at a time at a fixed rate.
type loopback struct {
	list    qpList
	echoes  frame.FIFO // multicasts that come back
	busy    bool
	echoing bool // what is being received is one of echoes
}

const (
	opLoop      = 1
	loopPerByte = 80 * sim.Picosecond // 100 Gb/s
	loopDelay   = 100 * sim.Nanosecond
)

func (l *loopback) push(d *Device, q *QP) {
	l.list.push(q)
	l.start(d)
}

func (l *loopback) start(d *Device) {
	if !l.busy {
		l.busy = true
		d.proc.At(d.eng.Now()+loopDelay, d, opLoop, 0)
	}
}

// run passes one packet on and comes again when its time on the wire is over.
func (l *loopback) run(d *Device) {
	l.busy = false
	if f := l.echoes.Pop(); f != nil {
		l.next(d, f)
		l.echoing = true
		d.receive(f)
		l.echoing = false
		return
	}
	for l.list.head != nil {
		q := l.list.head
		f := q.nextPacket()
		if f == nil {
			if q.list == &l.list {
				q.unready()
			}
			continue
		}
		if l.list.head == q && q.next != nil {
			l.list.remove(q)
			l.list.push(q)
		}
		l.next(d, f)
		d.receive(f)
		return
	}
}

// next has run come again when f is through.
func (l *loopback) next(d *Device, f *frame.Frame) {
	l.busy = true
	d.proc.At(d.eng.Now()+loopDelay+sim.Time(f.Len)*loopPerByte, d, opLoop, 0)
	d.ctr.TxFrames++
	d.ctr.TxBytes += uint64(f.Len)
}

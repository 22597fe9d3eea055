package link

import (
	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

// Kick tells the port that its device may have something to send.
func (p *Port) Kick() {
	if p.waiting || !p.up {
		return
	}
	for {
		now := p.tx.Now()
		if now < p.freeAt {
			if p.back != nil && p.control.Len() == 0 && !p.back.Backlog(p.Index) {
				return // whoever has something later kicks
			}
			p.waiting = true
			p.tx.At(p.freeAt, p, opIdle, 0)
			return
		}
		f := p.control.Pop()
		if f == nil {
			if f = p.dev.Dequeue(p.Index); f == nil {
				return
			}
		}
		p.send(now, f)
	}
}

// SendControl sends f ahead of whatever the device has queued: MAC control
// frames and flow-control packets. It does not wait for a pause.
func (p *Port) SendControl(f *frame.Frame) {
	if !p.up {
		p.pool.Put(f)
		return
	}
	p.control.Push(f)
	p.Kick()
}

func (p *Port) send(now sim.Time, f *frame.Frame) {
	p.freeAt = now + p.Serialization(f)
	p.Counters.TxFrames++
	p.Counters.TxBytes += uint64(f.Len)
	for _, o := range p.observers {
		o.Observe(p, Tx, now, f)
	}
	if p.far != nil {
		p.leave(f)
		return
	}
	if p.loss > 0 && p.lossRand.Chance(p.loss) {
		if !p.peer.keep {
			p.Counters.LossDrops++
			p.pool.Put(f)
			return
		}
		p.Counters.Corrupted++
		f.Meta.Corrupt = true
	}
	q := p.peer
	f.Due = p.freeAt + p.delay + q.latency
	if q.head != 0 {
		f.Meta.Tail = f.Due
		if h := int64(q.head); h < int64(f.Len)+p.over {
			f.Due = now + p.bytesTime(h) + p.delay + q.latency
		}
	}
	q.flight.Push(f)
	if !q.arrive {
		q.arrive = true
		q.arr.At(f.Due, q, opArrive, 0)
	}
}

// approach is the end of send for a frame of a far end.
func (p *Port) approach(f *frame.Frame, due sim.Time) {
	f.Due = due
	if p.head != 0 {
		f.Meta.Tail = due
	}
	p.flight.Push(f)
	if !p.arrive {
		p.arrive = true
		p.arr.At(due, p, opArrive, 0)
	}
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (p *Port) HandleEvent(now sim.Time, op uint32, _ uint64) {
	switch op {
	case opIdle:
		p.waiting = false
		p.Kick()
	case opLeave:
		p.left(now)
	case opArrive:
		p.arrive = false
		f := p.flight.Peek()
		if f == nil {
			return // the link went down under the frame
		}
		if f.Due > now { // went down and came up again meanwhile
			p.arrive = true
			p.arr.At(f.Due, p, opArrive, 0)
			return
		}
		p.flight.Pop()
		if n := p.flight.Peek(); n != nil {
			p.arrive = true
			p.arr.At(n.Due, p, opArrive, 0)
		}
		p.Counters.RxFrames++
		p.Counters.RxBytes += uint64(f.Len)
		for _, o := range p.observers {
			o.Observe(p, Rx, now, f)
		}
		p.dev.Receive(p.Index, f)
	}
}

// LinkWatcher is implemented by a Device that wants to know when a link of one
// of its ports goes down or comes up.
type LinkWatcher interface {
	LinkChanged(port int, up bool)
}

// SetUp takes the whole link down or brings it up again. Frames on either wire
// are lost and counted, as with a cable that is pulled.
func (p *Port) SetUp(up bool) {
	if p.far != nil {
		p.setUpFar(up)
		return
	}
	if p.peer == nil || p.up == up {
		return
	}
	ends := [2]*Port{p, p.peer}
	for _, q := range ends {
		q.up = up
		if !up {
			for f := q.flight.Pop(); f != nil; f = q.flight.Pop() {
				q.peer.Counters.DownDrops++
				q.pool.Put(f)
			}
			q.flushControl()
		}
	}
	for _, q := range ends {
		q.tell(up)
	}
}

func (p *Port) flushControl() {
	for f := p.control.Pop(); f != nil; f = p.control.Pop() {
		p.pool.Put(f)
	}
}

// tell lets the device know.
func (p *Port) tell(up bool) {
	if w, ok := p.dev.(LinkWatcher); ok {
		w.LinkChanged(p.Index, up)
	}
	if up {
		p.Kick()
	}
}

// SetLoss makes the wire that this port sends on drop frames at random with
// probability prob in [0,1]; 0 ends it.
func (p *Port) SetLoss(prob float64) {
	p.loss = prob
	if p.lossRand == nil {
		p.lossRand = p.tx.NewRand(0x1055)
	}
}

// Loss returns the probability that SetLoss set.
func (p *Port) Loss() float64 { return p.loss }

// AddObserver lets o see the port's frames from now on.
func (p *Port) AddObserver(o Observer) { p.observers = append(p.observers, o) }

// RemoveObserver ends what AddObserver began.
func (p *Port) RemoveObserver(o Observer) {
	for i, x := range p.observers {
		if x == o {
			p.observers = append(p.observers[:i:i], p.observers[i+1:]...)
			return
		}
	}
}

// InFlight is the number of frames on their way to this port.
func (p *Port) InFlight() int { return p.flight.Len() }

package link

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

// Far is what joins a port to a port that is not on this engine: a tunnel. It
// takes the place of the second port of a link. All calls are made by the
// engine's thread.
type Far interface {
	// Carry takes ownership of a frame whose last byte has left the port and
	// travelled for the link's delay. Meta.Corrupt marks one that an injected
	// loss hit: it is to arrive spoilt, or not at all.
	Carry(f *frame.Frame)
	// Plug tells that the cable was pulled out of this end, or put in again:
	// Port.SetUp.
	Plug(in bool)
}

// ConnectFar joins a port to a far end. The link is down until Carrier says
// that somebody is there. Rate and delay are those of what this port sends.
func ConnectFar(p *Port, far Far, c Config) error {
	if c.Rate <= 0 || c.Delay < 0 {
		return fmt.Errorf("link %s: rate %d b/s and delay %v: the rate must be positive and the delay not negative", p.Name, c.Rate, c.Delay)
	}
	if p.Connected() {
		return fmt.Errorf("link %s: a port has one link", p.Name)
	}
	p.far, p.delay = far, c.Delay
	p.setRate(c.Rate)
	return nil
}

// Connected tells whether the port has a link, to a port of this engine or to a
// far end.
func (p *Port) Connected() bool { return p.peer != nil || p.far != nil }

// PeerName is the name of the port at the other end.
func (p *Port) PeerName() string {
	if p.peer != nil {
		return p.peer.Name
	}
	return p.FarName
}

// Carrier tells that somebody is at the far end, or nobody any more.
func (p *Port) Carrier(on bool) {
	p.carrier = on
	p.plug()
}

// Plugged tells whether the cable is in this end of a link to a far end.
func (p *Port) Plugged() bool { return !p.pulled }

// setUpFar is SetUp of a link to a far end, which hears of it in its own way.
func (p *Port) setUpFar(up bool) {
	if p.pulled != up {
		return
	}
	p.pulled = !up
	p.far.Plug(up)
	p.plug()
}

// plug makes the link as up as both ends have it.
func (p *Port) plug() {
	up := p.carrier && !p.pulled
	if p.up == up {
		return
	}
	p.up = up
	if !up {
		p.lose(&p.out)
		p.lose(&p.flight)
		p.flushControl()
	}
	p.tell(up)
}

// lose drops what is on a wire.
func (p *Port) lose(q *frame.FIFO) {
	for f := q.Pop(); f != nil; f = q.Pop() {
		p.Counters.DownDrops++
		p.pool.Put(f)
	}
}

// leave puts a frame on the way to the far end. As with the frames that are on
// their way to a port, only the first of them is in the engine.
func (p *Port) leave(f *frame.Frame) {
	if p.loss > 0 && p.lossRand.Chance(p.loss) {
		p.Counters.Corrupted++
		f.Meta.Corrupt = true
	}
	f.Due = p.freeAt + p.delay
	p.out.Push(f)
	if !p.leaving {
		p.leaving = true
		p.tx.At(f.Due, p, opLeave, 0)
	}
}

// left is the event of leave.
func (p *Port) left(now sim.Time) {
	p.leaving = false
	f := p.out.Peek()
	if f == nil {
		return // the link went down under the frame
	}
	if f.Due <= now {
		p.out.Pop()
		p.Counters.Carried++
		p.far.Carry(f)
		if f = p.out.Peek(); f == nil || p.leaving {
			return
		}
	}
	p.leaving = true
	p.tx.At(f.Due, p, opLeave, 0)
}

// Deliver is how the far end's frames arrive: whole, and now. The latency of
// the port comes on top. On a link that is down the frame is lost.
func (p *Port) Deliver(f *frame.Frame) {
	p.Counters.Delivered++
	if !p.up {
		p.Counters.DownDrops++
		p.pool.Put(f)
		return
	}
	p.approach(f, p.arr.Now()+p.latency)
}

// Departing is the number of frames on their way to the far end.
func (p *Port) Departing() int { return p.out.Len() }

// Package ibtest has what tests of InfiniBand devices have in common: an end
// that sends what it is told and receives as fast or slowly as it is told, in
// the place of a channel adapter, and packets and MADs for it.
package ibtest

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// End is the fake end: one port and its owner.
type End struct {
	Port *ibport.Port

	Service sim.Time                  // time to process a packet, which keeps its buffer meanwhile
	Keep    bool                      // remember the packets received, in Log
	Log     []string                  // "time len slid>dlid vl" of packets received, VL15 as well
	MADs    []mad.Packet              // copies of the MADs received
	Hook    func(f *frame.Frame) bool // sees a packet first; true: it took it
	Rcvd    uint64                    // packets received on data lanes
	Bytes   uint64                    // of them, LRH to VCRC
	BySLID  map[wire.LID]uint64       // packets
	FECN    uint64                    // packets that were marked
	Last    sim.Time                  // arrival of the last one
	Events  []ibport.Event            // of the port
	States  []mad.PortState           // that the port went through
	Made    uint64                    // packets made for flows
	flows   [16]*Flow                 // by lane
	queue   [16]frame.FIFO            // packets given to Send
	work    frame.FIFO                // received, not processed
	pool    *frame.Pool
	e       *sim.Engine
	proc    *sim.Proc
}

// Flow is a source of packets of one kind.
type Flow struct {
	Packet
	Left int // packets to send; negative: without end
	next *frame.Frame
}

// NewEnd returns an end with a port of the given configuration.
func NewEnd(e *sim.Engine, pool *frame.Pool, cfg ibport.Config) *End {
	x := &End{e: e, pool: pool, proc: e.NewProc(), BySLID: map[wire.LID]uint64{}}
	cfg.Node = mad.NodeCA
	if cfg.Num == 0 {
		cfg.Num = 1
	}
	p, err := ibport.New(e, pool, x, cfg)
	if err != nil {
		panic(err)
	}
	x.Port = p
	return x
}

// Send queues a packet for a lane and offers it.
func (x *End) Send(vl uint8, f *frame.Frame) {
	x.queue[vl].Push(f)
	x.Port.Offer(vl)
}

// Start begins a flow on a lane, in place of what was there.
func (x *End) Start(vl uint8, f *Flow) {
	x.flows[vl] = f
	x.Port.Offer(vl)
}

// Head implements ibport.Owner.
func (x *End) Head(_ *ibport.Port, vl uint8) *frame.Frame {
	if f := x.queue[vl].Peek(); f != nil {
		return f
	}
	w := x.flows[vl]
	if w == nil || w.next == nil && w.Left == 0 {
		return nil
	}
	if w.next == nil {
		w.Left--
		x.Made++
		w.next = w.Make(x.pool)
		w.next.SetVL(vl)
	}
	return w.next
}

// Take implements ibport.Owner.
func (x *End) Take(p *ibport.Port, vl uint8) *frame.Frame {
	if x.queue[vl].Len() > 0 {
		return x.queue[vl].Pop()
	}
	f := x.Head(p, vl)
	if f != nil {
		x.flows[vl].next = nil
	}
	return f
}

// Arrive implements ibport.Owner.
func (x *End) Arrive(p *ibport.Port, f *frame.Frame) {
	x.Last = x.e.Now()
	m := &f.Meta.IB
	if m.VL != wire.VL15 {
		x.Rcvd++
		x.Bytes += uint64(f.Len)
		x.BySLID[m.SLID]++
		if m.BTH != 0 && wire.BTH(f.Data[m.BTH:]).FECN() {
			x.FECN++
		}
	}
	if x.Keep {
		x.Log = append(x.Log, fmt.Sprintf("%d %d %d>%d vl%d", x.e.Now(), f.Len, m.SLID, m.DLID, m.VL))
		if b := MAD(f); b != nil {
			x.MADs = append(x.MADs, append(mad.Packet(nil), b...))
		}
	}
	if x.Hook != nil && x.Hook(f) {
		return
	}
	if x.Service == 0 {
		p.Release(f)
		x.pool.Put(f)
		return
	}
	x.work.Push(f)
	if x.work.Len() == 1 {
		x.proc.At(x.e.Now()+x.Service, x, 0, 0)
	}
}

// HandleEvent implements sim.Handler: a packet is processed.
func (x *End) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	f := x.work.Pop()
	x.Port.Release(f)
	x.pool.Put(f)
	if x.work.Len() > 0 {
		x.proc.At(now+x.Service, x, 0, 0)
	}
}

// StateChanged implements ibport.Owner.
func (x *End) StateChanged(p *ibport.Port, _, to mad.PortState) {
	x.States = append(x.States, to)
	if to == mad.PortActive {
		for vl := range x.queue {
			if x.Head(p, uint8(vl)) != nil {
				p.Offer(uint8(vl))
			}
		}
	}
}

// PortEvent implements ibport.Owner.
func (x *End) PortEvent(_ *ibport.Port, e ibport.Event) { x.Events = append(x.Events, e) }

// Drop throws away what waits to be sent.
func (x *End) Drop() {
	for vl := range x.queue {
		for f := x.queue[vl].Pop(); f != nil; f = x.queue[vl].Pop() {
			x.pool.Put(f)
		}
		if w := x.flows[vl]; w != nil {
			w.Left = 0
			if w.next != nil {
				x.pool.Put(w.next)
				w.next = nil
				x.Made--
			}
		}
	}
}

// Activate sets LID and states of a port in Init as a subnet manager would.
func (x *End) Activate(lid wire.LID) {
	for _, s := range []mad.PortState{mad.PortArmed, mad.PortActive} {
		if x.Port.State() < s {
			Set(x.Port, s, func(a *mad.PortInfo) { a.LID = lid })
		}
	}
}

// Set changes a port as a SubnSet of PortInfo would; it panics if that is not
// legal.
func Set(p *ibport.Port, s mad.PortState, change func(*mad.PortInfo)) {
	a := p.Info()
	a.PortState, a.PortPhysicalState = s, 0
	a.LinkWidthEnabled, a.LinkSpeedEnabled, a.LinkSpeedExtEnabled = 0, 0, 0
	if change != nil {
		change(&a)
	}
	if st := p.Set(&a); st != mad.StatusOK {
		panic(fmt.Sprintf("%s: set of PortInfo: %v", p.Name(), st))
	}
}

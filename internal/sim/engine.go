// Package sim is the discrete-event engine under every fabric.
//
// Time is an argument: nothing in this package, or above it up to the fabric,
// reads a clock. The same engine runs a scenario to its end as fast as it can
// (virtual time) or is told by a pacer how far the wall clock has come (real
// and scaled time).
//
// Events are totally ordered by (time, process, sequence within the process).
// The order is part of the model: two runs of one scenario are identical byte
// for byte, and a change of the tie rule changes golden results.
//
// The engine is not safe for concurrent use.
package sim

import "fmt"

// Handler receives events. op and arg are the ones given to Proc.At; an event
// carries no closure, so that scheduling allocates nothing.
type Handler interface {
	HandleEvent(now Time, op uint32, arg uint64)
}

// entry is what the heap moves: small, so that a sift touches few cache lines.
type entry struct {
	t    Time
	key  uint64 // process id << seqBits | sequence
	slot uint32
}

type body struct {
	h   Handler
	arg uint64
	op  uint32
}

const seqBits = 40 // 10^12 events of one process; 2^24 processes

// Engine holds the clock and the pending events of one fabric.
type Engine struct {
	now   Time
	heap  []entry
	slots []body
	free  []uint32
	procs uint64
	seed  uint64
	fired uint64
}

// NewEngine returns an engine at time zero. The seed determines every random
// stream of every process.
func NewEngine(seed uint64) *Engine { return &Engine{seed: seed} }

// Now is the time of the event being handled, or the time that the last
// RunUntil or Advance reached.
func (e *Engine) Now() Time { return e.now }

// Fired counts the events handled since the engine was made.
func (e *Engine) Fired() uint64 { return e.fired }

// Pending counts the events that wait.
func (e *Engine) Pending() int { return len(e.heap) }

// Next returns the time of the earliest pending event; false if there is none.
func (e *Engine) Next() (Time, bool) {
	if len(e.heap) == 0 {
		return Forever, false
	}
	return e.heap[0].t, true
}

// RunUntil handles every event with a time not after t and leaves the clock at t.
func (e *Engine) RunUntil(t Time) {
	for e.RunSome(t, 1<<30) {
	}
}

// RunSome is RunUntil bounded to max events, for a pacer that must look at
// other work between them. It reports whether due events are left; only when
// none are does the clock move on to t.
func (e *Engine) RunSome(t Time, max int) bool {
	for len(e.heap) > 0 && e.heap[0].t <= t {
		if max == 0 {
			return true
		}
		max--
		x := e.pop()
		e.now = x.t
		e.fired++
		b := e.slots[x.slot]
		e.slots[x.slot].h = nil
		e.free = append(e.free, x.slot)
		b.h.HandleEvent(x.t, b.op, b.arg)
	}
	if e.now < t {
		e.now = t
	}
	return false
}

// Advance moves the clock towards t, but not past the next event. Work that
// enters from outside (a doorbell, a frame of a kernel) is stamped with the
// time it arrived and not with that of the last event.
func (e *Engine) Advance(t Time) {
	if len(e.heap) > 0 && e.heap[0].t < t {
		t = e.heap[0].t
	}
	if t > e.now {
		e.now = t
	}
}

// Proc is one process in the total order of events: a node's identity, its way
// to schedule and its source of random streams. A link port uses one Proc for
// what it sends and another for what arrives.
type Proc struct {
	eng *Engine
	id  uint64
	seq uint64
}

// NewProc returns the next process. Ids follow the order of creation, so a
// topology that is built in one order behaves in one way.
func (e *Engine) NewProc() *Proc {
	e.procs++
	return &Proc{eng: e, id: e.procs}
}

// Now is the engine's time.
func (p *Proc) Now() Time { return p.eng.now }

// Engine returns the engine that p belongs to.
func (p *Proc) Engine() *Engine { return p.eng }

// At schedules an event for h at time t. An event in the past is a broken
// invariant of the caller and panics.
func (p *Proc) At(t Time, h Handler, op uint32, arg uint64) {
	e := p.eng
	if t < e.now {
		panic(fmt.Sprintf("sim: process %d schedules %v before now %v (seed %d)", p.id, t, e.now, e.seed))
	}
	p.seq++
	var s uint32
	if n := len(e.free); n > 0 {
		s = e.free[n-1]
		e.free = e.free[:n-1]
	} else {
		s = uint32(len(e.slots))
		e.slots = append(e.slots, body{})
	}
	e.slots[s] = body{h: h, arg: arg, op: op}
	e.push(entry{t: t, key: p.id<<seqBits | p.seq, slot: s})
}

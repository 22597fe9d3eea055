// Package link moves frames between two ports at a finite rate and with a
// delay, in order. It knows nothing of what the frames mean.
//
// A link is two directed wires. A wire keeps the frames that are in flight in
// a queue of its own and has only the first of them in the engine, so that a
// long fast link costs the engine one event, not thousands.
package link

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

// Device owns ports. Both calls are made by the engine's thread only.
type Device interface {
	// Receive takes ownership of a frame that has arrived whole.
	Receive(port int, f *frame.Frame)
	// Dequeue hands out the next frame to send, or nil. The port asks when its
	// wire is idle, so the device chooses at the last moment.
	Dequeue(port int) *frame.Frame
}

// Backlogger is implemented by a Device that can tell cheaply whether it holds
// anything for a port. The port then asks for the next frame only if there may
// be one, which saves the event at the end of a frame that nothing follows: a
// quarter of all events where a flow meets no queue.
type Backlogger interface {
	Backlog(port int) bool
}

// Rate is a bit rate in bits per second; always finite and above zero.
type Rate int64

// Units of Rate.
const (
	Mbps Rate = 1_000_000
	Gbps      = 1000 * Mbps
)

// BitTime returns the time that n bits take, rounded to the picosecond.
func (r Rate) BitTime(n int64) sim.Time {
	const ps = int64(sim.Second)
	if n < (1<<63-1)/ps {
		return sim.Time(n * ps / int64(r))
	}
	return sim.Time(float64(n) * float64(ps) / float64(r))
}

// String prints the rate as a topology file would.
func (r Rate) String() string {
	switch {
	case r >= Gbps && r%(Gbps/10) == 0:
		return fmt.Sprintf("%gGbps", float64(r)/float64(Gbps))
	case r%Mbps == 0:
		return fmt.Sprintf("%dMbps", r/Mbps)
	}
	return fmt.Sprintf("%dbps", int64(r))
}

// Direction tells an Observer which way a frame went through the port.
type Direction uint8

// The two directions, as seen from the port that is observed.
const (
	Tx Direction = iota
	Rx
)

// Observer sees every frame that begins to leave or has arrived at a port. It
// must not keep the frame.
type Observer interface {
	Observe(p *Port, d Direction, now sim.Time, f *frame.Frame)
}

// Counters of one port. Lengths count from destination address to FCS.
type Counters struct {
	TxFrames, TxBytes uint64
	RxFrames, RxBytes uint64
	LossDrops         uint64 // sent by this port, dropped by an injected loss
	Corrupted         uint64 // sent by this port, damaged by an injected loss and received all the same
	DownDrops         uint64 // were on the wire of this port when the link went down
	Carried           uint64 // given to the far end; see ConnectFar
	Delivered         uint64 // that came from it
}

// Port is one end of a link.
type Port struct {
	Name     string // as users write it: "s1:1", "h1:eth0"
	Index    int    // the port's number in its device
	FarName  string // of the port at a far end, for messages
	Counters Counters

	dev  Device
	back Backlogger // dev, if it is one
	pool *frame.Pool
	tx   *sim.Proc // orders what this port sends
	arr  *sim.Proc // orders what arrives at this port, apart from what it sends
	peer *Port
	far  Far // what is in the place of peer, if the other port is not on this engine

	rate  Rate
	perB  sim.Time // picoseconds per byte, when that is a whole number
	delay sim.Time
	over  int64 // bytes of a frame's time on the wire besides its Len

	// How frames are delivered here: see SetArrival, KeepCorrupt.
	head    int32
	latency sim.Time
	keep    bool

	up      bool
	waiting bool     // an idle event is in the engine
	freeAt  sim.Time // when the wire becomes idle
	control frame.FIFO
	flight  frame.FIFO // frames on their way to this port; only the head is in the engine
	arrive  bool       // an arrival event is in the engine

	// Of a link to a far end.
	out             frame.FIFO // frames on their way there; only the head is in the engine
	leaving         bool       // an event of out is in the engine
	pulled, carrier bool

	loss      float64
	lossRand  *sim.Rand
	observers []Observer
}

const (
	opIdle = iota
	opArrive
	opLeave
)

// NewPort returns port number index of dev, not connected. Both processes of
// the port are taken from e now: build in a fixed order.
func NewPort(e *sim.Engine, pool *frame.Pool, dev Device, index int, name string) *Port {
	p := &Port{Name: name, Index: index, dev: dev, pool: pool, tx: e.NewProc(), arr: e.NewProc(), over: frame.Overhead}
	p.back, _ = dev.(Backlogger)
	return p
}

// Config describes both directions of a link.
type Config struct {
	Rate  Rate     // bits per second; must be positive
	Delay sim.Time // propagation, not negative
}

// Connect joins two ports and brings the link up.
func Connect(a, b *Port, c Config) error {
	if c.Rate <= 0 || c.Delay < 0 {
		return fmt.Errorf("link %s - %s: rate %d b/s and delay %v: the rate must be positive and the delay not negative", a.Name, b.Name, c.Rate, c.Delay)
	}
	if a.Connected() || b.Connected() || a == b {
		return fmt.Errorf("link %s - %s: a port has one link", a.Name, b.Name)
	}
	for _, p := range []*Port{a, b} {
		p.delay, p.up = c.Delay, true
		p.setRate(c.Rate)
	}
	a.peer, b.peer = b, a
	return nil
}

func (p *Port) setRate(r Rate) {
	p.rate, p.perB = r, 0
	if t := r.BitTime(8); t*sim.Time(r) == 8*sim.Second {
		p.perB = t
	}
}

// SetRate changes the rate of both directions of a connected link, which must
// be positive, for the frames that are sent from now on. To a far end it is that
// of the one direction.
func (p *Port) SetRate(r Rate) {
	p.setRate(r)
	if p.peer != nil {
		p.peer.setRate(r)
	}
}

// SetOverhead says how many bytes of a frame's time on the wire come on top of
// its Len, for what this port sends: a new port has those of Ethernet. It is
// called before there is traffic.
func (p *Port) SetOverhead(n int64) { p.over = n }

// SetArrival makes frames be delivered to this port's device when their first
// head bytes have arrived, 0 for all, and latency later: cut-through, and the
// delay of a pipeline that keeps the order, for no event more. Meta.Tail then
// says when the last byte is through the same pipeline. It is called before
// there is traffic.
func (p *Port) SetArrival(head int32, latency sim.Time) {
	p.head, p.latency = head, latency
}

// KeepCorrupt makes frames that an injected loss hits arrive at this port,
// marked Meta.Corrupt, for a receiver that counts them.
func (p *Port) KeepCorrupt() { p.keep = true }

// Rate of the link in bits per second; 0 if not connected.
func (p *Port) Rate() Rate { return p.rate }

// Delay is the propagation delay of the link.
func (p *Port) Delay() sim.Time { return p.delay }

// Peer is the other end; nil if not connected, or to a far end.
func (p *Port) Peer() *Port { return p.peer }

// Up tells whether frames can pass.
func (p *Port) Up() bool { return p.up }

// Proc is the process that orders what this port sends; timers of the port's
// device that belong to the port use it.
func (p *Port) Proc() *sim.Proc { return p.tx }

// Serialization is the time that f occupies the wire, with preamble and gap.
func (p *Port) Serialization(f *frame.Frame) sim.Time {
	return p.bytesTime(int64(f.Len) + p.over)
}

func (p *Port) bytesTime(n int64) sim.Time {
	if p.perB != 0 {
		return sim.Time(n) * p.perB
	}
	return p.rate.BitTime(8 * n)
}

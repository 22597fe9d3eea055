// Package ibagent has the management agents that every InfiniBand device
// carries: the subnet management agent on QP0, which also forwards
// directed-route SMPs and sends traps, and performance management on QP1. A
// switch and a channel adapter share it; what it needs of them is small and
// declared here.
//
// An agent answers in the packet that asked. It takes a time for each MAD and
// one after the other, as firmware does.
//
// Read IBTA vol. 1 chapters 13, 14 and 16 before editing.
package ibagent

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Node is the device that an agent speaks for.
type Node interface {
	// Port returns a port: 0 is a switch's own, nil none.
	Port(n int) *ibport.Port
	// SendVL15 takes a packet to be sent on VL15 by an external port.
	SendVL15(port int, f *frame.Frame)
	// SendLID takes a packet to be sent where its DLID says: by the given port of
	// a channel adapter, by the forwarding table of a switch. Its VL is set if it
	// is VL15.
	SendLID(port int, f *frame.Frame)
}

// Switch is what a node has besides if it forwards; nil for others.
type Switch interface {
	SwitchInfo() mad.SwitchInfo
	SetSwitchInfo(a *mad.SwitchInfo) mad.Status
	// The blocks of the forwarding tables (IBTA vol. 1 §14.2.5.10, §14.2.5.12).
	// They report false for a block that does not exist.
	LFTBlock(block int, a *mad.LinearForwarding) bool
	SetLFTBlock(block int, a *mad.LinearForwarding) bool
	MFTBlock(block, position int, a *mad.MulticastForwarding) bool
	SetMFTBlock(block, position int, a *mad.MulticastForwarding) bool
}

// Congestion answers MADs of congestion control (class 0x21); nil: not
// supported.
type Congestion interface {
	// HandleCC does what a Get or Set asks: it reads and writes the data of m.
	HandleCC(m mad.Packet) mad.Status
}

// Client takes the MADs that an agent does not answer itself: for a subnet
// manager, or for programs.
type Client interface {
	// ReceiveMAD takes ownership of a packet for QP0 or QP1. It came in by port.
	ReceiveMAD(port int, f *frame.Frame)
}

// DefaultLatency is the default of Config.Latency.
const DefaultLatency = sim.Microsecond

// maxQueue is how many GMPs may wait for the agent.
const maxQueue = 128

// Config of an Agent.
type Config struct {
	Info    mad.NodeInfo // PortGUID and LocalPortNum are filled in by port
	Desc    string       // NodeDescription, at most 63 bytes
	Switch  Switch
	CC      Congestion
	Latency sim.Time // of the answer to a MAD, and of its forwarding; 0: DefaultLatency
}

// Agent is the agents of one node.
type Agent struct {
	cfg    Config
	node   Node
	pool   *frame.Pool
	proc   *sim.Proc
	client Client
	desc   mad.NodeDescription

	queue frame.FIFO // MADs to be handled
	gmps  int        // of those, GMPs
	busy  bool       // an event for the head of the queue is in the engine

	lease  []sim.Timer // of the M_Key, by port; a switch has one
	traps  [maxTraps]trap
	resend sim.Timer
	tid    uint64
	pma    []views // by port

	Count Counters
}

// Counters of an agent.
type Counters struct {
	SMPs, GMPs    uint64 // handled
	Forwarded     uint64 // directed-route SMPs
	Discarded     uint64 // malformed, nowhere to go, wrong key, or nobody wants it
	Traps, Resent uint64
	Repressed     uint64
}

// Operations of Agent.HandleEvent.
const (
	opHandle = iota // the MAD at the head of the queue
	opLease         // arg: port
	opResend        // traps are to be repeated
)

// New returns the agents of a node with ports 1 to Info.NumPorts, and 0 if it
// is a switch.
func New(e *sim.Engine, pool *frame.Pool, node Node, cfg Config) *Agent {
	if cfg.Latency == 0 {
		cfg.Latency = DefaultLatency
	}
	a := &Agent{cfg: cfg, node: node, pool: pool, proc: e.NewProc(), tid: 1}
	a.desc.SetString(cfg.Desc)
	n := int(cfg.Info.NumPorts) + 1
	a.lease = make([]sim.Timer, n)
	for i := range a.lease {
		a.lease[i].Init(a.proc, a, opLease, uint64(i))
	}
	a.pma = make([]views, n)
	a.resend.Init(a.proc, a, opResend, 0)
	return a
}

// SetClient attaches who takes the MADs that the agent does not answer; nil:
// nobody.
func (a *Agent) SetClient(c Client) { a.client = c }

// SetDescription changes the NodeDescription, as a driver does when the host
// gets its name, and tells the subnet manager (trap 144).
func (a *Agent) SetDescription(s string) {
	a.desc.SetString(s)
	a.changed(mad.TrapChangeData{OtherLocalChanges: true, ChangeFlags: 1})
}

// Description is the NodeDescription.
func (a *Agent) Description() string { return a.desc.String() }

// Info is the node's NodeInfo, without what differs from port to port.
func (a *Agent) Info() mad.NodeInfo { return a.cfg.Info }

// Arrive takes a packet that came in by a port: one on VL15, or one for QP1.
func (a *Agent) Arrive(p *ibport.Port, f *frame.Frame) {
	if f.Meta.IB.VL != wire.VL15 {
		p.Release(f)
		if a.gmps >= maxQueue {
			p.CountQP1Dropped()
			a.pool.Put(f)
			return
		}
		a.gmps++
	}
	a.enqueue(f)
}

// Send takes a MAD of the node's own: from its subnet manager, from a program.
// port is where it leaves, 0 for a switch's own. A directed-route SMP has hop
// pointer 0, or is a response.
func (a *Agent) Send(port int, f *frame.Frame) {
	f.Meta.InPort = int16(port)
	if m := packetMAD(f); f.Meta.IB.VL == wire.VL15 && m != nil && m.Class() == mad.ClassSubnDirected && f.Meta.IB.DLID == wire.LIDPermissive {
		if mad.SMP(m).HopCount() == 0 && !mad.SMP(m).Returning() { // to the node itself
			f.Meta.Host = true
			a.enqueue(f)
			return
		}
		a.directed(f, mad.SMP(m), true)
		return
	}
	a.sendLID(port, f)
}

// enqueue lets a MAD wait for its turn.
func (a *Agent) enqueue(f *frame.Frame) {
	a.queue.Push(f)
	if !a.busy {
		a.busy = true
		a.proc.At(a.proc.Now()+a.cfg.Latency, a, opHandle, 0)
	}
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (a *Agent) HandleEvent(now sim.Time, op uint32, arg uint64) {
	switch op {
	case opHandle:
		f := a.queue.Pop()
		a.handle(f)
		if a.busy = a.queue.Len() > 0; a.busy {
			a.proc.At(now+a.cfg.Latency, a, opHandle, 0)
		}
	case opLease:
		if p := a.node.Port(int(arg)); p != nil {
			p.MKeyExpired()
		}
	case opResend:
		a.repeat(now)
	}
}

func (a *Agent) handle(f *frame.Frame) {
	if f.Meta.IB.VL != wire.VL15 {
		a.gmps--
		a.Count.GMPs++
		a.general(f)
		return
	}
	a.Count.SMPs++
	if p := a.node.Port(int(f.Meta.InPort)); p != nil && f.Meta.InPort != 0 && !f.Meta.Host {
		p.Release(f)
	}
	f.Meta.Host = false
	m := packetMAD(f)
	switch {
	case m == nil || !m.Class().Subn() || m.BaseVersion() != mad.BaseVersion:
		a.discard(f)
	case m.Class() == mad.ClassSubnDirected:
		a.directed(f, mad.SMP(m), false)
	default:
		a.subnet(f, mad.SMP(m))
	}
}

func (a *Agent) discard(f *frame.Frame) {
	a.Count.Discarded++
	a.pool.Put(f)
}

// toClient hands a packet to who wants it.
func (a *Agent) toClient(f *frame.Frame) {
	if a.client == nil {
		a.discard(f)
		return
	}
	a.client.ReceiveMAD(int(f.Meta.InPort), f)
}

// sendLID sends a packet by its DLID, which may be the node's own.
func (a *Agent) sendLID(port int, f *frame.Frame) {
	if p := a.node.Port(port); p != nil && p.HasLID(f.Meta.IB.DLID) {
		f.Meta.InPort, f.Meta.Host = int16(port), true // came by no wire: holds no buffer
		if f.Meta.IB.VL != wire.VL15 {
			a.gmps++
		}
		a.enqueue(f)
		return
	}
	a.node.SendLID(port, f)
}

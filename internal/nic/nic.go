// Package nic is a node's emulated Ethernet port. Two parties send through it,
// as on a kernel-bypass NIC: the node's kernel, whose frames wait here by
// priority, and the node's HCA, which is asked for a frame at the last moment.
// Both obey priority-based flow control; neither loses a frame to it.
//
// Read IEEE 802.1Q-2018 clauses 8.6.8 and 36 before editing.
package nic

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/qdisc"
	"cnuas/internal/sim"
)

// Source is an HCA: it sends and receives RoCE frames.
type Source interface {
	// Ready is the set of priorities in which a frame waits, bit n for n.
	Ready() uint8
	// Next takes the next frame of a priority; nil if there is none after all.
	Next(prio int) *frame.Frame
	// Receive takes ownership of a frame addressed to this node.
	Receive(f *frame.Frame)
	// LinkChanged tells that the link went down or came up.
	LinkChanged(up bool)
}

// Host is the node's kernel behind its TAP.
type Host interface {
	// Deliver takes ownership of a frame for the kernel.
	Deliver(f *frame.Frame)
	// Resume tells that Accepts is true again after it was false.
	Resume()
	// LinkChanged tells that the link went down or came up.
	LinkChanged(up bool)
}

// DefaultHostBuffer is the default of Config.HostBuffer in bytes.
const DefaultHostBuffer = 16 << 20

// Config of a NIC.
type Config struct {
	Name       string           // as users write it: "h1:eth0"
	MAC        [6]byte          // a unicast address
	Classifier qdisc.Classifier // priority of the kernel's frames
	Scheduler  qdisc.Config
	HostBuffer int64 // bytes of kernel frames held before Accepts is false; 0: DefaultHostBuffer
	IgnorePFC  bool  // a sick NIC that does not stop; received PFC is counted all the same

	RoCE       *RoCERule   // what RoCE frames of the kernel get; nil: they leave as they came
	Congestion *Congestion // congestion points for the kernel's RoCE; nil: none
}

// NIC is one port of a node; it implements link.Device and link.LinkWatcher.
type NIC struct {
	cfg   Config
	pool  *frame.Pool
	port  *link.Port
	pause link.Pause
	src   Source
	host  Host

	sched   qdisc.Scheduler
	queue   [8]frame.FIFO // the kernel's frames
	waiting uint8         // priorities with a frame in queue
	held    int64         // bytes in queue
	full    bool          // Accepts is false
	lead    [8]int32      // bytes that the HCA is ahead of the kernel in a priority

	choosing bool // in Dequeue
	kicked   bool // Kick was called meanwhile

	storm  storm
	points *points // nil unless configured
	count  Counters
}

// New returns a NIC that is not connected to a link. It panics if the
// configuration is not valid, which the topology has checked before.
func New(e *sim.Engine, pool *frame.Pool, cfg Config) *NIC {
	if err := cfg.Classifier.Validate(); err != nil {
		panic(fmt.Sprintf("nic %s: %v", cfg.Name, err))
	}
	if cfg.MAC[0]&1 != 0 {
		panic(fmt.Sprintf("nic %s: address % x is not unicast", cfg.Name, cfg.MAC))
	}
	if cfg.HostBuffer <= 0 {
		cfg.HostBuffer = DefaultHostBuffer
	}
	n := &NIC{cfg: cfg, pool: pool}
	n.port = link.NewPort(e, pool, n, 0, cfg.Name)
	n.pause.Init(n.port)
	n.pause.Ignore = cfg.IgnorePFC
	n.sched.Init(cfg.Scheduler)
	n.storm.init(n)
	if cfg.Congestion != nil {
		n.points = newPoints(n, *cfg.Congestion)
	}
	return n
}

// Port is the NIC's only port, index 0.
func (n *NIC) Port() *link.Port { return n.port }

// Pause is the state of flow control at this port: what the peer has stopped.
func (n *NIC) Pause() *link.Pause { return &n.pause }

// MAC is the port's address.
func (n *NIC) MAC() [6]byte { return n.cfg.MAC }

// Queued is the bytes of the kernel's frames that wait here.
func (n *NIC) Queued() int64 { return n.held }

// SetSource attaches the HCA; nil detaches it, and RoCE frames go to the kernel.
func (n *NIC) SetSource(s Source) { n.src = s }

// SetHost attaches the kernel; nil detaches it, and its frames are dropped.
func (n *NIC) SetHost(h Host) { n.host = h }

// Kick tells the NIC that Source.Ready may have become other than zero.
func (n *NIC) Kick() {
	if n.choosing {
		n.kicked = true
		return
	}
	n.port.Kick()
}

// LinkChanged implements link.LinkWatcher. What the kernel had queued is lost
// with the carrier; the HCA keeps its own frames and retransmits.
func (n *NIC) LinkChanged(_ int, up bool) {
	n.pause.Clear()
	if !up {
		n.flush()
	}
	n.storm.linkChanged(up)
	if n.src != nil {
		n.src.LinkChanged(up)
	}
	if n.host != nil {
		n.host.LinkChanged(up)
	}
}

// Package ibport is one port of an InfiniBand device, switch or channel
// adapter: training, port states, credits, virtual lanes, partition
// enforcement, PortInfo and the counters of performance management. It stands
// on link.Port, from which it has rate, delay, errors and observers; what the
// port's device is, it does not know.
//
// Nothing is ever dropped for want of a buffer: a packet leaves only when the
// receiver has granted credits for it. What a device drops all the same (a
// packet too old, a port that is down, a wrong P_Key) has a counter.
//
// Time on the wire: a packet takes its bytes from LRH to VCRC and two of
// delimiters at the data rate, after line coding. With cut-through a packet is
// delivered when its headers are there; the link does that, so that it costs
// no event. What follows from it is in Config.CutThrough.
//
// Read IBTA vol. 1 chapter 7 and §14.2.5.6 before editing.
package ibport

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Owner is the device that a port belongs to. All calls come on the engine's
// thread.
type Owner interface {
	// Arrive takes ownership of a packet. It occupies the buffer of its lane
	// until Port.Release.
	Arrive(p *Port, f *frame.Frame)
	// Head returns the packet that is next to leave by p on a lane, which stays
	// where it is; nil if there is none. The same one is returned until Take.
	Head(p *Port, vl uint8) *frame.Frame
	// Take hands out what Head returned: it leaves now.
	Take(p *Port, vl uint8) *frame.Frame
	// StateChanged tells that the port's logical state changed from one to
	// another. When it is Down nothing that waits to leave can.
	StateChanged(p *Port, from, to mad.PortState)
	// PortEvent tells of what else happened.
	PortEvent(p *Port, e Event)
}

// Waiter is implemented by an Owner that makes packets when Head asks for them:
// Waits tells whether there may be one more, without making it. The port then
// asks Head only when the wire is free.
type Waiter interface {
	Waits(p *Port, vl uint8) bool
}

// Event is something that an agent or a consumer wants to know of a port.
type Event uint8

// Events of a port.
const (
	EventLinkIntegrity Event = iota // trap 129 (IBTA vol. 1 §14.2.5.1)
	EventBufferOverrun              // trap 130
	EventWatchdog                   // trap 131
	EventBadPKey                    // a packet's P_Key was refused; see Port.BadPKey
	EventLID                        // LID or LMC were set to another value
	EventSM                         // MasterSMLID or MasterSMSL were
	EventReregister                 // the SM asks clients to register anew
	EventPKeys                      // the P_Key table changed
	EventGUIDs                      // the GUID table or the prefix changed
	EventVLs                        // a SL2VL table or OperationalVLs changed
)

// Port is one port. It implements link.Device, link.Backlogger and
// link.LinkWatcher.
type Port struct {
	cfg   Config
	owner Owner
	wait  Waiter // owner, if it is one
	pool  *frame.Pool
	link  *link.Port // nil: port 0 of a switch
	proc  *sim.Proc
	peer  *Port
	far   Far // what is in the place of peer if that is not on this engine

	phys   phys
	state  mad.PortState
	watch  func(from, to mad.PortState)
	enable bool // ActiveEnable (IBTA vol. 1 §7.2.7): normal flow control came since Init

	set      settings
	pkeys    []uint16
	guids    []wire.GUID
	badPKey  BadPKey
	sl2vl    []slTable // CA: one; switch: by input port, 0 the switch itself
	ownSL2VL bool      // nobody has set a table: it follows OperationalVLs

	lanes   [15]lane
	cap     int32  // blocks of each lane's receive buffer
	grain   uint16 // gain in credits that is announced unless they run out
	mtuCost uint16 // blocks of the largest packet
	reach   uint16 // credits that the peer may use while new ones are on their way
	maxLen  int32  // of a packet, LRH to VCRC
	vls     uint8  // operational data lanes
	flow    flow
	relax   relaxed

	arb       arbiter
	waiting   uint16 // lanes for which the owner has something, VL15 too
	starved   uint16 // of those, without credits for it
	choosing  bool
	kicked    bool
	waitSince sim.Time  // since when something waits and nothing can go; Forever: not
	timer     sim.Timer // a head becomes too old, or can be sent on
	held15    int       // VL15 packets in the buffer

	count counters
}

// Operations of Port.HandleEvent.
const (
	opSignal  = iota // arg: what the peer says
	opTrain          // a phase of training is over
	opRefresh        // flow control packets are due
	opWake           // a head is too old, or has arrived so far that it can be sent on
)

// New returns a port that is not connected. Processes are taken from e now:
// build in a fixed order. The error names what in the configuration is wrong.
func New(e *sim.Engine, pool *frame.Pool, owner Owner, cfg Config) (*Port, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("port %s: %w", cfg.Name, err)
	}
	p := &Port{cfg: cfg, owner: owner, pool: pool, proc: e.NewProc(), state: mad.PortDown}
	p.wait, _ = owner.(Waiter)
	p.waitSince = sim.Forever
	if cfg.Num != 0 || cfg.Node != mad.NodeSwitch {
		p.link = link.NewPort(e, pool, p, int(cfg.Num), cfg.Name)
		p.link.SetOverhead(Overhead)
		p.link.KeepCorrupt()
		head := int32(0)
		if cfg.CutThrough {
			head = headBytes
		}
		p.link.SetArrival(head, cfg.Latency)
	}
	p.phys.timer.Init(p.proc, p, opTrain, 0)
	p.flow.timer.Init(p.proc, p, opRefresh, 0)
	p.timer.Init(p.proc, p, opWake, 0)
	p.cap = int32(cfg.BufferBytes / wire.FlowBlock)
	p.grain = uint16(min(p.cap, wire.FlowMaxCredit) / 4)
	for i := range p.lanes {
		p.lanes[i].starvedAt = sim.Forever
	}
	p.initSettings()
	p.initTables()
	if p.link == nil {
		p.state, p.phys.state = mad.PortActive, mad.PhysLinkUp
	} else {
		p.phys.state = mad.PhysPolling
	}
	return p, nil
}

// Connect joins two ports with a cable of the given delay and begins training.
func Connect(a, b *Port, delay sim.Time) error {
	if a.link == nil || b.link == nil {
		return fmt.Errorf("link %s - %s: port 0 of a switch has no link", a.cfg.Name, b.cfg.Name)
	}
	if err := link.Connect(a.link, b.link, link.Config{Rate: DataRate(mad.Width1X, mad.SpeedSDR, 0), Delay: delay}); err != nil {
		return err
	}
	a.peer, b.peer = b, a
	a.cable(true)
	b.cable(true)
	return nil
}

// Link is the port's end of the wire: observers, injected loss, SetUp for a
// cable that is pulled. nil for port 0 of a switch.
func (p *Port) Link() *link.Port { return p.link }

// Peer is the port at the other end; nil if there is none on this engine.
func (p *Port) Peer() *Port { return p.peer }

// Name is the port's name.
func (p *Port) Name() string { return p.cfg.Name }

// Num is the port's number: 1 to 254, 0 of a switch for its own.
func (p *Port) Num() uint8 { return p.cfg.Num }

// GUID is the PortGUID.
func (p *Port) GUID() wire.GUID { return p.guids[0] }

// State is the logical state.
func (p *Port) State() mad.PortState { return p.state }

// PhysState is the physical state.
func (p *Port) PhysState() mad.PhysState { return p.phys.state }

// LinkChanged implements link.LinkWatcher: the cable was pulled or put in.
func (p *Port) LinkChanged(_ int, up bool) { p.cable(up) }

// HandleEvent implements sim.Handler; only the engine calls it.
func (p *Port) HandleEvent(now sim.Time, op uint32, arg uint64) {
	switch op {
	case opSignal:
		p.hear(unpackSignal(arg))
	case opTrain:
		p.trained()
	case opRefresh:
		p.refresh(now)
	case opWake:
		p.expire(now)
	}
}

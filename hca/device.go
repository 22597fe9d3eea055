package hca

import (
	"math/rand/v2"

	"cnuas/hca/transport"
	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// GIDEntry is an entry of the port's GID table. All are of type RoCE v2.
type GIDEntry struct {
	GID   GID
	Valid bool
}

// Event is an asynchronous event of a context.
type Event struct {
	Type EventType
	Port uint8 // events of a port
	CQ   *CQ   // events of a completion queue
	QP   *QP   // events of a queue pair
	SRQ  *SRQ  // events of a shared receive queue
}

// Device is an HCA with one port, RoCEv2 or InfiniBand. With RoCEv2 it is a
// nic.Source: the node's NIC pulls frames from it and hands it those that
// arrive. With InfiniBand its port is one of a CA.
type Device struct {
	cfg   Config
	eng   *sim.Engine
	proc  *sim.Proc
	pool  *frame.Pool
	batch *Batch
	auto  bool // no batch was given: effects apply at once
	keys  *rand.ChaCha8
	rand  *sim.Rand
	kick  func()

	gids [MaxGIDs]GIDEntry
	nGID int // the valid ones lie below
	up   bool
	mtu  uint8 // code of the active MTU of a RoCE port
	ib   *ibSide
	mads MADSink

	watch func()

	contexts []*Context
	qps      qpTable
	mrs      mrTable
	groups   map[group][]*QP // queue pairs by the multicast group that they are attached to

	nPD, nCQ, nSRQ, nAH, nAttached int

	active    []*QP // what Sweep looks at
	ready     [lanes]qpList
	readyMask uint16
	own       [lanes]frame.FIFO // packets of no queue pair of a program
	loop      loopback
	depth     int // entry points that are being carried out
	wantKick  bool
	pulling   bool // in Next: the NIC must not be kicked

	slab     *frame.Slab // shared by small gathers
	slabUsed int
	segs     []Segment // of the gather or scatter being put together
	probe    []Segment
	word     [8]byte
	pieces   [1][]byte

	ctr  Counters
	turn uint64 // sweeps so far
	wqes uint64 // send work requests looked at
}

// New returns a device without GIDs. batch collects what the device does to
// programs' memories and queues until it is committed; several devices of an
// engine share one. With batch nil effects apply at once.
func New(e *sim.Engine, pool *frame.Pool, batch *Batch, cfg Config) *Device {
	cfg.setDefaults()
	d := &Device{
		cfg: cfg, eng: e, proc: e.NewProc(), pool: pool, batch: batch,
		keys: rand.NewChaCha8(cfg.KeySeed), up: true, kick: func() {}, groups: map[group][]*QP{},
	}
	if batch == nil {
		d.batch, d.auto = NewBatch(), true
	}
	d.rand = d.proc.NewRand(0x4ca)
	d.mtu = activeMTU(cfg.MTU)
	d.qps.init(cfg.MaxQP)
	d.mrs.init()
	return d
}

// overhead is what RoCEv2 needs of an IP packet besides its payload: IPv6, UDP,
// BTH, the longest extension header (AtomicETH) and ICRC.
const overhead = 40 + 8 + 12 + 28 + 4

func activeMTU(ip int) uint8 {
	m := uint8(1)
	for m < 5 && 256<<m+overhead <= ip {
		m++
	}
	return m
}

// Name of the device.
func (d *Device) Name() string { return d.cfg.Name }

// Config returns the configuration with its defaults filled in.
func (d *Device) Config() *Config { return &d.cfg }

// ActiveMTU is the code of the port's MTU: 1 for 256 bytes to 5 for 4096.
func (d *Device) ActiveMTU() uint8 {
	if d.ib != nil {
		return uint8(d.ib.port.MTU())
	}
	return d.mtu
}

// datagramMTU is how long a datagram may be, in bytes. The subnet manager sets
// the MTU of an InfiniBand port, maybe after the queue pair was made ready.
func (d *Device) datagramMTU() uint32 { return transport.MTUBytes(d.ActiveMTU()) }

// QPs is the number of queue pairs that exist.
func (d *Device) QPs() int {
	n := 0
	for _, c := range d.contexts {
		n += len(c.qps)
	}
	return n
}

// WQEs is the number of send work requests that the device has taken up in all.
func (d *Device) WQEs() uint64 { return d.wqes }

// Up tells whether the port's link is up.
func (d *Device) Up() bool { return d.up }

// SetKick gives the function that is called when Ready may have become
// non-zero.
func (d *Device) SetKick(f func()) { d.kick = f }

// SetWatch gives the function that is called when something of the port has
// changed that a Get of PortInfo shows, or its tables; nil: none. It must not
// wait, and not call back.
func (d *Device) SetWatch(f func()) { d.watch = f }

func (d *Device) changed() {
	if d.watch != nil {
		d.watch()
	}
}

// SetIsSM sets and clears IsSM in the port's CapabilityMask, which tells that a
// subnet manager runs behind it, and tells the master by trap 144 (IBTA vol. 1
// §14.4.1). A RoCE port has none.
func (d *Device) SetIsSM(on bool) {
	if d.ib == nil {
		return
	}
	var v mad.CapMask
	if on {
		v = mad.CapIsSM
	}
	if d.ib.port.SetCapMask(mad.CapIsSM, v) {
		d.ib.ca.agent.CapMaskChanged()
		d.changed()
	}
}

// SetGID sets an entry of the GID table: index 0 is the link-local GID, 1 the
// IPv4-mapped one. An index outside the table is ignored.
func (d *Device) SetGID(index int, g GIDEntry) {
	if index < 0 || index >= MaxGIDs || !d.setGID(index, g) {
		return
	}
	d.enter()
	d.broadcast(Event{Type: EventGIDChange, Port: 1})
	d.leave()
}

// setGID is SetGID without the event. It reports whether the entry was another.
func (d *Device) setGID(index int, g GIDEntry) bool {
	if d.gids[index] == g {
		return false
	}
	d.gids[index] = g
	for d.nGID = MaxGIDs; d.nGID > 0 && !d.gids[d.nGID-1].Valid; {
		d.nGID--
	}
	return true
}

// GIDs returns the GID table. The caller does not change it.
func (d *Device) GIDs() []GIDEntry { return d.gids[:] }

// LinkChanged tells the device that its port's link went down or came up.
func (d *Device) LinkChanged(up bool) {
	if d.up == up {
		return
	}
	d.up = up
	t := EventPortErr
	if up {
		t = EventPortActive
	}
	d.enter()
	d.broadcast(Event{Type: t, Port: 1})
	d.wantKick = true
	d.leave()
}

// send tells the NIC that there is something to send. Without a link it is
// sent into nothing, as hardware does: queue pairs go on, their timers run, and
// programs get their errors when the retries are used up.
func (d *Device) send() {
	if d.up {
		d.kick()
		if d.readyMask&(1<<laneNone) != 0 {
			d.sink(laneNone)
		}
		return
	}
	for lane := range d.ready {
		d.sink(lane)
	}
}

// sink sends what waits on a lane into nothing.
func (d *Device) sink(lane int) {
	for d.readyMask&(1<<lane) != 0 {
		f := d.Next(lane)
		if f == nil {
			break
		}
		d.ctr.TxLinkDown++
		d.pool.Put(f)
	}
}

func (d *Device) broadcast(e Event) {
	for _, c := range d.contexts {
		if c.async != nil {
			c.async(e)
		}
	}
}

// Counters returns a copy of the device's counters.
func (d *Device) Counters() Counters { return d.ctr }

// enter begins what leave ends: every entry point of the device.
func (d *Device) enter() { d.depth++ }

// leave does what was put off until the device's state is consistent. The NIC
// pulls first: what fails then is a completion of this batch.
func (d *Device) leave() {
	for d.depth == 1 {
		if d.wantKick && !d.pulling {
			d.wantKick = false
			d.send()
		}
		if d.auto || d.batch.full {
			d.batch.Commit()
		}
		if !d.wantKick || d.pulling {
			break
		}
	}
	d.depth--
}

const opKick = 0 // and opLoop

// HandleEvent implements sim.Handler; only the engine calls it.
func (d *Device) HandleEvent(_ sim.Time, op uint32, _ uint64) {
	d.enter()
	if op == opKick {
		d.wantKick = true
	} else {
		d.loop.run(d)
	}
	d.leave()
}

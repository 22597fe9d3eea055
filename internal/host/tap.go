package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Limits of a TAP's MTU: the least that IPv4 permits (RFC 791) and what the
// tun driver permits: 65535 less an Ethernet header.
const (
	MinMTU = 68
	MaxMTU = 65521
)

// TAPConfig describes a node's interface.
type TAPConfig struct {
	Name string  // such as eth0
	MAC  [6]byte // unicast; not used with Layer3
	MTU  int     // MinMTU to MaxMTU; 0 for 1500

	Addrs  []netip.Prefix // addresses with their on-link prefix
	Routes []Route

	// Layer3 makes a tun device: packets have no Ethernet header and neighbours
	// are not resolved by the kernel. It has no link-local address of its own:
	// the one in Addrs counts.
	Layer3 bool

	// Index is the interface index to take, 1 or more; 0 leaves it to the
	// kernel, which counts from 2 in each namespace.
	Index int

	// TxQueueLen is the number of frames that the kernel holds for the fabric
	// when a port is paused; 0 for DefaultTxQueueLen. Kernels may permit less:
	// the TAP then takes what it gets, see TAP.TxQueueLen.
	TxQueueLen int
}

// DefaultTxQueueLen is ample for a pause of 100 ms at 10 Gb/s of full frames.
// Without backpressure (see TAP.Backpressure) the tun driver drops silently
// beyond it, and the qdisc in front never fills.
const DefaultTxQueueLen = 100000

// Route is a route by a gateway; the prefix 0.0.0.0/0 or ::/0 is the default.
type Route struct {
	Dst netip.Prefix
	Via netip.Addr
}

// TAP is an interface of a node's kernel whose wire is this program: what the
// kernel sends is read, what is written the kernel receives. Read, Write and
// the counters belong to one thread; the other methods to any.
type TAP struct {
	ns    *NS
	cfg   TAPConfig
	fd    int
	index int
	qlen  int
	bp    bool   // the driver stops the qdisc when the ring is full
	qdisc string // kind of the root qdisc
	lost  qdiscLoss
	c     TAPCounters
}

// AddTAP makes the interface in the namespace, sets it up and brings it up,
// with carrier.
func (n *NS) AddTAP(cfg TAPConfig) (*TAP, error) {
	if cfg.MTU == 0 {
		cfg.MTU = 1500
	}
	if cfg.TxQueueLen == 0 {
		cfg.TxQueueLen = DefaultTxQueueLen
	}
	t := &TAP{ns: n, cfg: cfg, fd: -1}
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := n.In(t.open); err != nil {
		return nil, t.wrap(err)
	}
	if err := t.setup(); err != nil {
		t.Close()
		return nil, t.wrap(err)
	}
	return t, nil
}

func (t *TAP) wrap(err error) error {
	return fmt.Errorf("tap %s in %s: %w", t.cfg.Name, t.ns.name, err)
}

// check finds what would make water.New fail: it keeps a descriptor open for
// good each time.
func (t *TAP) check() error {
	c := &t.cfg
	if err := ValidIfName(c.Name); err != nil {
		return err
	}
	if c.MTU < MinMTU || c.MTU > MaxMTU {
		return t.wrap(fmt.Errorf("mtu %d is not in %d to %d", c.MTU, MinMTU, MaxMTU))
	}
	if !c.Layer3 && (c.MAC[0]&1 != 0 || c.MAC == [6]byte{}) {
		return t.wrap(fmt.Errorf("%v is not the address of one station (IEEE 802 clause 8.2)", net.HardwareAddr(c.MAC[:])))
	}
	if _, err := t.ns.nl.LinkByName(c.Name); err == nil {
		return t.wrap(ErrExists)
	} else if !errors.As(err, new(netlink.LinkNotFoundError)) {
		return t.wrap(fmt.Errorf("look for the name: %w", err))
	}
	return nil
}

// Name is the name of the interface.
func (t *TAP) Name() string { return t.cfg.Name }

// Index is its interface index in the namespace.
func (t *TAP) Index() int { return t.index }

// FD is the descriptor to poll; it stays owned by t.
func (t *TAP) FD() int { return t.fd }

// MTU is the interface's MTU in bytes.
func (t *TAP) MTU() int { return t.cfg.MTU }

// MAC is the interface's address.
func (t *TAP) MAC() [6]byte { return t.cfg.MAC }

// TxQueueLen is the number of frames that the kernel really holds.
func (t *TAP) TxQueueLen() int { return t.qlen }

// Backpressure tells whether a full ring stops the qdisc in front of it (Linux
// 7.3), so that a paused port makes the kernel's senders wait: the kernel then
// holds twice TxQueueLen frames, and beyond that a sender whose socket buffer
// is full blocks. Without it frames beyond TxQueueLen are dropped.
func (t *TAP) Backpressure() bool { return t.bp }

// Qdisc is the kind of the interface's root qdisc as it was set up: "pfifo", or
// what the kernel put there itself ("fq_codel") if it cannot be had. fq_codel
// drops frames that wait long, as they do while a port is paused.
func (t *TAP) Qdisc() string { return t.qdisc }

// SetMTU changes the interface's MTU. It may take a while: do not call it on
// the thread that reads.
func (t *TAP) SetMTU(mtu int) error {
	l, err := t.ns.nl.LinkByIndex(t.index)
	if err == nil {
		err = t.ns.nl.LinkSetMTU(l, mtu)
	}
	if err != nil {
		return t.wrap(fmt.Errorf("set mtu %d: %w", mtu, err))
	}
	return nil
}

// Close destroys the interface. Stop polling it first.
func (t *TAP) Close() error {
	if t.fd < 0 {
		return nil
	}
	fd := t.fd
	t.fd = -1
	return unix.Close(fd)
}

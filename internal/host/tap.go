package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/songgao/water"
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
	MAC  [6]byte // unicast
	MTU  int     // MinMTU to MaxMTU; 0 for 1500

	Addrs  []netip.Prefix // addresses with their on-link prefix
	Routes []Route

	// TxQueueLen is the number of frames that the kernel holds for the fabric
	// when a port is paused; 0 for DefaultTxQueueLen. Kernels may permit less:
	// the TAP then takes what it gets, see TAP.TxQueueLen.
	TxQueueLen int
}

// DefaultTxQueueLen is ample for a pause of 100 ms at 10 Gb/s of full frames.
// The tun driver drops silently beyond it, the qdisc in front never fills.
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
	if c.MAC[0]&1 != 0 || c.MAC == [6]byte{} {
		return t.wrap(fmt.Errorf("%v is not the address of one station (IEEE 802 clause 8.2)", net.HardwareAddr(c.MAC[:])))
	}
	if _, err := t.ns.nl.LinkByName(c.Name); err == nil {
		return t.wrap(ErrExists)
	} else if !errors.As(err, new(netlink.LinkNotFoundError)) {
		return t.wrap(fmt.Errorf("look for the name: %w", err))
	}
	return nil
}

// open is called on a thread in the namespace: the interface belongs to the
// namespace in which /dev/net/tun was opened.
func (t *TAP) open() error {
	if err := tunUsable(); err != nil {
		return err
	}
	// water opens without O_CLOEXEC. Until the descriptor is replaced no child
	// may be started: it would keep the interface alive. os/exec and syscall
	// take the write side of this lock to fork.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	cfg := water.Config{DeviceType: water.TAP}
	cfg.Name = t.cfg.Name
	w, err := water.New(cfg)
	if err != nil {
		return fmt.Errorf("create: %w%s", err, remedy(err))
	}
	defer w.Close()
	file, ok := w.ReadWriteCloser.(syscall.Conn)
	if !ok {
		return fmt.Errorf("create: %T gives no descriptor", w.ReadWriteCloser)
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	var dup error
	err = raw.Control(func(fd uintptr) {
		t.fd, dup = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3)
	})
	if err = errors.Join(err, dup); err != nil {
		return fmt.Errorf("create: duplicate the descriptor: %w", err)
	}
	return unix.SetNonblock(t.fd, true)
}

// tunUsable opens the control device and closes it again.
func tunUsable() error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, os.ErrNotExist), err == unix.ENXIO, err == unix.ENODEV:
		return fmt.Errorf("open /dev/net/tun: %w (modprobe tun; in a container, pass --device /dev/net/tun)", err)
	case err != nil:
		return fmt.Errorf("open /dev/net/tun: %w%s", err, remedy(err))
	}
	return unix.Close(fd)
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

// Close destroys the interface. Stop polling it first.
func (t *TAP) Close() error {
	if t.fd < 0 {
		return nil
	}
	fd := t.fd
	t.fd = -1
	return unix.Close(fd)
}

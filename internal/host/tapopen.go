package host

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/songgao/water"
	"golang.org/x/sys/unix"
)

// iffBackpressure makes the driver stop the qdisc in front of a full ring
// instead of dropping (IFF_BACKPRESSURE of linux/if_tun.h, Linux 7.3). Older
// kernels ignore the bit, so TUNGETFEATURES has to be asked.
const iffBackpressure = 0x0080

// open is called on a thread in the namespace: the interface belongs to the
// namespace in which /dev/net/tun was opened.
func (t *TAP) open() error {
	features, err := tunFeatures()
	if err != nil {
		return err
	}
	if t.cfg.Index != 0 {
		if err := t.reserve(); err != nil {
			t.remove()
			return err
		}
	}
	if features&iffBackpressure == 0 {
		return t.create(false)
	}
	// water passes a fixed set of flags. It makes an interface that survives
	// its descriptor; attaching to that one sets the flags anew. Killed between
	// the two, the interface goes with its namespace.
	if err = t.create(true); err == nil {
		err = t.attach()
	}
	if err != nil {
		t.remove()
	}
	return err
}

// tunFeatures opens the control device, asks what the driver can do and closes
// it again.
func tunFeatures() (uint32, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, os.ErrNotExist), err == unix.ENXIO, err == unix.ENODEV:
		return 0, fmt.Errorf("open /dev/net/tun: %w (modprobe tun; in a container, pass --device /dev/net/tun)", err)
	case err != nil:
		return 0, fmt.Errorf("open /dev/net/tun: %w%s", err, remedy(err))
	}
	defer unix.Close(fd)
	f, err := unix.IoctlGetUint32(fd, unix.TUNGETFEATURES)
	if err != nil {
		return 0, fmt.Errorf("ask for the features of /dev/net/tun: %w", err)
	}
	return f, nil
}

// create makes the interface. It keeps a descriptor, or makes the interface
// persistent and keeps none.
func (t *TAP) create(persistent bool) error {
	// water opens without O_CLOEXEC. Until the descriptor is replaced no child
	// may be started: it would keep the interface alive. os/exec and syscall
	// take the write side of this lock to fork.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	cfg := water.Config{DeviceType: water.TAP}
	if t.cfg.Layer3 {
		cfg.DeviceType = water.TUN
	}
	cfg.Name, cfg.Persist = t.cfg.Name, persistent
	w, err := water.New(cfg)
	if err != nil {
		return fmt.Errorf("create: %w%s", err, remedy(err))
	}
	defer w.Close()
	if persistent {
		return nil
	}
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
	if t.cfg.Index != 0 {
		if err := unix.IoctlSetInt(t.fd, unix.TUNSETPERSIST, 0); err != nil {
			return fmt.Errorf("bind to the descriptor: %w", err)
		}
	}
	return unix.SetNonblock(t.fd, true)
}

// kind is the flag of the device's layer.
func (t *TAP) kind() uint16 {
	if t.cfg.Layer3 {
		return unix.IFF_TUN
	}
	return unix.IFF_TAP
}

// reserve makes the interface with its index, which water cannot ask for, so
// that it survives the descriptor; what attaches to it next ends that.
func (t *TAP) reserve() error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/net/tun: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETIFINDEX, t.cfg.Index); err != nil {
		return fmt.Errorf("ask for index %d: %w", t.cfg.Index, err)
	}
	req, err := unix.NewIfreq(t.cfg.Name)
	if err != nil {
		return err
	}
	req.SetUint16(t.kind() | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return fmt.Errorf("create with index %d: %w%s", t.cfg.Index, err, remedy(err))
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
		return fmt.Errorf("keep for a moment: %w", err)
	}
	return nil
}

// attach opens the persistent interface again with backpressure, and lets it
// live as long as the descriptor.
func (t *TAP) attach() error {
	req, err := unix.NewIfreq(t.cfg.Name)
	if err != nil {
		return err
	}
	if t.fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
		t.fd = -1
		return fmt.Errorf("open /dev/net/tun: %w", err)
	}
	req.SetUint16(t.kind() | unix.IFF_NO_PI | iffBackpressure)
	if err = unix.IoctlIfreq(t.fd, unix.TUNSETIFF, req); err != nil {
		return fmt.Errorf("attach: %w%s", err, remedy(err))
	}
	if err = unix.IoctlIfreq(t.fd, unix.TUNGETIFF, req); err != nil {
		return fmt.Errorf("ask for the flags: %w", err)
	}
	t.bp = req.Uint16()&iffBackpressure != 0
	if err = unix.IoctlSetInt(t.fd, unix.TUNSETPERSIST, 0); err != nil {
		return fmt.Errorf("bind to the descriptor: %w", err)
	}
	return nil
}

// remove takes away what a failed open has left, persistent or not.
func (t *TAP) remove() {
	t.Close()
	if l, err := t.ns.nl.LinkByName(t.cfg.Name); err == nil {
		t.ns.nl.LinkDel(l)
	}
}

func backpressureLine(t *TAP) string {
	if t.Backpressure() {
		return "backpressure"
	}
	return "no backpressure (Linux 7.3 has it)"
}

package pty

import (
	"errors"
	"fmt"

	"cnuas/internal/poll"
	"cnuas/modbus/rtu"

	"golang.org/x/sys/unix"
)

// PTY is one pseudo terminal. It is used by one thread. No method blocks.
type PTY struct {
	master int
	path   string
	hub    *Hub
	wd     int32 // of the hub's watch, -1 while there is none
	count  int   // clients that have it open, by the watch
	notify func(Change)

	touched, free bool // in Drain
	buf           [1 + Chunk]byte
}

// Chunk is how much Read takes at most: two frames of the largest size.
const Chunk = 512

// Path is the node that clients open, "/dev/pts/N".
func (p *PTY) Path() string { return p.path }

// FD is the master side, to be watched for reading. It reports a hang-up while
// no client has the terminal open, and has to be watched anew after a Change.
func (p *PTY) FD() int { return p.master }

// Open tells whether a client has it open now.
func (p *PTY) Open() bool {
	got, err := poll.Now(p.master, 0)
	return err == nil && got&unix.POLLHUP == 0
}

// Mode reads what the clients have set.
func (p *PTY) Mode() (Mode, error) {
	t, err := unix.IoctlGetTermios(p.master, unix.TCGETS2)
	if err != nil {
		return Mode{}, fmt.Errorf("pty: %s: %w", p.path, err)
	}
	return modeOf(t), nil
}

// Raw puts a cooked line discipline back to raw and leaves the rest of what
// the clients have set.
func (p *PTY) Raw() error {
	return p.change(func(t *unix.Termios) bool {
		if !modeOf(t).Cooked {
			return false
		}
		setRaw(t)
		return true
	})
}

// Settle makes the rate that a client has set by its name a number, so that the
// next client may set it too. Call it when a client has written: it has made
// its settings by then.
func (p *PTY) Settle() error {
	return p.change(func(t *unix.Termios) bool {
		if !modeOf(t).Named {
			return false
		}
		setNumber(t)
		return true
	})
}

// change changes the clients' settings: the calls on the master are about the
// slave's termios.
func (p *PTY) change(f func(*unix.Termios) bool) error {
	t, err := unix.IoctlGetTermios(p.master, unix.TCGETS2)
	if err == nil && f(t) {
		err = unix.IoctlSetTermios(p.master, unix.TCSETS2, t)
	}
	if err != nil {
		return fmt.Errorf("pty: %s: %w", p.path, err)
	}
	return nil
}

// create makes the terminal: raw, at the line given, with nobody on it.
func (p *PTY) create(l rtu.Line) error {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("pty: /dev/ptmx: %w (is devpts mounted, and kernel.pty.max not reached?)", err)
	}
	p.master = fd
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		return fmt.Errorf("pty: TIOCGPTN: %w", err)
	}
	p.path = fmt.Sprintf("/dev/pts/%d", n)
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("pty: unlock %s: %w", p.path, err)
	}
	err = p.change(func(t *unix.Termios) bool {
		t.Iflag = 0
		setRaw(t)
		setLine(t, l)
		return true
	})
	if err != nil {
		return err
	}
	// A slave that was open once: from its close on the master says so when
	// nobody has it.
	return p.Clear()
}

// Clear throws away what the last client left: replies that it did not read,
// exclusive mode, a stopped line, a cooked mode. Rate, parity and stop bits
// stay as those of a port do: "stty -F" is a client too. Of a client that opens
// it during the call no Change tells; ask Open afterwards.
func (p *PTY) Clear() error {
	p.hub.unwatch(p)
	err := p.clear()
	if e := p.hub.watch(p); err == nil {
		err = e
	}
	return err
}

func (p *PTY) clear() error {
	// The master cannot discard what is in the slave's line discipline, and
	// exclusive mode belongs to the slave as well.
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(p.master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK)
	if errno != 0 {
		return fmt.Errorf("pty: %s: open the slave: %w", p.path, errno)
	}
	s := int(fd)
	defer unix.Close(s)
	// First what is on its way to the line discipline, then what is in it. The
	// flush is none of a client's, so packet mode is off meanwhile.
	err := errors.Join(
		unix.IoctlSetPointerInt(p.master, unix.TIOCPKT, 0),
		unix.IoctlSetInt(p.master, unix.TCFLSH, unix.TCOFLUSH),
		unix.IoctlSetInt(s, unix.TCFLSH, unix.TCIFLUSH),
		unix.IoctlSetInt(s, unix.TCXONC, unix.TCOON),
		unix.IoctlSetInt(s, unix.TIOCNXCL, 0),
		unix.IoctlSetPointerInt(p.master, unix.TIOCPKT, 1))
	if err != nil {
		return fmt.Errorf("pty: %s: clear: %w", p.path, err)
	}
	return errors.Join(p.Raw(), p.Settle())
}

// Close ends the terminal: a client that has it open reads an end of file.
func (p *PTY) Close() error {
	if p.master < 0 {
		return nil
	}
	p.hub.unwatch(p)
	err := unix.Close(p.master)
	p.master = -1
	if err != nil {
		return fmt.Errorf("pty: close %s: %w", p.path, err)
	}
	return nil
}

package rdmacm

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// tty is the daemon's half of an open rdma_cm file. To the program the file is
// the slave of a pseudoterminal: librdmacm wants a character device, which
// programs hand to poll and epoll before they have written anything. It is
// readable while there are events; its end is the hang-up of the master.
type tty struct {
	master int
	hup    *os.File // the same, for waiting until the program has closed its end

	mu     sync.Mutex
	has    bool // a byte waits for the program
	closed bool
}

// fileID identifies an open file of a program.
type fileID struct{ dev, ino uint64 }

// newTTY makes the pair. The caller closes the slave once the program has it.
func newTTY() (t *tty, slave int, id fileID, err error) {
	t = &tty{}
	t.master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, -1, id, fmt.Errorf("pseudoterminal: %w", err)
	}
	slave, err = t.setup()
	if err != nil {
		unix.Close(t.master)
		return nil, -1, id, fmt.Errorf("pseudoterminal: %w", err)
	}
	var st unix.Stat_t
	dup := -1
	if err = unix.Fstat(slave, &st); err == nil {
		dup, err = unix.FcntlInt(uintptr(t.master), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		unix.Close(t.master)
		unix.Close(slave)
		return nil, -1, id, fmt.Errorf("pseudoterminal: %w", err)
	}
	t.hup = os.NewFile(uintptr(dup), "rdma_cm") // non-blocking: the runtime polls it
	return t, slave, fileID{uint64(st.Dev), st.Ino}, nil
}

// setup unlocks the slave, opens it and makes it raw, so that each byte counts.
func (t *tty) setup() (slave int, err error) {
	if err := unix.IoctlSetPointerInt(t.master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, err
	}
	if slave, err = t.peer(0); err != nil {
		return -1, err
	}
	m, err := unix.IoctlGetTermios(slave, unix.TCGETS)
	if err == nil {
		m.Iflag, m.Oflag, m.Lflag, m.Cflag = 0, 0, 0, unix.CS8|unix.CREAD
		m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
		err = unix.IoctlSetTermios(slave, unix.TCSETS, m)
	}
	if err != nil {
		unix.Close(slave)
		return -1, err
	}
	return slave, nil
}

// peer opens the slave.
func (t *tty) peer(flags int) (int, error) {
	fd, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(t.master), unix.TIOCGPTPEER, uintptr(flags|unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY))
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}

// sync makes the file readable if want says so, else not. want is asked again
// after each change, so that whoever calls last has the last word.
func (t *tty) sync(want func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.closed && want() != t.has {
		if t.has {
			t.drain()
			t.has = false
		} else {
			if _, err := unix.Write(t.master, []byte{1}); err != nil {
				return // the program is gone
			}
			t.has = true
		}
	}
}

// drain takes the byte back. Between write and read it passes through a worker
// of the kernel's, so that it may have to be waited for.
func (t *tty) drain() {
	fd, err := t.peer(unix.O_NONBLOCK)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	limit := time.Now().Add(time.Second)
	for time.Now().Before(limit) {
		if _, err := unix.Poll(p, 100); err != nil && err != unix.EINTR {
			return
		}
		if p[0].Revents != 0 {
			var b [16]byte
			_, _ = unix.Read(fd, b[:]) // whoever else reads it has made it unreadable as well
			return
		}
	}
}

// await returns when no descriptor of the program's end is left, or after
// close. What the program writes past the filter, by a copy of the descriptor
// with a small number, goes nowhere.
func (t *tty) await() {
	var b [64]byte
	for {
		if _, err := t.hup.Read(b[:]); err != nil {
			return
		}
	}
}

// close frees the master; the program's end hangs up.
func (t *tty) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	t.hup.Close()
	unix.Close(t.master)
}

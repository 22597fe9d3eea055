// Package seccomp traps a few system calls of other programs and answers them:
// seccomp user notification. A launcher installs a Filter in itself before it
// starts a program; whoever holds the Listener is told of each trapped call,
// reads its arguments through a Process, and answers.
//
// Rules that every user of this package has to keep (seccomp_unotify(2)): read
// each user pointer once; after reading, ask Valid, since the caller may have
// died and its number been given to another; answer "go on natively" only for
// calls that are not ours, never as a decision of policy.
package seccomp

import (
	"fmt"
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Notification is one trapped system call, laid out as struct seccomp_notif.
type Notification struct {
	ID    uint64
	PID   uint32 // thread that called, as a number in the reader's PID namespace
	Flags uint32
	Nr    int32 // system call number of Arch
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

type addFD struct {
	id                         uint64
	flags, src, target, fdFlag uint32
}

// Listener is the supervisor's end of a filter.
type Listener struct {
	fd   int
	stop int // eventfd that ends a blocked Receive
}

// NewListener takes ownership of a listener descriptor.
func NewListener(fd int) (*Listener, error) {
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("seccomp listener: eventfd: %w", err)
	}
	unix.CloseOnExec(fd)
	return &Listener{fd: fd, stop: stop}, nil
}

// SetSyncWakeUp makes the kernel hand the core over between the program and
// the listener's thread at each notification: 4.7 us a round trip instead of
// 32 to 50. Linux 6.6; older kernels return ErrNotSupported.
func (l *Listener) SetSyncWakeUp() error {
	if e := ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP); e != 0 {
		return &FeatureError{Feature: SyncWakeUp, Err: e}
	}
	return nil
}

// Receive waits for the next notification. It returns io.EOF when no task with
// the filter is left or Stop was called.
func (l *Listener) Receive(n *Notification) error {
	for {
		// RECV alone would not return on kernels before 6.11 when the last
		// task is gone, and never on Stop.
		p := [2]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.stop), Events: unix.POLLIN}}
		if _, err := unix.Poll(p[:], -1); err != nil {
			if err == unix.EINTR {
				continue
			}
			return fmt.Errorf("seccomp listener: poll: %w", err)
		}
		if p[1].Revents != 0 {
			return io.EOF
		}
		if p[0].Revents&unix.POLLIN == 0 {
			if p[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
				return io.EOF
			}
			continue
		}
		*n = Notification{}
		switch e := ioctlPtr(l.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n)); e {
		case 0:
			return nil
		case unix.EINTR, unix.ENOENT, unix.EAGAIN: // the caller was killed meanwhile
		default:
			return fmt.Errorf("seccomp listener: receive: %w", e)
		}
	}
}

// Stop ends Receive, now and for ever. Programs that still have the filter get
// ENOSYS for trapped calls once Close was called.
func (l *Listener) Stop() {
	one := [8]byte{1}
	_, _ = unix.Write(l.stop, one[:]) // the counter cannot overflow by one write per listener
}

// Close frees the descriptors. Nothing may use the listener any more.
func (l *Listener) Close() error {
	unix.Close(l.stop)
	return unix.Close(l.fd)
}

// Respond completes a call with a return value, or with an error if errno is
// not 0. A caller that is gone is no error.
func (l *Listener) Respond(id uint64, val int64, errno unix.Errno) error {
	r := response{id: id, val: val, err: -int32(errno)}
	return l.send(&r)
}

// Continue lets the kernel execute the call as if it had not been trapped.
func (l *Listener) Continue(id uint64) error {
	r := response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	return l.send(&r)
}

func (l *Listener) send(r *response) error {
	if e := ioctlPtr(l.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(r)); e != 0 && e != unix.ENOENT {
		return fmt.Errorf("seccomp listener: send: %w", e)
	}
	return nil
}

// Valid tells whether the caller still waits. Whatever was read by its thread
// number before is its own only if Valid says so afterwards.
func (l *Listener) Valid(id uint64) bool {
	return ioctlPtr(l.fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == 0
}

// AddFD gives the caller a descriptor for what src is, close-on-exec, and
// returns its number there.
func (l *Listener) AddFD(id uint64, src int) (int, error) {
	return l.addFD(&addFD{id: id, src: uint32(src), fdFlag: unix.O_CLOEXEC})
}

// ReplaceFD makes the caller's descriptor target mean what src means. flags
// are the new descriptor's: O_CLOEXEC or 0.
func (l *Listener) ReplaceFD(id uint64, src, target int, flags uint32) error {
	_, err := l.addFD(&addFD{id: id, flags: unix.SECCOMP_ADDFD_FLAG_SETFD, src: uint32(src), target: uint32(target), fdFlag: flags})
	return err
}

// RespondFD completes a call with a new descriptor of the caller for what src
// is, as open does. Linux 5.14.
func (l *Listener) RespondFD(id uint64, src int, flags uint32) error {
	_, err := l.addFD(&addFD{id: id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, src: uint32(src), fdFlag: flags})
	return err
}

func (l *Listener) addFD(a *addFD) (int, error) {
	r, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(a)))
	if e != 0 {
		return -1, e
	}
	return int(r), nil
}

func ioctl(fd int, req, arg uintptr) unix.Errno {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, arg)
	return e
}

func ioctlPtr(fd int, req uintptr, p unsafe.Pointer) unix.Errno {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	return e
}

package realtime

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// event is one readable descriptor: where in the fdSet, and whether it ended.
type event struct {
	key  uint64
	dead bool
}

// poller waits for descriptors with a time limit in nanoseconds.
type poller struct {
	ep, ev int
	raw    [64]unix.EpollEvent
}

const wakeKey = ^uint64(0)

// noPwait2 remembers that the kernel has no epoll_pwait2 (before Linux 5.11).
var noPwait2 atomic.Bool

func newPoller() (*poller, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	ev, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(ep)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	p := &poller{ep: ep, ev: ev}
	if err := p.add(ev, wakeKey); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *poller) close() {
	unix.Close(p.ep)
	unix.Close(p.ev)
}

func (p *poller) add(fd int, key uint64) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(key), Pad: int32(key >> 32)}
	if err := unix.EpollCtl(p.ep, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		return fmt.Errorf("epoll: watch descriptor %d: %w", fd, err)
	}
	return nil
}

func (p *poller) remove(fd int) { unix.EpollCtl(p.ep, unix.EPOLL_CTL_DEL, fd, nil) }

// wake makes the present or the next wait return at once.
func (p *poller) wake() {
	one := uint64(1)
	unix.RawSyscall(unix.SYS_WRITE, uintptr(p.ev), uintptr(unsafe.Pointer(&one)), 8)
}

// check appends the descriptors that are readable now. It does not tell the
// Go scheduler: the call returns at once.
func (p *poller) check(to []event) []event {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.ep),
		uintptr(unsafe.Pointer(&p.raw[0])), uintptr(len(p.raw)), 0, 0, 0)
	if errno != 0 {
		return to
	}
	return p.take(to, int(n))
}

// wait is check with a time limit; a negative one waits for ever.
func (p *poller) wait(to []event, limit time.Duration) []event {
	var ts *unix.Timespec
	if limit >= 0 {
		t := unix.NsecToTimespec(int64(limit))
		ts = &t
	}
	if !noPwait2.Load() {
		n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.ep),
			uintptr(unsafe.Pointer(&p.raw[0])), uintptr(len(p.raw)), uintptr(unsafe.Pointer(ts)), 0, 0)
		if errno == 0 {
			return p.take(to, int(n))
		}
		if errno != unix.ENOSYS {
			return to
		}
		noPwait2.Store(true)
	}
	// An epoll descriptor can itself be polled, and ppoll has counted
	// nanoseconds since Linux 2.6.16.
	pfd := unix.PollFd{Fd: int32(p.ep), Events: unix.POLLIN}
	unix.Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&pfd)), 1, uintptr(unsafe.Pointer(ts)), 0, 0, 0)
	return p.check(to)
}

func (p *poller) take(to []event, n int) []event {
	for _, e := range p.raw[:n] {
		key := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
		if key == wakeKey {
			var b uint64
			unix.RawSyscall(unix.SYS_READ, uintptr(p.ev), uintptr(unsafe.Pointer(&b)), 8)
			continue
		}
		to = append(to, event{key: key, dead: e.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0})
	}
	return to
}

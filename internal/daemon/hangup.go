package daemon

import (
	"net"

	"golang.org/x/sys/unix"
)

// onHangup calls f when the peer has closed the connection altogether, as when
// its process was killed: reading tells that only like a half-close, after
// which the peer may still wait for an answer. stop must be called; f is not
// called after it.
func onHangup(c *net.UnixConn, f func()) (stop func()) {
	raw, err := c.SyscallConn()
	if err != nil {
		return func() {}
	}
	fd := -1
	raw.Control(func(p uintptr) { fd, err = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 3) })
	if err != nil {
		return func() {}
	}
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		p := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP is always reported
		for {
			if _, err := unix.Poll(p, -1); err != unix.EINTR {
				break
			}
		}
		select {
		case <-stopped:
		default:
			f()
		}
	}()
	return func() {
		close(stopped)
		unix.Shutdown(fd, unix.SHUT_RDWR) // which hangs up our end, too
		<-done
		unix.Close(fd)
	}
}

// unreadPoll is how often onUnread looks whether it was told to stop.
const unreadPoll = 50 // milliseconds

// onUnread calls f when the reading end of a pipe has been closed; fd is the
// writing end. f is not called for what happens after stop.
func onUnread(fd int, f func()) (stop func()) {
	// A descriptor of our own: the caller may close his while poll waits.
	fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return func() {}
	}
	stopped := make(chan struct{})
	go func() {
		defer unix.Close(fd)
		p := []unix.PollFd{{Fd: int32(fd)}} // POLLERR is always reported
		for {
			n, err := unix.Poll(p, unreadPoll)
			select {
			case <-stopped:
				return
			default:
			}
			if n > 0 {
				f()
			}
			if n > 0 || err != nil && err != unix.EINTR {
				return
			}
		}
	}()
	return func() { close(stopped) }
}

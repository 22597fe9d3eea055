// Package poll asks about one descriptor.
//
// poll(2) gives EINTR when a signal is pending, even if it is not to wait, and
// the Go runtime signals its threads to preempt goroutines. Whoever takes that
// for an answer believes now and then that a peer has gone.
package poll

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns which of events are there, and POLLHUP, POLLERR and POLLNVAL
// besides. It does not wait.
func Now(fd int, events int16) (int16, error) { return Wait(fd, events, 0) }

// Wait is Now that waits up to d for the first of them; 0 if there was none.
func Wait(fd int, events int16, d time.Duration) (int16, error) {
	end := time.Now().Add(d)
	for {
		p := [1]unix.PollFd{{Fd: int32(fd), Events: events}}
		left := 0
		if d > 0 {
			// Rounded up: a wait of less than a millisecond is one.
			left = int((max(time.Until(end), 0) + time.Millisecond - 1) / time.Millisecond)
		}
		_, err := unix.Poll(p[:], left)
		if err != unix.EINTR {
			return p[0].Revents, err
		}
	}
}

package host

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// onThread runs f on an operating system thread of its own, which ends with f.
//
// This is the one place where the program changes a thread's namespace. The
// goroutine is locked and never unlocked, so the Go runtime ends the thread
// instead of reusing it: a thread that could not be moved back, returned to the
// pool, makes other goroutines run in the wrong namespace now and then
// (golang/go#20458, vishvananda/netns#17).
func onThread(f func() error) error {
	end := make(chan error, 1)
	var run func()
	run = func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The first thread of a process cannot end, and it stands for the
			// process: /proc/PID/ns/net and `ip netns identify` look at it.
			// While it is held here another one is used.
			done := make(chan struct{})
			go func() { defer close(done); run() }()
			<-done
			runtime.UnlockOSThread()
			return
		}
		end <- f()
	}
	go run()
	return <-end
}

// In runs f in the namespace, on a thread of its own. Sockets, netlink handles
// and TAPs that f opens belong to the namespace and stay there. Goroutines that
// f starts do not.
func (n *NS) In(f func() error) error {
	return onThread(func() error {
		if err := netns.Set(n.h); err != nil {
			return fmt.Errorf("namespace %s: enter: %w", n.name, err)
		}
		return f()
	})
}

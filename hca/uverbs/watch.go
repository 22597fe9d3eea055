package uverbs

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// watcher waits for programs to close their channels, to end, and to make room
// in a full pipe. One goroutine serves all contexts of a server.
type watcher struct {
	ep, stop int

	mu   sync.Mutex
	next uint64
	on   map[uint64]*watched
}

type watched struct {
	fd   int
	call func(events uint32)
}

func newWatcher() (*watcher, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch programs: %w", err)
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, stop, &unix.EpollEvent{Events: unix.EPOLLIN})
	}
	if err != nil {
		unix.Close(ep)
		return nil, fmt.Errorf("watch programs: %w", err)
	}
	return &watcher{ep: ep, stop: stop, on: map[uint64]*watched{}}, nil
}

// event names a registration, not a descriptor: numbers of descriptors are
// used again.
func event(id uint64, events uint32) *unix.EpollEvent {
	return &unix.EpollEvent{Events: events, Fd: int32(id), Pad: int32(id >> 32)}
}

// add calls f on the watcher's goroutine for events of fd; hang-ups and errors
// are always among them.
func (w *watcher) add(fd int, events uint32, f func(events uint32)) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	id := w.next
	if err := unix.EpollCtl(w.ep, unix.EPOLL_CTL_ADD, fd, event(id, events)); err != nil {
		return 0, fmt.Errorf("watch programs: %w", err)
	}
	w.on[id] = &watched{fd, f}
	return id, nil
}

// change sets the events that are waited for.
func (w *watcher) change(id uint64, events uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.on[id]; x != nil {
		_ = unix.EpollCtl(w.ep, unix.EPOLL_CTL_MOD, x.fd, event(id, events)) // registered and open
	}
}

// remove ends the calls; one may still be running.
func (w *watcher) remove(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.on[id]; x != nil {
		_ = unix.EpollCtl(w.ep, unix.EPOLL_CTL_DEL, x.fd, nil) // registered and open
		delete(w.on, id)
	}
}

func (w *watcher) run() {
	var ev [32]unix.EpollEvent
	for {
		n, err := unix.EpollWait(w.ep, ev[:], -1)
		if err != nil && err != unix.EINTR {
			return // closed
		}
		for _, e := range ev[:max(n, 0)] {
			id := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			if id == 0 {
				return
			}
			w.mu.Lock()
			x := w.on[id]
			w.mu.Unlock()
			if x != nil {
				x.call(e.Events)
			}
		}
	}
}

func (w *watcher) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(w.stop, one[:]) // a counter that is full wakes too
}

// close frees the descriptors after run has returned.
func (w *watcher) close() {
	unix.Close(w.ep)
	unix.Close(w.stop)
}

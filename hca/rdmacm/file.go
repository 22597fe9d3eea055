package rdmacm

import (
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs"
)

// file is an open rdma_cm: an event channel of a program, with the identifiers
// that it made there.
type file struct {
	svc *Service
	key fileID
	tty *tty

	release func() // tells the node that the descriptor is gone
	wait    sync.WaitGroup
	once    sync.Once
	done    chan struct{} // closed when the file ends
	quit    chan struct{} // closed when calls have to be answered
	kick    chan struct{} // readiness may have changed

	pending atomic.Int32 // events that wait

	// With the engine held.
	ids     int
	events  []*event
	readers []*reader
	closed  bool
}

// reader is a program that waits for an event.
type reader struct {
	got chan *event // has room for one
}

// deliver hands an event to who waits for one, or queues it. The engine is
// held.
func (f *file) deliver(e *event) {
	if f.closed {
		return
	}
	if !f.hand(e) {
		f.events = append(f.events, e)
		f.changed()
	}
}

// hand gives an event to the first who waits for one; false: nobody does.
func (f *file) hand(e *event) bool {
	if len(f.readers) == 0 {
		return false
	}
	r := f.readers[0]
	f.readers = slices.Delete(f.readers, 0, 1)
	e.account(1)
	r.got <- e
	return true
}

// changed tells that the number of events is another.
func (f *file) changed() {
	f.pending.Store(int32(len(f.events)))
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

func (f *file) readable() bool { return f.pending.Load() > 0 }

// dropEvents forgets the events that drop says. The engine is held.
func (f *file) dropEvents(drop func(*event) bool) {
	n := len(f.events)
	f.events = slices.DeleteFunc(f.events, drop)
	if len(f.events) != n {
		f.changed()
	}
}

// unget takes back an event that could not be given to its reader, who may have
// been killed: the next who waits gets it.
func (f *file) unget(e *event) {
	f.svc.cfg.Do(func() {
		e.account(-1)
		if !f.closed && e.owner.state != stateGone && !f.hand(e) {
			f.events = slices.Insert(f.events, 0, e)
			f.changed()
		}
	})
}

// signal keeps the file readable while it has events.
func (f *file) signal() {
	for {
		select {
		case <-f.kick:
			f.tty.sync(f.readable)
		case <-f.done:
			return
		}
	}
}

// end frees everything of the file. Threads that wait for an event of a file
// that others have closed go on waiting, as they hold the file in the kernel; it
// keeps its number until they are gone.
func (f *file) end() {
	f.once.Do(func() {
		f.svc.cfg.Do(func() {
			f.closed = true
			delete(f.svc.files, f.key)
			f.destroyIDs()
			f.events, f.readers = nil, nil
			f.pending.Store(0)
		})
		close(f.done)
		f.svc.wait.Go(func() {
			f.wait.Wait()
			f.release()
			f.tty.close()
		})
	})
}

// destroyIDs ends the identifiers of the file, in the order of their handles.
func (f *file) destroyIDs() {
	for h := range f.svc.ids.list {
		if i, ok := f.svc.ids.get(uint32(h)); ok && i.file == f {
			i.destroy()
		}
	}
}

// End implements uverbs.File: all programs of the session have ended.
func (f *file) End() {
	close(f.quit)
	f.end()
	f.wait.Wait()
}

// Trapped implements uverbs.File.
func (f *file) Trapped(t *uverbs.Syscall) {
	switch {
	case t.Op == uverbs.OpWrite:
		f.write(t)
	case t.Op == uverbs.OpRead: // the file has no read operation
		t.Reply(0, unix.EINVAL)
	default:
		t.Reply(0, unix.ENOTTY)
	}
}

package rdmacm

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs"
)

// getEvent answers GET_EVENT: at once, or on a goroutine when there is one.
func (f *file) getEvent(t *uverbs.Syscall, c *command) {
	flags, err := t.FDFlags(t.FD)
	if err != nil {
		t.Reply(0, unix.EBADF)
		return
	}
	var e *event
	waits := false
	r := &reader{got: make(chan *event, 1)}
	f.svc.cfg.Do(func() {
		switch {
		case f.closed:
		case len(f.events) > 0:
			e = f.events[0]
			f.events = f.events[1:]
			f.pending.Store(int32(len(f.events)))
			e.account(1)
		case flags&unix.O_NONBLOCK == 0:
			f.readers = append(f.readers, r)
			f.wait.Add(1) // end waits for the answer
			waits = true
		}
	})
	switch {
	case e != nil:
		f.give(t, c, e)
	case waits:
		t.Later()
		go func() {
			defer f.wait.Done()
			f.block(t, c, r)
		}()
	default:
		t.Reply(0, unix.EAGAIN)
	}
}

// give stores an event in the program and answers. What cannot be stored stays
// first in the queue.
func (f *file) give(t *uverbs.Syscall, c *command, e *event) {
	if t.Write(c.addr, e.resp[:min(eventLen, c.out)]) != nil || !t.Valid() {
		f.unget(e)
		t.Reply(0, unix.EFAULT)
		return
	}
	if f.pending.Load() == 0 {
		f.tty.sync(f.readable) // before the program polls again
	}
	t.Reply(int64(t.Count), 0)
}

// signalTime is how often a program that waits is looked at for signals: while
// its call is in our hands only deadly ones interrupt it.
const signalTime = 20 * time.Millisecond

// eRestartSys is ERESTARTSYS: the kernel restarts the call after the signal's
// handler, or makes EINTR of it, as the program has asked for.
const eRestartSys unix.Errno = 512

// block waits for an event in the program's place.
func (f *file) block(t *uverbs.Syscall, c *command, r *reader) {
	tick := time.NewTicker(signalTime)
	defer tick.Stop()
	for {
		select {
		case e := <-r.got:
			f.give(t, c, e)
			return
		case <-f.quit:
			t.Reply(0, unix.EINTR)
			return
		case <-tick.C:
		}
		gone := !t.Valid()
		if !gone && !signalled(t.TID()) {
			continue
		}
		if e := f.withdraw(r); e != nil {
			f.give(t, c, e)
			return
		}
		t.Reply(0, eRestartSys)
		return
	}
}

// withdraw ends the waiting; an event that had been handed over is returned.
func (f *file) withdraw(r *reader) (e *event) {
	f.svc.cfg.Do(func() {
		for k, x := range f.readers {
			if x == r {
				f.readers = append(f.readers[:k:k], f.readers[k+1:]...)
				return
			}
		}
	})
	select {
	case e = <-r.got:
	default:
	}
	return e
}

// signalled tells whether a thread has a signal pending that it does not block.
// The kernel keeps none that is ignored.
func signalled(tid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return true // gone
	}
	set := func(name string) uint64 {
		_, rest, _ := bytes.Cut(b, []byte("\n"+name+":"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		n, _ := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
		return n
	}
	return (set("SigPnd")|set("ShdPnd"))&^set("SigBlk") != 0
}

package pty

import (
	"encoding/binary"
	"fmt"

	"cnuas/modbus/rtu"

	"golang.org/x/sys/unix"
)

// Hub tells of the clients of several terminals. It is used by one thread.
type Hub struct {
	fd   int
	ptys map[int32]*PTY // by watch
	buf  [4096]byte
}

// Change tells of clients that have come or gone since the last one.
type Change struct {
	// Free: for a moment nobody had the terminal open, though a client may have
	// it again. What was sent to those before is to be cleared.
	Free bool
	// Open: a client has it open now.
	Open bool
}

// NewHub returns a hub without terminals.
func NewHub() (*Hub, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("pty: inotify: %w (if it is EMFILE, raise fs.inotify.max_user_instances)", err)
	}
	return &Hub{fd: fd, ptys: map[int32]*PTY{}}, nil
}

// FD is readable when a client has opened or closed a terminal; call Drain.
func (h *Hub) FD() int { return h.fd }

// Open makes a terminal: raw, at line l until a client sets its own. notify is
// called by Drain.
func (h *Hub) Open(l rtu.Line, notify func(Change)) (*PTY, error) {
	p := &PTY{master: -1, hub: h, wd: -1, notify: notify}
	if err := p.create(l); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the hub; close its terminals first.
func (h *Hub) Close() error { return unix.Close(h.fd) }

func (h *Hub) watch(p *PTY) error {
	p.count = 0
	if p.Open() {
		p.count = 1
	}
	wd, err := unix.InotifyAddWatch(h.fd, p.path, unix.IN_OPEN|unix.IN_CLOSE)
	if err != nil {
		return fmt.Errorf("pty: watch %s: %w (if it is ENOSPC, raise fs.inotify.max_user_watches)", p.path, err)
	}
	p.wd = int32(wd)
	h.ptys[p.wd] = p
	return nil
}

func (h *Hub) unwatch(p *PTY) {
	if p.wd < 0 {
		return
	}
	unix.InotifyRmWatch(h.fd, uint32(p.wd))
	delete(h.ptys, p.wd)
	p.wd = -1
}

// Drain takes the events and calls notify of each terminal that they concern.
// What a client that opens and closes in a loop leaves, the next call takes.
func (h *Hub) Drain() {
	var changed []*PTY
	touch := func(p *PTY, free bool) {
		if !p.touched {
			changed = append(changed, p)
		}
		p.touched, p.free = true, p.free || free
	}
	n, err := unix.Read(h.fd, h.buf[:])
	if err != nil {
		return
	}
	for b := h.buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
		wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		b = b[min(len(b), unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:]))):]
		if mask&unix.IN_Q_OVERFLOW != 0 {
			for _, p := range h.ptys {
				touch(p, true)
			}
		} else if p := h.ptys[wd]; p != nil {
			touch(p, p.event(mask))
		}
	}
	for _, p := range changed {
		free := p.free
		p.touched, p.free = false, false
		p.changed(free)
	}
}

// event counts, and reports whether the last client has gone.
func (p *PTY) event(mask uint32) bool {
	switch {
	case mask&unix.IN_OPEN != 0:
		p.count++
	case mask&unix.IN_CLOSE != 0:
		p.count = max(p.count-1, 0)
		return p.count == 0
	}
	return false
}

// changed tells of it. The count is only how events are told apart; what the
// master says of now is right.
func (p *PTY) changed(free bool) {
	if p.master < 0 {
		return
	}
	c := Change{Free: free, Open: p.Open()}
	switch {
	case !c.Open:
		c.Free, p.count = true, 0
	case p.count == 0:
		p.count = 1
	}
	p.notify(c)
}

package realtime

import "fmt"

// watched is a descriptor and whom to tell. gen distinguishes successive users
// of a slot: an event that epoll reported may be older than a RemoveFD.
type watched struct {
	fd  int
	gen uint32
	on  bool // epoll watches it
	p   Poller
}

type fdSet struct{ slots []watched }

func (s *fdSet) find(fd int) *watched {
	for i := range s.slots {
		if s.slots[i].p != nil && s.slots[i].fd == fd {
			return &s.slots[i]
		}
	}
	return nil
}

// AddFD watches fd from now on and tells p when it is readable. Remove it
// before closing it.
func (l *Loop) AddFD(fd int, p Poller) error {
	if l.fds.find(fd) != nil {
		return fmt.Errorf("realtime: descriptor %d is watched already", fd)
	}
	i := 0
	for i < len(l.fds.slots) && l.fds.slots[i].p != nil {
		i++
	}
	if i == len(l.fds.slots) {
		l.fds.slots = append(l.fds.slots, watched{})
	}
	w := &l.fds.slots[i]
	if err := l.poll.add(fd, l.key(i)); err != nil {
		return fmt.Errorf("realtime: %w", err)
	}
	w.fd, w.p, w.on = fd, p, true
	return nil
}

func (l *Loop) key(i int) uint64 { return uint64(i) | uint64(l.fds.slots[i].gen)<<32 }

// RemoveFD ends watching fd. Unknown descriptors are ignored.
func (l *Loop) RemoveFD(fd int) {
	w := l.fds.find(fd)
	if w == nil {
		return
	}
	if w.on {
		l.poll.remove(fd)
	}
	w.gen++
	w.p, w.on = nil, false
}

// EnableFD switches the watching of fd off and on again: back-pressure, as
// long as a node's port has no room for the frames that its TAP holds.
func (l *Loop) EnableFD(fd int, on bool) {
	w := l.fds.find(fd)
	if w == nil || w.on == on {
		return
	}
	// Events are not merely masked: epoll reports errors of a masked
	// descriptor too, and would keep the loop awake.
	w.on = on
	if !on {
		l.poll.remove(fd)
		return
	}
	for i := range l.fds.slots {
		if &l.fds.slots[i] == w && l.poll.add(fd, l.key(i)) != nil {
			w.on = false
		}
	}
}

// dispatch tells the Pollers of what epoll reported.
func (l *Loop) dispatch(evs []event) {
	for _, e := range evs {
		i := int(uint32(e.key))
		w := &l.fds.slots[i]
		if l.key(i) != e.key || !w.on {
			continue
		}
		w.p.Readable()
		if e.dead {
			if w = &l.fds.slots[i]; l.key(i) == e.key {
				l.RemoveFD(w.fd)
				l.st.hangups++
			}
		}
	}
}

package uverbs

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"cnuas/hca"
)

// bells is what the engine's thread knows of doorbells. A program that has
// posted sends writes to its memory file; while the thread is awake it looks at
// the queues themselves, and only before it sleeps does it ask inotify to be
// told of such writes.
type bells struct {
	fd       int
	contexts []*context
	devices  []*hca.Device // those with contexts
	users    []int         // contexts per device
	byWatch  map[int32]*context

	since int // sweeps with work since the logs were rewound
	buf   [4096]byte
}

// rewindEvery is the number of sweeps with work after which a busy thread puts
// the doorbell logs back to their beginnings.
const rewindEvery = 1024

func (b *bells) init() error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("inotify: %w (see fs.inotify.max_user_instances)", err)
	}
	b.fd, b.byWatch = fd, map[int32]*context{}
	return nil
}

func (b *bells) close() { unix.Close(b.fd) }

// add makes the context known. It is watched at once: the thread may be asleep,
// and armed only what there was then.
func (b *bells) add(c *context) {
	b.contexts = append(b.contexts, c)
	b.watch(c)
	d := c.node.cfg.Devices[c.dev].HCA
	if i := slices.Index(b.devices, d); i >= 0 {
		b.users[i]++
		return
	}
	b.devices, b.users = append(b.devices, d), append(b.users, 1)
}

func (b *bells) remove(c *context) {
	i := slices.Index(b.contexts, c)
	if i < 0 {
		return
	}
	b.contexts = slices.Delete(b.contexts, i, i+1)
	b.unwatch(c)
	i = slices.Index(b.devices, c.node.cfg.Devices[c.dev].HCA)
	if b.users[i]--; b.users[i] == 0 {
		b.devices, b.users = slices.Delete(b.devices, i, i+1), slices.Delete(b.users, i, i+1)
	}
}

func (b *bells) unwatch(c *context) {
	if c.wd < 0 {
		return
	}
	_, _, _ = unix.RawSyscall(unix.SYS_INOTIFY_RM_WATCH, uintptr(b.fd), uintptr(c.wd), 0)
	delete(b.byWatch, c.wd)
	c.wd = -1
}

func (b *bells) watch(c *context) bool {
	wd, _, e := unix.RawSyscall(unix.SYS_INOTIFY_ADD_WATCH, uintptr(b.fd), uintptr(unsafe.Pointer(&c.file.path[0])), unix.IN_MODIFY)
	if e == 0 {
		c.wd = int32(wd)
		b.byWatch[c.wd] = c
	}
	return e == 0
}

func (b *bells) sweep() bool {
	any := false
	for _, d := range b.devices {
		if d.Sweep() {
			any = true
		}
	}
	return any
}

// The doorbell methods below are called by the engine's thread, or while the
// engine is held.

// Sweep looks for work that programs have posted and hands it to their queue
// pairs. It reports whether there was any.
func (s *Server) Sweep() bool {
	b := &s.bells
	if !b.sweep() {
		return false
	}
	if b.since++; b.since == rewindEvery {
		b.rewind()
	}
	return true
}

func (b *bells) rewind() {
	b.since = 0
	for _, c := range b.contexts {
		c.file.rewind()
	}
}

// WQEs is the number of send work requests that the devices with contexts have
// taken up in all; it implements realtime.WQECounter.
func (s *Server) WQEs() (n uint64) {
	for _, d := range s.bells.devices {
		n += d.WQEs()
	}
	return n
}

// Arm prepares for the engine's thread to sleep: from now on a doorbell makes
// FD readable. It looks for work once more afterwards and reports whether there
// was any, in which case the thread must not sleep.
func (s *Server) Arm() (ready bool) {
	b := &s.bells
	s.Drain()
	for _, c := range b.contexts {
		if c.wd < 0 {
			// Without a watch (fs.inotify.max_user_watches) the thread must
			// stay awake.
			ready = !b.watch(c) || ready
			c.file.rewind()
		}
	}
	// A program that rang before it was watched is found by looking.
	return b.sweep() || ready
}

// Disarm takes the watches away: the thread has been busy for a while, and each
// watch makes a doorbell 0.4 us slower. A thread that wakes only now and then
// keeps them.
func (s *Server) Disarm() {
	for _, c := range s.bells.contexts {
		s.bells.unwatch(c)
	}
}

// FD is a descriptor to poll for reading while the thread sleeps.
func (s *Server) FD() int { return s.bells.fd }

// Drain empties FD.
func (s *Server) Drain() {
	b := &s.bells
	for {
		n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(b.fd), uintptr(unsafe.Pointer(&b.buf[0])), uintptr(len(b.buf)))
		if e != 0 || n == 0 {
			return
		}
		for p := 0; p+unix.SizeofInotifyEvent <= int(n); {
			wd, mask, l := int32(le.Uint32(b.buf[p:])), le.Uint32(b.buf[p+4:]), le.Uint32(b.buf[p+12:])
			if c := b.byWatch[wd]; c != nil {
				if mask&unix.IN_IGNORED != 0 {
					delete(b.byWatch, wd)
					c.wd = -1
				} else if b.since++; b.since >= rewindEvery {
					b.rewind()
				}
			}
			p += unix.SizeofInotifyEvent + int(l)
		}
		if int(n) < len(b.buf)/2 {
			return
		}
	}
}

package rack

import (
	"fmt"
	"os"

	"cnuas/internal/poll"
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"

	"golang.org/x/sys/unix"
)

// maxSockets bounds the clients of one segment's socket: each is a master.
const maxSockets = 16

// listener is the unix stream socket of a segment. Each connection is a master
// of its own at the segment's line; the bytes are those of the wire.
type listener struct {
	seg     *segment
	fd      int
	path    string
	conns   []*conn
	made    int
	refused uint64
}

func (l *listener) open(s *segment, path string) error {
	l.seg, l.path, l.fd = s, path, -1
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		if err == unix.EINVAL || err == unix.ENAMETOOLONG {
			return fmt.Errorf("socket %s: the path has %d bytes, 107 are possible: choose a shorter run directory or name", path, len(path))
		}
		return fmt.Errorf("socket %s: %w", path, err)
	}
	l.fd = fd
	if err := unix.Listen(fd, maxSockets); err != nil {
		return fmt.Errorf("socket %s: listen: %w", path, err)
	}
	return s.rack.loop.AddFD(fd, l)
}

// Readable implements realtime.Poller: it accepts what there is.
func (l *listener) Readable() {
	for range maxSockets {
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err != nil {
			return
		}
		if len(l.conns) >= maxSockets { // those that are being sent count too
			l.refused++
			unix.Close(fd)
			continue
		}
		l.made++
		c := &conn{l: l}
		c.c.Open = true
		c.init(l.seg, fmt.Sprintf("socket%d", l.made), fd, c)
		l.conns = append(l.conns, c)
		c.watch()
	}
}

func (l *listener) tick() {
	for i := len(l.conns) - 1; i >= 0; i-- {
		l.conns[i].tick()
	}
}

func (l *listener) shut() error {
	if l.fd < 0 {
		return nil
	}
	for len(l.conns) > 0 {
		l.conns[0].hangUp()
		l.conns[0].end()
	}
	l.seg.rack.loop.RemoveFD(l.fd)
	unix.Close(l.fd)
	l.fd = -1
	if err := os.Remove(l.path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// conn is one client of the socket.
type conn struct {
	outlet
	l    *listener
	ends bool // it writes no more; it may still read
	buf  [512]byte
	rest sim.Timer // until the wire has what it wrote
}

// Readable takes what the client has written.
func (c *conn) Readable() {
	for c.fd >= 0 && !c.ends {
		if c.gone() {
			c.lastWords()
			return
		}
		if !c.room(len(c.buf)) {
			return
		}
		n, err := unix.Read(c.fd, c.buf[:])
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			return
		case err != nil:
			c.hangUp()
		case n == 0:
			// Shut down for writing: a script that waits for its answer. The
			// descriptor would be readable for ever.
			c.ends = true
			c.unwatch()
		default:
			c.send(c.buf[:n])
		}
	}
}

// lastWords takes what a client wrote that is gone, as far as the wire's queue
// has room: a flood ends with the one who made it.
func (c *conn) lastWords() {
	for {
		n, err := unix.Read(c.fd, c.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		c.send(c.buf[:n])
	}
	c.hangUp()
}

// gone tells whether the client has closed both directions.
func (c *conn) gone() bool {
	got, err := poll.Now(c.fd, 0)
	return err != nil || got&(unix.POLLHUP|unix.POLLERR) != 0
}

// tick ends a client that nobody watched when it went: it had shut down for
// writing, or was being held up.
func (c *conn) tick() {
	if c.fd >= 0 && (c.ends || c.blocked) && c.gone() {
		c.lastWords()
	}
}

// ReceiveChars implements bus.Receiver.
func (c *conn) ReceiveChars(_ sim.Time, chars []rtu.Char) {
	if c.fd < 0 {
		return
	}
	b := c.out[:0]
	for _, x := range chars {
		if x.Err != 0 {
			c.c.Errors++
		}
		b = append(b, x.Byte)
	}
	c.out = b[:0]
	for len(b) > 0 {
		n, err := unix.SendmsgN(c.fd, b, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			c.c.Overruns += uint64(len(b))
			return
		case err != nil || n <= 0:
			c.c.Unheard += uint64(len(b))
			c.hangUp()
			return
		}
		c.c.RxBytes += uint64(n)
		b = b[n:]
	}
}

// hangUp closes the connection. Its master stays until the wire has what the
// client wrote.
func (c *conn) hangUp() {
	if c.fd < 0 {
		return
	}
	c.unwatch()
	c.timer.Stop()
	c.blocked = false
	unix.Close(c.fd)
	c.fd = -1
	c.c.Open = false
	c.leave()
	c.rest.Init(c.seg.proc, done{c}, 0, 0)
	c.rest.Reset(max(c.m.Drained(), c.seg.proc.Now()))
}

// done is a conn as the handler of its last timer.
type done struct{ *conn }

// HandleEvent implements sim.Handler; only the engine calls it.
func (d done) HandleEvent(sim.Time, uint32, uint64) { d.end() }

// end takes the master off the segment.
func (c *conn) end() {
	c.rest.Stop()
	c.m.Close()
	for i, o := range c.l.conns {
		if o == c {
			c.l.conns = append(c.l.conns[:i], c.l.conns[i+1:]...)
			return
		}
	}
}

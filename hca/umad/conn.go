package umad

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs"
	"cnuas/internal/poll"
)

// conn is the daemon's end of the pair of sockets behind a program's
// descriptor.
type conn struct {
	fd      int // of file; not used once closed is set, which happens with the engine held
	file    *os.File
	raw     syscall.RawConn
	release func()
	once    sync.Once
	wait    sync.WaitGroup
}

// sockBytes bounds what waits in each direction, in the kernel's own count,
// which is about twice the bytes.
const sockBytes = 8 << 20

// open makes the pair and has the program's descriptor become one end of it.
func (c *conn) open(t *uverbs.Syscall, f uverbs.File) unix.Errno {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return number(err)
	}
	defer unix.Close(p[1])
	for _, fd := range p {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sockBytes) != nil {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sockBytes) // as much as is permitted
		}
	}
	err = unix.SetNonblock(p[0], true)
	if err == nil {
		c.file = os.NewFile(uintptr(p[0]), "umad")
		c.fd = p[0]
		c.raw, err = c.file.SyscallConn()
	}
	if err == nil {
		c.release, err = t.Become(p[1], 0, f)
	}
	if err != nil {
		if c.file != nil {
			c.file.Close()
		} else {
			unix.Close(p[0])
		}
		return number(err)
	}
	return 0
}

func number(err error) unix.Errno {
	if e, ok := err.(unix.Errno); ok {
		return e
	}
	return unix.EIO
}

// start calls drain whenever the program has written, and end when it has
// closed the file. drain tells whether it is closed.
func (c *conn) start(drain func() bool, end func()) {
	c.wait.Go(func() {
		_ = c.raw.Read(func(uintptr) bool { return drain() }) // an error: we have closed it
		end()
	})
}

// receive reads one message into b, which grows to hold it. closed: there will
// be no more; n < 0: there is none now. One that is longer than limit is
// dropped and has the length 0.
func (c *conn) receive(b *[]byte, limit int) (n int, closed bool) {
	n, _, err := unix.Recvfrom(c.fd, *b, unix.MSG_PEEK|unix.MSG_TRUNC|unix.MSG_DONTWAIT)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return -1, false
	case err != nil:
		return -1, true
	case n == 0:
		if got, err := poll.Now(c.fd, unix.POLLRDHUP); err != nil || got&(unix.POLLRDHUP|unix.POLLHUP) != 0 {
			return -1, true
		}
	case n > len(*b) && n <= limit:
		*b = make([]byte, n)
	}
	m, _, err := unix.Recvfrom(c.fd, *b, unix.MSG_DONTWAIT)
	if err != nil {
		return -1, false
	}
	if n > limit {
		return 0, false
	}
	return m, false
}

// send writes one message if there is room. The engine is held.
func (c *conn) send(b []byte) error {
	return unix.Sendto(c.fd, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
}

package udp

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"cnuas/internal/tunnel"
)

// batch is how many datagrams one system call moves.
const batch = 64

// slot is the room for one datagram: more than the longest that is valid, so
// that a longer one is seen to be too long and not taken for a valid one.
const slot = tunnel.MaxLen + 6

// maxTurn bounds the datagrams that are received in one turn of the loop, so
// that a flood does not stop the fabric.
const maxTurn = 4 * batch

// controlLen is the length of the control message with the count of overflows.
const controlLen = 24

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   [4]byte
}

// name is room for an address of either family: struct sockaddr_in or
// sockaddr_in6.
type name [unix.SizeofSockaddrInet6]byte

func (a *name) set(to netip.AddrPort, six bool) uint32 {
	binary.BigEndian.PutUint16(a[2:], to.Port())
	if !six {
		binary.NativeEndian.PutUint16(a[:], unix.AF_INET)
		ip := to.Addr().As4()
		copy(a[4:], ip[:])
		return unix.SizeofSockaddrInet4
	}
	binary.NativeEndian.PutUint16(a[:], unix.AF_INET6)
	ip := to.Addr().As16()
	copy(a[8:], ip[:])
	return unix.SizeofSockaddrInet6
}

func (a *name) get(n uint32) netip.AddrPort {
	port := binary.BigEndian.Uint16(a[2:])
	switch {
	case n >= unix.SizeofSockaddrInet6 && binary.NativeEndian.Uint16(a[:]) == unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(a[8:24])), port)
	case n >= unix.SizeofSockaddrInet4 && binary.NativeEndian.Uint16(a[:]) == unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[4:8])), port)
	}
	return netip.AddrPort{}
}

// messages are the vectors of one call. The kernel gets pointers into it, so it
// is made once and does not move.
type messages struct {
	msg  [batch]mmsghdr
	iov  [batch]unix.Iovec
	name [batch]name
	buf  [batch][slot]byte
	ctl  [batch][controlLen]byte
}

func newMessages() *messages {
	m := new(messages)
	for i := range m.msg {
		m.iov[i].Base = &m.buf[i][0]
		h := &m.msg[i].hdr
		h.Iov, h.Iovlen = &m.iov[i], 1
		h.Name = &m.name[i][0]
	}
	return m
}

func (m *messages) call(trap uintptr, fd, from, to int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(&m.msg[from])), uintptr(to-from), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

type receiver struct{ *messages }

func newReceiver() *receiver { return &receiver{newMessages()} }

// Readable implements realtime.Poller.
func (s *Socket) Readable() {
	r := s.in
	for got := 0; got < maxTurn; {
		for i := range r.msg {
			r.iov[i].SetLen(slot)
			h := &r.msg[i].hdr
			h.Namelen, h.Control = unix.SizeofSockaddrInet6, &r.ctl[i][0]
			h.SetControllen(controlLen)
		}
		n, errno := r.call(unix.SYS_RECVMMSG, s.fd, 0, batch)
		if errno != 0 {
			if errno != unix.EAGAIN && errno != unix.EINTR {
				s.tell("receive", errno)
			}
			return
		}
		for i := range n {
			m := &r.msg[i]
			s.overflow(r.ctl[i][:m.hdr.Controllen])
			s.st.Received++
			s.hub.Receive(r.name[i].get(m.hdr.Namelen), r.buf[i][:m.n])
		}
		if got += n; n < batch {
			return
		}
	}
}

// overflow reads the kernel's count of datagrams that found no room, which comes
// with each that found some.
func (s *Socket) overflow(b []byte) {
	if len(b) < unix.CmsgSpace(4) {
		return
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SO_RXQ_OVFL {
		return
	}
	if n := uint64(binary.NativeEndian.Uint32(b[unix.CmsgLen(0):])); n != s.st.Overflow {
		if s.st.Overflow == 0 {
			s.log("tunnel: udp %v: the kernel dropped %d datagrams because %d bytes of buffer were full: symbol errors; a larger --scale, or sysctl net.core.rmem_max without root", s.at, n, s.st.Buffer)
		}
		s.st.Overflow = n
	}
}

type sender struct {
	*messages
	six bool
	n   int // that wait
}

func newSender(six bool) *sender { return &sender{newMessages(), six, 0} }

// Send implements tunnel.Socket: the datagram leaves at the end of the turn, or
// when a batch is full.
func (s *Socket) Send(to netip.AddrPort, b []byte) {
	o := s.out
	if len(b) > slot || to.Addr().Is6() != o.six {
		s.st.Unsent++
		if !s.told[unix.EAFNOSUPPORT] {
			s.told[unix.EAFNOSUPPORT] = true
			s.log("tunnel: udp %v: cannot send %d bytes to %v: listen on an address of the peer's family", s.at, len(b), to)
		}
		return
	}
	if o.n == batch {
		s.Flush()
	}
	i := o.n
	o.n++
	copy(o.buf[i][:], b)
	o.iov[i].SetLen(len(b))
	o.msg[i].hdr.Namelen = o.name[i].set(to, o.six)
}

// Flush sends what waits. What the kernel refuses is lost, as on a wire.
func (s *Socket) Flush() {
	o := s.out
	for from := 0; from < o.n; {
		n, errno := o.call(unix.SYS_SENDMMSG, s.fd, from, o.n)
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			s.st.Unsent++
			if !s.told[errno] {
				s.tell("send to "+o.name[from].get(unix.SizeofSockaddrInet6).String(), errno)
			}
			from++
		default:
			s.st.Sent += uint64(n)
			from += n
		}
	}
	o.n = 0
}

// Package udp joins a tunnel's hub to a UDP socket on the real-time loop:
// datagrams of a turn are sent together at its end, and received in batches.
package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"cnuas/internal/realtime"
	"cnuas/internal/tunnel"
)

// bufferBytes is asked of the kernel for what waits in the socket: credits of
// several links, since a buffer that is full loses packets. Without the privilege
// to have so much, the kernel gives net.core.rmem_max.
const bufferBytes = 16 << 20

// Loop is what a socket needs of realtime.Loop.
type Loop interface {
	AddFD(fd int, p realtime.Poller) error
	RemoveFD(fd int)
	AddFlusher(f func())
}

// Socket is one UDP socket. After Listen it belongs to the thread of the loop.
// It implements tunnel.Socket and realtime.Poller.
type Socket struct {
	fd   int
	at   netip.AddrPort
	six  bool
	hub  *tunnel.Hub
	loop Loop
	in   *receiver
	out  *sender
	log  func(format string, args ...any)
	told map[error]bool
	st   Stats
}

// Stats of a socket.
type Stats struct {
	Sent     uint64 // datagrams
	Unsent   uint64 // that the kernel did not take
	Received uint64
	Overflow uint64 // that the kernel dropped because the buffer was full; modulo 2^32
	Buffer   int    // bytes of the receive buffer, as the kernel counts
}

// Listen makes a socket and binds it. The error says what to do if the port is
// taken.
func Listen(at netip.AddrPort) (*Socket, error) {
	s := &Socket{six: at.Addr().Is6(), told: map[error]bool{}, log: func(string, ...any) {}}
	fail := func(what string, err error) (*Socket, error) {
		if s.fd > 0 {
			unix.Close(s.fd)
		}
		switch {
		case errors.Is(err, unix.EADDRINUSE):
			err = fmt.Errorf("%w: another fabric or cnuas switch has it; use another port", err)
		case errors.Is(err, unix.EADDRNOTAVAIL):
			err = fmt.Errorf("%w: this machine has no such address; ip address lists those it has", err)
		case errors.Is(err, unix.EACCES):
			err = fmt.Errorf("%w: ports below 1024 are for root; use another port", err)
		}
		return nil, fmt.Errorf("tunnel: udp %v: %s: %w", at, what, err)
	}
	family := unix.AF_INET
	if s.six {
		family = unix.AF_INET6
	}
	var err error
	if s.fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return fail("socket", err)
	}
	for _, o := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
		if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, o[0], bufferBytes) != nil {
			if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, o[1], bufferBytes); err != nil {
				return fail("set the size of its buffers", err)
			}
		}
	}
	if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1); err != nil {
		return fail("count overflows", err)
	}
	s.st.Buffer, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err := unix.Bind(s.fd, sockaddr(at)); err != nil {
		return fail("bind", err)
	}
	name, err := unix.Getsockname(s.fd)
	if err != nil {
		return fail("name", err)
	}
	s.at = address(name)
	s.in, s.out = newReceiver(), newSender(s.six)
	return s, nil
}

// Addr is where the socket is.
func (s *Socket) Addr() netip.AddrPort { return s.at }

// Start lets a hub receive from the socket, on the loop. The hub sends by Send.
func (s *Socket) Start(l Loop, h *tunnel.Hub, log func(format string, args ...any)) error {
	s.loop, s.hub, s.log = l, h, log
	if err := l.AddFD(s.fd, s); err != nil {
		return err
	}
	l.AddFlusher(s.Flush)
	return nil
}

// Stats returns what the socket has counted.
func (s *Socket) Stats() Stats { return s.st }

// Close ends the socket, after sending what waits. The caller holds the engine,
// or the loop has ended.
func (s *Socket) Close() error {
	if s.fd < 0 {
		return nil
	}
	s.Flush()
	if s.loop != nil {
		s.loop.RemoveFD(s.fd)
	}
	err := os.NewSyscallError("close", unix.Close(s.fd))
	s.fd = -1
	return err
}

// tell logs an error of the kernel, each kind once.
func (s *Socket) tell(what string, err error) {
	if !s.told[err] {
		s.told[err] = true
		s.log("tunnel: udp %v: %s: %v; more of them are counted only", s.at, what, err)
	}
}

// Resolve reads "host:port", where host may be a name.
func Resolve(s string) (netip.AddrPort, error) {
	a, err := net.ResolveUDPAddr("udp", s)
	if err != nil {
		return netip.AddrPort{}, err
	}
	p := a.AddrPort()
	if p.Port() == 0 || !p.Addr().IsValid() {
		return p, fmt.Errorf("%q is not host:port", s)
	}
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port()), nil
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

func address(s unix.Sockaddr) netip.AddrPort {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr), uint16(s.Port))
	}
	return netip.AddrPort{}
}

package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// RoCEPort is the UDP destination port of RoCEv2 (IBTA annex A17 §A17.3.1.2).
const RoCEPort = 4791

// Discard is a pair of UDP sockets that throw away what arrives.
type Discard struct{ fds []int }

// Discard binds UDP port 4791 in the namespace, IPv4 and IPv6, so that the
// frames which the NIC shows to packet sockets are not answered by ICMP port
// unreachable. A filter drops them before they take memory.
func (n *NS) Discard() (*Discard, error) {
	d := &Discard{}
	err := n.In(func() error {
		if err := d.open(unix.AF_INET, &unix.SockaddrInet4{Port: RoCEPort}); err != nil {
			return err
		}
		err := d.open(unix.AF_INET6, &unix.SockaddrInet6{Port: RoCEPort})
		if err == unix.EAFNOSUPPORT || err == unix.EADDRNOTAVAIL { // no IPv6 in this kernel
			return nil
		}
		return err
	})
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("namespace %s: discard UDP port %d: %w", n.name, RoCEPort, err)
	}
	return d, nil
}

func (d *Discard) open(family int, addr unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_UDP)
	if err != nil {
		return err
	}
	d.fds = append(d.fds, fd)
	// BPF_RET|BPF_K with 0: keep no byte of any packet. Before bind, so that
	// none slips in.
	drop := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}
	prog := unix.SockFprog{Len: 1, Filter: &drop}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog); err != nil {
		return fmt.Errorf("attach filter: %w", err)
	}
	if family == unix.AF_INET6 {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1); err != nil {
			return err
		}
	}
	return unix.Bind(fd, addr)
}

// Close unbinds the port.
func (d *Discard) Close() {
	for _, fd := range d.fds {
		unix.Close(fd)
	}
	d.fds = nil
}

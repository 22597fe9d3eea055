package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// usable are the states of a neighbour whose address the kernel itself would
// send to (NUD_VALID).
const usable = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE |
	netlink.NUD_PROBE | netlink.NUD_STALE | netlink.NUD_DELAY

// recheck bounds the wait for an event, should one be lost (ENOBUFS).
const recheck = 50 * time.Millisecond

// neighbour finds the link address of hop on the interface.
func (n *NS) neighbour(ctx context.Context, hop netip.Addr, index int) (mac [6]byte, err error) {
	mac, state, err := n.entry(hop, index)
	if err != nil || state&usable != 0 {
		if err == nil && state == netlink.NUD_STALE {
			n.solicit(hop, index) // as sending to it does: the kernel verifies it meanwhile
		}
		return mac, err
	}
	ev, err := n.neighEvents()
	if err != nil {
		return mac, err
	}
	defer ev.Close()
	stop := context.AfterFunc(ctx, func() { ev.SetReadDeadline(time.Now()) })
	defer stop()

	if err := n.solicit(hop, index); err != nil {
		return mac, err
	}
	buf := make([]byte, 8192)
	for {
		mac, state, err = n.entry(hop, index)
		switch {
		case err != nil || state&usable != 0:
			return mac, err
		case state == netlink.NUD_FAILED:
			// The kernel gave up; the caller's time is not over.
			if err := n.solicit(hop, index); err != nil {
				return mac, err
			}
		}
		ev.SetReadDeadline(time.Now().Add(recheck))
		if ctx.Err() != nil {
			return mac, n.noAnswer(ctx, hop)
		}
		// What the event says does not matter: the table is read again.
		if _, err := ev.Read(buf); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, unix.ENOBUFS) {
			return mac, fmt.Errorf("neighbour events: %w", err)
		}
	}
}

func (n *NS) noAnswer(ctx context.Context, hop netip.Addr) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return fmt.Errorf("no answer from %v: %w (is its link up? is it on this subnet? try: ip netns exec %s ping %v)",
		hop, unix.EHOSTUNREACH, n.name, hop)
}

// entry reads one entry of the neighbour table; state is 0 if there is none.
func (n *NS) entry(hop netip.Addr, index int) (mac [6]byte, state int, err error) {
	family := unix.AF_INET
	if hop.Is6() {
		family = unix.AF_INET6
	}
	ns, err := n.nl.NeighList(index, family)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return mac, 0, fmt.Errorf("read the neighbour table: %w", err)
	}
	for _, x := range ns {
		if ip, ok := netip.AddrFromSlice(x.IP); ok && ip.Unmap() == hop {
			if x.State&usable != 0 && copy(mac[:], x.HardwareAddr) != len(mac) {
				return mac, 0, fmt.Errorf("neighbour %v has no Ethernet address: %w", hop, unix.EINVAL)
			}
			return mac, x.State, nil
		}
	}
	return mac, 0, nil
}

// solicit makes the kernel resolve hop as if it had a packet to send.
func (n *NS) solicit(hop netip.Addr, index int) error {
	err := n.nl.NeighSet(&netlink.Neigh{LinkIndex: index, IP: hop.AsSlice(), Flags: netlink.NTF_USE})
	if err != nil {
		return fmt.Errorf("solicit %v: %w", hop, err)
	}
	return nil
}

// neighEvents opens a socket on which changes of the neighbour table arrive.
func (n *NS) neighEvents() (*os.File, error) { return n.events(unix.RTMGRP_NEIGH) }

// events opens a socket on which changes of the groups' tables arrive.
func (n *NS) events(groups uint32) (f *os.File, err error) {
	err = n.In(func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
		if err != nil {
			return fmt.Errorf("netlink: %w", err)
		}
		if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
			unix.Close(fd)
			return fmt.Errorf("netlink: subscribe to changes: %w", err)
		}
		f = os.NewFile(uintptr(fd), "netlink")
		return nil
	})
	return f, err
}

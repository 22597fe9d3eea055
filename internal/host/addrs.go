package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Addrs reads the interface's addresses: IPv4 first, IPv6 link-local ones last,
// otherwise in the kernel's order.
func (t *TAP) Addrs() ([]netip.Prefix, error) {
	l, err := t.ns.nl.LinkByIndex(t.index)
	if err != nil {
		return nil, t.wrap(err)
	}
	all, err := t.ns.nl.AddrList(l, netlink.FAMILY_ALL)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, t.wrap(fmt.Errorf("list addresses: %w", err))
	}
	var ps []netip.Prefix
	for _, a := range all {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			bits, _ := a.Mask.Size()
			ps = append(ps, netip.PrefixFrom(ip.Unmap(), bits))
		}
	}
	rank := func(p netip.Prefix) int {
		switch a := p.Addr(); {
		case a.Is4():
			return 0
		case a.IsLinkLocalUnicast():
			return 2
		}
		return 1
	}
	slices.SortStableFunc(ps, func(a, b netip.Prefix) int { return rank(a) - rank(b) })
	return ps, nil
}

// WatchAddrs calls changed with the interface's addresses at once and whenever
// they change, until ctx ends or the interface is gone.
func (t *TAP) WatchAddrs(ctx context.Context, changed func([]netip.Prefix)) error {
	ev, err := t.ns.events(unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR)
	if err != nil {
		return t.wrap(err)
	}
	defer ev.Close()
	stop := context.AfterFunc(ctx, func() { ev.SetReadDeadline(time.Now()) })
	defer stop()
	var last []netip.Prefix
	buf := make([]byte, 8192)
	for {
		now, err := t.Addrs()
		if err != nil {
			return err
		}
		if !slices.Equal(now, last) {
			changed(now)
			last = now
		}
		// What the event says does not matter: the table is read again.
		if _, err := ev.Read(buf); ctx.Err() != nil {
			return nil
		} else if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, unix.ENOBUFS) {
			return t.wrap(fmt.Errorf("address events: %w", err))
		}
	}
}

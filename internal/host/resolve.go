package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ResolveTimeout is how long Resolve waits if the context has no deadline: as
// long as the first retry of ARP takes (RFC 1122 §2.3.2.1).
const ResolveTimeout = time.Second

// Resolve returns the link address to which frames for dst are sent: that of
// dst itself on the same link, of the gateway otherwise, of the own interface
// for an own address. It asks the namespace's routes and its neighbour table,
// and makes the kernel send ARP (RFC 826) or neighbour solicitations (RFC 4861
// §7.2) if the answer is not there. src, if valid, takes part in the choice of
// the route; a link-local dst needs it to tell the interface.
//
// Errors wrap unix.ENETUNREACH (no route), unix.EHOSTUNREACH (no answer),
// unix.EINVAL (not a unicast address), or the context's error. It may block,
// and may be called from many goroutines.
func (n *NS) Resolve(ctx context.Context, dst, src netip.Addr) ([6]byte, error) {
	return n.resolve(ctx, dst, src, 0)
}

// Resolve is NS.Resolve for frames that leave by this interface only.
func (t *TAP) Resolve(ctx context.Context, dst, src netip.Addr) ([6]byte, error) {
	return t.ns.resolve(ctx, dst, src, t.index)
}

func (n *NS) resolve(ctx context.Context, dst, src netip.Addr, oif int) ([6]byte, error) {
	mac, err := n.lookup(ctx, dst.Unmap().WithZone(""), src.Unmap().WithZone(""), oif)
	if err != nil {
		return mac, fmt.Errorf("namespace %s: resolve %v: %w", n.name, dst, err)
	}
	return mac, nil
}

func (n *NS) lookup(ctx context.Context, dst, src netip.Addr, oif int) (mac [6]byte, err error) {
	if !dst.IsValid() || dst.IsMulticast() || dst.IsUnspecified() || src.IsValid() && src.Is4() != dst.Is4() {
		return mac, unix.EINVAL
	}
	r, err := n.route(dst, src, oif)
	if err != nil {
		return mac, err
	}
	switch r.Type {
	case unix.RTN_UNICAST:
	case unix.RTN_LOCAL:
		return n.ownMAC(dst, r.LinkIndex)
	case unix.RTN_UNREACHABLE, unix.RTN_BLACKHOLE, unix.RTN_PROHIBIT:
		return mac, fmt.Errorf("the route forbids it: %w", unix.ENETUNREACH)
	default:
		return mac, fmt.Errorf("not the address of one host: %w", unix.EINVAL)
	}
	hop := dst
	if gw, ok := netip.AddrFromSlice(r.Gw); ok {
		hop = gw.Unmap()
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ResolveTimeout)
		defer cancel()
	}
	mac, err = n.neighbour(ctx, hop, r.LinkIndex)
	if err != nil && hop != dst {
		err = fmt.Errorf("gateway %v: %w", hop, err)
	}
	return mac, err
}

// route asks the kernel for the route to dst.
func (n *NS) route(dst, src netip.Addr, oif int) (netlink.Route, error) {
	if dst.IsLinkLocalUnicast() && dst.Is6() && oif == 0 {
		oif = n.indexOf(src)
	}
	opt := &netlink.RouteGetOptions{OifIndex: oif}
	if src.IsValid() && !src.IsUnspecified() {
		opt.SrcAddr = src.AsSlice()
	}
	rs, err := n.nl.RouteGetWithOptions(dst.AsSlice(), opt)
	if err != nil && opt.SrcAddr != nil && n.indexOf(src) == 0 {
		// The kernel says ENETUNREACH or EINVAL, depending on the family.
		return netlink.Route{}, fmt.Errorf("source %v is not an address of the node: %w", src, unix.EINVAL)
	}
	switch {
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH), err == nil && len(rs) == 0:
		return netlink.Route{}, fmt.Errorf("no route: %w (see: ip -n %s route; give the node a gateway)", unix.ENETUNREACH, n.name)
	case err != nil:
		return netlink.Route{}, fmt.Errorf("look up the route: %w", err)
	}
	return rs[0], nil
}

// indexOf returns the interface that has the address, 0 if none.
func (n *NS) indexOf(a netip.Addr) int {
	if !a.IsValid() {
		return 0
	}
	as, _ := n.nl.AddrList(nil, netlink.FAMILY_ALL)
	for _, x := range as {
		if ip, ok := netip.AddrFromSlice(x.IP); ok && ip.Unmap() == a {
			return x.LinkIndex
		}
	}
	return 0
}

// ownMAC is the address of the interface that owns the local address dst. The
// kernel's route to it names lo for IPv4.
func (n *NS) ownMAC(dst netip.Addr, index int) (mac [6]byte, err error) {
	if i := n.indexOf(dst); i != 0 {
		index = i
	}
	l, err := n.nl.LinkByIndex(index)
	if err != nil {
		return mac, fmt.Errorf("own interface %d: %w", index, err)
	}
	if copy(mac[:], l.Attrs().HardwareAddr) != len(mac) {
		return mac, fmt.Errorf("own interface %s has no Ethernet address: %w", l.Attrs().Name, unix.EINVAL)
	}
	return mac, nil
}

package host

import (
	"fmt"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// Way is how the kernel of a namespace reaches an address.
type Way struct {
	Index int        // interface that packets leave by
	Src   netip.Addr // address that they come from
	Hop   netip.Addr // who they are sent to on the link: the destination, or a gateway
	Local bool       // the destination is an address of the namespace itself
}

// Way asks the namespace's routes for the way to dst, which may be a multicast
// group. src, if valid, takes part in the choice. A link-local dst needs src or
// a zone, which is an interface's index in decimal. Errors are those of
// Resolve.
func (n *NS) Way(dst, src netip.Addr) (Way, error) {
	w, err := n.way(dst, src.Unmap().WithZone(""))
	if err != nil {
		return w, fmt.Errorf("namespace %s: way to %v: %w", n.name, dst, err)
	}
	return w, nil
}

func (n *NS) way(dst, src netip.Addr) (w Way, err error) {
	oif := 0
	if z := dst.Zone(); z != "" {
		if oif, err = strconv.Atoi(z); err != nil {
			return w, fmt.Errorf("zone %q: %w", z, unix.EINVAL)
		}
	}
	dst = dst.Unmap().WithZone("")
	if !dst.IsValid() || dst.IsUnspecified() || src.IsValid() && src.Is4() != dst.Is4() {
		return w, unix.EINVAL
	}
	if dst.IsMulticast() && oif == 0 && src.IsValid() {
		oif = n.indexOf(src)
	}
	r, err := n.route(dst, src, oif)
	if err != nil {
		return w, err
	}
	switch r.Type {
	case unix.RTN_UNREACHABLE, unix.RTN_BLACKHOLE, unix.RTN_PROHIBIT:
		return w, fmt.Errorf("the route forbids it: %w", unix.ENETUNREACH)
	case unix.RTN_BROADCAST, unix.RTN_ANYCAST:
		return w, fmt.Errorf("not the address of one host or a group: %w", unix.EINVAL)
	}
	w = Way{Index: r.LinkIndex, Src: src, Hop: dst, Local: r.Type == unix.RTN_LOCAL}
	if a, ok := netip.AddrFromSlice(r.Src); ok && !src.IsValid() {
		w.Src = a.Unmap()
	}
	if gw, ok := netip.AddrFromSlice(r.Gw); ok && len(r.Gw) > 0 {
		w.Hop = gw.Unmap()
	}
	if w.Local && !src.IsValid() {
		w.Src = dst
	}
	return w, nil
}

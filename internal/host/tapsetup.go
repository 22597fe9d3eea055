package host

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// setup configures the open interface by netlink.
func (t *TAP) setup() error {
	nl := t.ns.nl
	l, err := nl.LinkByName(t.cfg.Name)
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	t.index = l.Attrs().Index
	if t.cfg.Layer3 {
		if err := t.ns.In(t.noLinkLocal); err != nil {
			return err
		}
	} else if err := nl.LinkSetHardwareAddr(l, t.cfg.MAC[:]); err != nil {
		return fmt.Errorf("set address %v: %w", net.HardwareAddr(t.cfg.MAC[:]), err)
	}
	if err := nl.LinkSetMTU(l, t.cfg.MTU); err != nil {
		return fmt.Errorf("set mtu %d: %w", t.cfg.MTU, err)
	}
	if err := t.setQueue(l); err != nil {
		return err
	}
	if err := t.setQdisc(l); err != nil {
		return err
	}
	if err := nl.LinkSetUp(l); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	for _, a := range t.cfg.Addrs {
		if err := t.addAddr(l, a); err != nil {
			return err
		}
	}
	for _, r := range t.cfg.Routes {
		dst := ipNet(r.Dst.Masked())
		err := nl.RouteAdd(&netlink.Route{LinkIndex: t.index, Dst: &dst, Gw: r.Via.AsSlice()})
		if err != nil {
			return fmt.Errorf("route %v via %v: %w (is the gateway within a prefix of this interface?)", r.Dst, r.Via, err)
		}
	}
	return nil
}

// noLinkLocal keeps the kernel from making up a random link-local address, as it
// does for a tun device: mode 1, IN6_ADDR_GEN_MODE_NONE.
func (t *TAP) noLinkLocal() error {
	return sysctl("net/ipv6/conf/"+t.cfg.Name+"/addr_gen_mode", "1")
}

// setQueue sets the length of the ring between kernel and fabric. Some kernels
// cap it (7.3 at 32767): halve until it is accepted.
func (t *TAP) setQueue(l netlink.Link) error {
	for n := t.cfg.TxQueueLen; ; n /= 2 {
		err := t.ns.nl.LinkSetTxQLen(l, n)
		if err == nil {
			t.qlen = n
			return nil
		}
		if n < 1000 {
			return fmt.Errorf("set txqueuelen %d: %w", n, err)
		}
	}
}

func (t *TAP) addAddr(l netlink.Link, p netip.Prefix) error {
	n := ipNet(p)
	a := &netlink.Addr{IPNet: &n}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
		if _, err := os.Stat("/proc/sys/net/ipv6"); err != nil {
			return fmt.Errorf("address %v: %w: IPv6 is disabled in this kernel (boot without ipv6.disable=1)", p, ErrNotSupported)
		}
	}
	if err := t.ns.nl.AddrAdd(l, a); err != nil {
		return fmt.Errorf("address %v: %w", p, err)
	}
	return nil
}

func ipNet(p netip.Prefix) net.IPNet {
	return net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Carrier sets the link state that the node's kernel sees: without carrier
// `ip link` shows NO-CARRIER and the kernel sends nothing.
func (t *TAP) Carrier(up bool) error {
	v := 0
	if up {
		v = 1
	}
	if err := unix.IoctlSetPointerInt(t.fd, unix.TUNSETCARRIER, v); err != nil {
		return t.wrap(fmt.Errorf("set carrier: %w", err))
	}
	return nil
}

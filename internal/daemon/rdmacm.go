package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"cnuas/hca/rdmacm"
	"cnuas/hca/uverbs"
)

// connections makes the rdma_cm of the node, whose devices are devs.
func (n *node) connections(d *Daemon, devs []uverbs.Device) error {
	cfg := rdmacm.Config{Node: n.name(), Do: d.loop.Do, Proc: d.fab.Engine.NewProc, Route: n.route, Log: d.logf}
	for _, v := range devs {
		x := rdmacm.Device{HCA: v.HCA, MADs: d.fab.MADs(v.HCA), Rate: v.Rate}
		for _, p := range n.fab.IBPorts() {
			if p.Device() == v.HCA && p.IPoIB() != nil {
				x.IP = p.IPoIB()
			}
		}
		n.ips = append(n.ips, x.IP)
		cfg.Devices = append(cfg.Devices, x)
	}
	var err error
	n.cm, err = rdmacm.New(cfg)
	return err
}

// route is the way to an address as the node's tables say.
func (n *node) route(ctx context.Context, dst, src netip.Addr) (r rdmacm.Route, err error) {
	w, err := n.host.Way(dst, src)
	if errors.Is(err, unix.ENETUNREACH) && dst.IsMulticast() && !src.IsValid() {
		// Nodes have a default route only where there is a router. A group is on
		// the first port then.
		if a := n.firstAddr(dst.Is4()); a.IsValid() {
			w, err = n.host.Way(dst, a)
		}
	}
	if err != nil {
		return r, err
	}
	r = rdmacm.Route{Dev: n.deviceAt(w.Index), Src: w.Src, Hop: w.Hop}
	if w.Local {
		r.Dev = n.deviceOf(w.Hop)
	}
	if r.Dev < 0 || n.macs[r.Dev] == nil || dst.IsMulticast() {
		return r, nil
	}
	if r.MAC, err = n.macs[r.Dev].tap.Resolve(ctx, dst.WithZone(""), w.Src); err != nil {
		return r, fmt.Errorf("next hop: %w", err)
	}
	return r, nil
}

// firstAddr is the first address of a kind that a port with a device has.
func (n *node) firstAddr(v4 bool) netip.Addr {
	for k, p := range n.macs {
		var l []netip.Prefix
		switch {
		case p != nil:
			l = p.fab.Spec.Addrs
		case n.ips[k] != nil:
			l = n.ips[k].Addrs()
		}
		for _, a := range l {
			if a.Addr().Is4() == v4 && !a.Addr().IsLinkLocalUnicast() {
				return a.Addr()
			}
		}
	}
	return netip.Addr{}
}

// deviceAt is the number of the device on an interface, -1 if there is none.
func (n *node) deviceAt(index int) int {
	for k, p := range n.macs {
		if p != nil && p.tap.Index() == index {
			return k
		}
	}
	for _, x := range n.ipoib {
		if x.tap.Index() == index {
			return slices.IndexFunc(n.ips, func(i rdmacm.IPoIB) bool { return i == rdmacm.IPoIB(x.i) })
		}
	}
	return -1
}

// deviceOf is the number of the device whose interface has an address, -1 if
// there is none.
func (n *node) deviceOf(ip netip.Addr) int {
	for k, p := range n.macs {
		var l []netip.Prefix
		switch {
		case p != nil:
			l = p.fab.Spec.Addrs
		case n.ips[k] != nil:
			l = n.ips[k].Addrs()
		}
		if slices.ContainsFunc(l, func(a netip.Prefix) bool { return a.Addr() == ip }) {
			return k
		}
	}
	return -1
}

package daemon

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"

	"cnuas/hca"
	"cnuas/hca/rdmacm"
	"cnuas/hca/umad"
	"cnuas/hca/uverbs"
	"cnuas/internal/fabric"
	"cnuas/internal/host"
	"cnuas/internal/rdma"
	"cnuas/internal/topology"
)

// node is a host of the running fabric: its namespace and interfaces, and the
// server of its verbs programs.
type node struct {
	fab    *fabric.Node
	host   *host.Node
	ports  []*port                // Ethernet
	macs   []*port                // by verbs device: who finds its next hops; nil for InfiniBand
	mgmt   *management            // nil: not on the management network
	ipoib  []*ipoibDev            // in the order of InfiniBand ports
	verbs  *uverbs.Node           // of stacks without a kernel's part
	cm     *rdmacm.Service        // of the same
	ips    []rdmacm.IPoIB         // by verbs device: of those with an IP interface on InfiniBand
	kernel *kernelRDMA            // of the others
	sysfs  func() (string, error) // writes the view of the devices once
	logf   func(format string, args ...any)
}

// port is an interface of a node.
type port struct {
	fab    *fabric.Interface
	tap    *host.TAP
	kernel *kernel
	mirror *mirror // nil unless there is an HCA
}

func (n *node) name() string { return n.fab.Spec.Name }

func nodeConfig(n *fabric.Node, token string) host.NodeConfig {
	c := host.NodeConfig{Name: n.Spec.Name, Discard: n.Spec.Stack == topology.StackSoft}
	for _, i := range n.Interfaces() {
		t := tapConfig(i.Spec)
		if n.Spec.Stack == topology.StackSIW {
			t.Index = ownIndex(token, c.Name, t.Name)
		}
		c.TAPs = append(c.TAPs, t)
	}
	return c
}

// attach joins the interfaces to the fabric's devices. The engine does not run
// yet; nodes are attached one after the other.
func (n *node) attach(d *Daemon) error {
	for i, f := range n.fab.Interfaces() {
		p := &port{fab: f, tap: n.host.TAPs[i]}
		n.ports = append(n.ports, p)
		p.kernel = newKernel(p.tap, f, d.fab, d.loop)
		p.kernel.discard()
		if f.HCA() != nil {
			p.mirror = &mirror{k: p.kernel}
		}
		if err := d.loop.AddFD(p.tap.FD(), p.kernel); err != nil {
			return fmt.Errorf("node %s: %w", n.name(), err)
		}
		if !p.fab.NIC().Port().Up() {
			p.kernel.LinkChanged(false)
		}
	}
	if k, ok := stackKind(n.fab.Spec.Stack); ok {
		n.kernel = &kernelRDMA{kind: k}
		for i := range n.ports {
			n.kernel.devices = append(n.kernel.devices, rdma.DeviceName(k, i, n.name()))
		}
		return nil
	}
	cfg := uverbs.NodeConfig{Name: n.name(), Resolve: n.resolve, Devices: n.devices()}
	mad, err := umad.New(umad.Config{Do: d.loop.Do, Log: d.logf, Devices: n.madDevices(d, cfg.Devices)})
	if err != nil {
		return fmt.Errorf("node %s: %w", n.name(), err)
	}
	if err := n.connections(d, cfg.Devices); err != nil {
		return err
	}
	cfg.Kinds = append(cfg.Kinds, mad, n.cm)
	if n.verbs, err = d.verbs.AddNode(cfg); err != nil {
		return fmt.Errorf("node %s: %w", n.name(), err)
	}
	dir := filepath.Join(d.dir, "sys", n.name())
	// Some sixty files, which no program needs before the first one starts.
	n.sysfs = sync.OnceValues(func() (string, error) { return dir, uverbs.WriteSysfs(dir, n.verbs) })
	return nil
}

// devices lists the node's verbs devices in the order of their names, which
// number both kinds of port. A node without any still has programs, which see
// none.
func (n *node) devices() []uverbs.Device {
	type device struct {
		uverbs.Device
		port *port
	}
	var l []device
	for _, p := range n.ports {
		if h := p.fab.HCA(); h != nil {
			l = append(l, device{uverbs.Device{HCA: h, Name: h.Name(), NetDev: p.tap.Name(), Rate: int64(p.fab.NIC().Port().Rate())}, p})
		}
	}
	for _, p := range n.fab.IBPorts() {
		l = append(l, device{uverbs.Device{HCA: p.Device(), Name: p.DeviceName()}, nil})
	}
	slices.SortStableFunc(l, func(a, b device) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	var devs []uverbs.Device
	for _, x := range l {
		devs, n.macs = append(devs, x.Device), append(n.macs, x.port)
	}
	return devs
}

// madDevices lists those of the verbs devices whose MADs programs can have: with
// an InfiniBand port.
func (n *node) madDevices(d *Daemon, devs []uverbs.Device) (l []umad.Device) {
	for _, v := range devs {
		if v.HCA.IB() != nil {
			l = append(l, umad.Device{HCA: v.HCA, Name: v.Name, MADs: d.fab.MADs(v.HCA)})
		}
	}
	return l
}

// tapConfig leaves the link-local address to the kernel, which derives it from
// the MAC address as the HCA's GID 0 is.
func tapConfig(i *topology.Interface) host.TAPConfig {
	c := host.TAPConfig{Name: i.Name, MAC: i.MAC, MTU: i.MTU, Addrs: i.Addrs}
	for _, gw := range []netip.Addr{i.Gateway4, i.Gateway6} {
		if gw.IsValid() {
			any := netip.IPv4Unspecified()
			if gw.Is6() {
				any = netip.IPv6Unspecified()
			}
			c.Routes = append(c.Routes, host.Route{Dst: netip.PrefixFrom(any, 0), Via: gw})
		}
	}
	return c
}

// resolve finds the next hop towards a GID in the node's own tables.
func (n *node) resolve(ctx context.Context, dev int, dgid, sgid hca.GID) ([6]byte, error) {
	if dev < 0 || dev >= len(n.macs) || n.macs[dev] == nil {
		return [6]byte{}, fmt.Errorf("node %s has no Ethernet device %d", n.name(), dev)
	}
	return n.macs[dev].tap.Resolve(ctx, netip.AddrFrom16(dgid), netip.AddrFrom16(sgid))
}

func (n *node) execReply() (r ExecReply, err error) {
	r.NetNS = n.host.Path()
	if n.kernel != nil {
		r.Kernel = n.kernel.view()
		return r, nil
	}
	r.SysfsDir, err = n.sysfs()
	return r, err
}

// programs counts the programs that run in the node.
func (n *node) programs() int {
	if n.kernel != nil {
		return int(n.kernel.programs.Load())
	}
	return n.verbs.Usage().Sessions
}

// exec serves a program's session until it ends.
func (n *node) exec(c *net.UnixConn) {
	if n.kernel != nil {
		n.kernel.serve(c)
		return
	}
	if err := n.verbs.Attach(c); err != nil {
		n.logf("exec on %s: %v", n.name(), err)
	}
}

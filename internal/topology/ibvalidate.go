package topology

import (
	"fmt"
	"net/netip"
	"slices"
)

// The invariants of the InfiniBand part of a Spec.

// ibNode checks what an HCA or a switch says of itself.
func (v *validator) ibNode(n *IBNode, who string) {
	if n.NumPorts < 1 || n.NumPorts > MaxIBPorts || n.VendorID >= 1<<24 {
		v.fail("%s: %d ports, vendor %#x", who, n.NumPorts, n.VendorID)
	}
	if err := checkDesc(n.Desc); err != nil {
		v.fail("%s: %v", who, err)
	}
	if n.SystemGUID == 0 {
		v.fail("%s: no system image GUID", who)
	}
	v.guid(n.GUID, guidOwner{device: who, who: who})
}

// checkDesc tells what is wrong with a node description, which tools print as
// text of one line.
func checkDesc(s string) error {
	if s == "" || len(s) > maxDesc {
		return fmt.Errorf("a node description has 1 to %d bytes, not %d", maxDesc, len(s))
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return fmt.Errorf("the node description %q has a character that is not printable ASCII", s)
		}
	}
	return nil
}

// maxDesc is the length of the field NodeString (IBTA Vol 1 §14.2.5.2).
const maxDesc = 64

func (v *validator) guid(g GUID, o guidOwner) {
	old, dup := v.guids[g]
	if g == 0 || g == 1<<64-1 || dup && (old.device != o.device || old.port || !o.port) {
		v.fail("%s: GUID %v is bad or already that of %q", o.who, g, old.who)
	}
	v.guids[g] = o
}

// hcas checks the InfiniBand devices and ports of a node.
func (v *validator) hcas(i int, names map[string]bool) {
	n := &v.s.Nodes[i]
	if len(n.HCAs) > 0 && n.Stack != StackSoft {
		v.fail("%s: InfiniBand devices and stack %q", n.Name, n.Stack)
	}
	devices := map[string]bool{}
	device := func(name string) {
		if name != "" && devices[name] {
			v.fail("%s: two RDMA devices %s", n.Name, name)
		}
		devices[name] = true
	}
	for _, f := range n.Interfaces {
		device(f.Device)
	}
	for j := range n.HCAs {
		h := &n.HCAs[j]
		who := n.Name + " " + h.Device
		if err := checkInterface(h.Device); err != nil {
			v.fail("%s: %v", who, err)
		}
		device(h.Device)
		v.ibNode(&h.IBNode, who)
		nums := []int{}
		for _, p := range n.IBPorts {
			if p.HCA == j {
				nums = append(nums, p.Num)
			}
		}
		slices.Sort(nums)
		for k, num := range nums {
			if num != k+1 || len(nums) != h.NumPorts {
				v.fail("%s: ports %v of %d", who, nums, h.NumPorts)
				break
			}
		}
		if len(nums) == 0 {
			v.fail("%s: no ports", who)
		}
	}
	for j := range n.IBPorts {
		p := &n.IBPorts[j]
		who := n.Name + ":" + p.Name
		if err := checkInterface(p.Name); err != nil || names[p.Name] {
			v.fail("%s: bad or double interface name", who)
		}
		names[p.Name] = true
		if p.HCA < 0 || p.HCA >= len(n.HCAs) {
			v.fail("%s: HCA %d does not exist", who, p.HCA)
			continue
		}
		v.guid(p.GUID, guidOwner{device: n.Name + " " + n.HCAs[p.HCA].Device, who: who, port: true})
		v.addrs(p.Addrs, who)
		if p.Link == -1 && p.Subnet == -1 && len(p.Addrs) == 0 {
			continue
		}
		v.leads(p.Link, End{Node: i, Switch: -1, Port: j}, true, who)
		if p.Subnet < 0 || p.Subnet >= len(v.s.Subnets) || !v.s.Subnets[p.Subnet].IPoIB {
			v.fail("%s: subnet %d is none of IPoIB", who, p.Subnet)
		}
	}
}

// ibSwitch checks an InfiniBand switch.
func (v *validator) ibSwitch(i int) {
	w := &v.s.Switches[i]
	v.ibNode(&w.IB.IBNode, w.Name)
	if w.IB.LFTCap < minLFTCap || w.IB.LFTCap > DefaultLFTCap || w.IB.MCastCap < 1 || w.IB.MCastCap > maxMCastCap {
		v.fail("%s: forwarding tables of %d and %d entries", w.Name, w.IB.LFTCap, w.IB.MCastCap)
	}
	if w.IB.Latency < 0 || w.IB.Latency > MaxDelay {
		v.fail("%s: a latency of %v", w.Name, w.IB.Latency)
	}
	last := 0
	for j, p := range w.Ports {
		who := fmt.Sprintf("%s:%d", w.Name, p.Number)
		if p.Number <= last || p.Number > w.IB.NumPorts {
			v.fail("%s: port numbers do not ascend to at most %d", who, w.IB.NumPorts)
		}
		last = p.Number
		v.leads(p.Link, End{Node: -1, Switch: i, Port: j}, true, who)
	}
}

// ibLink checks the properties of an InfiniBand link.
func (v *validator) ibLink(l *Link, who string) {
	x := l.IB
	if !slices.Contains(ibWidths, int64(x.Width)) || x.Speed.SignalRate() == 0 || !slices.Contains(ibMTUs, int64(x.MTU)) || !slices.Contains(ibVLs, int64(x.VLs)) {
		v.fail("%s: width %d, speed %q, MTU %d, %d VLs", who, x.Width, x.Speed, x.MTU, x.VLs)
	} else if l.Rate != x.DataRate() {
		v.fail("%s: rate %d b/s of %dx%s, whose data rate is %d b/s", who, l.Rate, x.Width, x.Speed, x.DataRate())
	}
}

// sms checks the subnet managers.
func (v *validator) sms() {
	at := map[[2]int]bool{}
	for i, m := range v.s.SMs {
		if m.Node < 0 || m.Node >= len(v.s.Nodes) || m.Port < 0 || m.Port >= len(v.s.Nodes[m.Node].IBPorts) || at[[2]int{m.Node, m.Port}] {
			v.fail("SM %d: port %d of node %d does not exist or has an SM", i, m.Port, m.Node)
		}
		at[[2]int{m.Node, m.Port}] = true
		if !slices.Contains(ibEngines, m.Engine) || m.Priority > 15 || m.LMC > 7 || m.Sweep < 0 || len(m.Partitions) > maxPartitions {
			v.fail("SM %d: engine %q, priority %d, LMC %d, sweep %v, partitions of %d B", i, m.Engine, m.Priority, m.LMC, m.Sweep, len(m.Partitions))
		}
	}
}

// management checks the management network.
func (v *validator) management() {
	m := v.s.Management
	if m == nil {
		return
	}
	if !m.Prefix.IsValid() || m.Prefix != m.Prefix.Masked() || m.MTU < MinMTU || m.MTU > MaxMTU || len(m.Ports) == 0 && (v.s.Rack == nil || v.s.Rack.BMC == nil) {
		v.fail("management: prefix %v, MTU %d, %d ports", m.Prefix, m.MTU, len(m.Ports))
	}
	seen := map[int]bool{}
	for _, p := range m.Ports {
		if p.Node < 0 || p.Node >= len(v.s.Nodes) || seen[p.Node] {
			v.fail("management: node %d does not exist or has two ports", p.Node)
			continue
		}
		seen[p.Node] = true
		n := &v.s.Nodes[p.Node]
		who := n.Name + ":" + p.Name
		same := func(name string) bool { return name == p.Name }
		if checkInterface(p.Name) != nil || slices.ContainsFunc(n.Interfaces, func(f Interface) bool { return same(f.Name) }) ||
			slices.ContainsFunc(n.IBPorts, func(f IBPort) bool { return same(f.Name) }) {
			v.fail("%s: bad or double interface name", who)
		}
		v.mac(p.MAC, who)
		v.addrs([]netip.Prefix{p.Addr}, who)
		if p.Addr.Masked() != m.Prefix {
			v.fail("%s: %v is not in %v", who, p.Addr, m.Prefix)
		}
	}
}

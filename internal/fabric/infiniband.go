package fabric

import (
	"fmt"
	"strings"

	"cnuas/hca"
	"cnuas/internal/ibport"
	"cnuas/internal/ipoib"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/switch/ib"
)

// Entries of the P_Key tables, as many as HCAs of the ConnectX line and
// switches of the Quantum line have.
const (
	caPKeys     = 128
	switchPKeys = 32
)

// caCapabilities is the CapabilityMask of HCA ports, as mlx5 devices say it;
// IsSM comes with a subnet manager, IsExtendedSpeeds with the speeds (IBTA
// vol. 1 §14.2.5.6).
const caCapabilities = mad.CapTrap | mad.CapAutoMigration | mad.CapSLMapping | mad.CapSystemImageGUID |
	mad.CapCommMgt | mad.CapVendorClass | mad.CapCapMaskNotice | mad.CapClientReregistration

// IBPort is an InfiniBand port of a node: a verbs device, and the port of the
// channel adapter that it is.
type IBPort struct {
	Spec *topology.IBPort
	HCA  *topology.HCA
	node *Node
	ca   *hca.CA
	host *smHost // who gets MADs, while a subnet manager runs here

	ipoib *ipoib.Interface // nil: none was started
}

// IBPorts returns the node's InfiniBand ports, ib0 first.
func (n *Node) IBPorts() []*IBPort { return n.ibs }

// CAs returns the node's channel adapters, in the order of Spec.HCAs.
func (n *Node) CAs() []*hca.CA { return n.cas }

// Name is the port's name, "h1:ib0".
func (p *IBPort) Name() string { return p.node.Spec.Name + ":" + p.Spec.Name }

// DeviceName is the name of the verbs device that the port is to programs. An
// adapter with several ports, which only imported nodes have, is as many devices
// of one port each, as with adapters of the ConnectX line.
func (p *IBPort) DeviceName() string { return deviceName(p.node.Spec, p.Spec) }

func deviceName(n *topology.Node, p *topology.IBPort) string {
	for i := range n.IBPorts {
		if n.IBPorts[i].Num > 1 {
			return "rxe" + strings.TrimPrefix(p.Name, "ib")
		}
	}
	return n.HCAs[p.HCA].Device
}

// Device is the verbs device of the port.
func (p *IBPort) Device() *hca.Device { return p.ca.Device(p.Spec.Num) }

// Port is the port on the wire.
func (p *IBPort) Port() *ibport.Port { return p.ca.Port(p.Spec.Num) }

// CA is the adapter that the port belongs to.
func (p *IBPort) CA() *hca.CA { return p.ca }

func (f *Fabric) addCAs(n *Node, o Options) error {
	for i := range n.Spec.HCAs {
		h := &n.Spec.HCAs[i]
		c := hca.CAConfig{Info: nodeInfo(mad.NodeCA, &h.IBNode), Desc: h.Desc, Ports: make([]hca.CAPortConfig, h.NumPorts)}
		c.Info.PartitionCap = caPKeys
		for j := range c.Ports { // those that are not connected have no name in the file
			f.fillCAPort(&c.Ports[j], h, o, fmt.Sprintf("%s:%s/%d", n.Spec.Name, h.Device, j+1), nil)
			c.Ports[j].Port.GUID = wire.GUID(h.GUID) + wire.GUID(j+1)
		}
		for j := range n.Spec.IBPorts {
			if p := &n.Spec.IBPorts[j]; p.HCA == i {
				f.fillCAPort(&c.Ports[p.Num-1], h, o, n.Spec.Name+":"+p.Name, f.ibLink(p.Link))
				c.Ports[p.Num-1].Name = deviceName(n.Spec, p)
				c.Ports[p.Num-1].Port.GUID = wire.GUID(p.GUID)
			}
		}
		ca, err := hca.NewCA(f.Engine, f.Pool, o.Batch, c)
		if err != nil {
			return err
		}
		n.cas = append(n.cas, ca)
	}
	for j := range n.Spec.IBPorts {
		p := &n.Spec.IBPorts[j]
		x := &IBPort{Spec: p, HCA: &n.Spec.HCAs[p.HCA], node: n, ca: n.cas[p.HCA]}
		n.ibs = append(n.ibs, x)
		f.addIBPort(x.Port())
	}
	return nil
}

func (f *Fabric) fillCAPort(c *hca.CAPortConfig, h *topology.HCA, o Options, name string, l *topology.Link) {
	c.Config = hca.Config{Name: h.Device, GUID: uint64(h.GUID), KeySeed: keySeed(o.KeySeed, f.Spec.Seed, name)}
	c.Port = IBPortConfig(l)
	c.Port.Name, c.Port.CapMask, c.Port.PKeys = name, c.Port.CapMask|caCapabilities, caPKeys
}

// ibLink is a link of the Spec; nil for none.
func (f *Fabric) ibLink(i int) *topology.Link {
	if i < 0 {
		return nil
	}
	return &f.Spec.Links[i]
}

func nodeInfo(t mad.NodeType, n *topology.IBNode) mad.NodeInfo {
	return mad.NodeInfo{NodeType: t, NumPorts: uint8(n.NumPorts), SystemImageGUID: wire.GUID(n.SystemGUID),
		NodeGUID: wire.GUID(n.GUID), DeviceID: n.DeviceID, VendorID: n.VendorID}
}

// ibSwitchConfig turns an InfiniBand switch of the Spec into what the switch is
// made from. Ports without a link are like the first that has one.
func ibSwitchConfig(s *topology.Spec, sw *topology.Switch) ib.Config {
	c := ib.Config{
		Name: sw.Name, Desc: sw.IB.Desc, GUID: wire.GUID(sw.IB.GUID), SystemGUID: wire.GUID(sw.IB.SystemGUID),
		VendorID: sw.IB.VendorID, DeviceID: sw.IB.DeviceID,
		Ports: sw.IB.NumPorts, LFTCap: sw.IB.LFTCap, MCastCap: sw.IB.MCastCap, EnhancedPort0: sw.IB.EnhancedPort0,
		Latency: sw.IB.Latency, NoLatency: sw.IB.Latency == 0, StoreAndForward: sw.IB.Store,
		Each: make([]*ibport.Config, sw.IB.NumPorts),
	}
	c.Port = IBPortConfig(nil)
	for i, p := range sw.Ports {
		pc := IBPortConfig(&s.Links[p.Link])
		c.Each[p.Number-1] = &pc
		if i == 0 {
			c.Port = pc
		}
	}
	c.Port.PKeys = switchPKeys
	return c
}

// IBPortConfig is what a port at a link can do: nothing above the link's width,
// speed, MTU and lanes. nil: no link.
func IBPortConfig(l *topology.Link) ibport.Config {
	x, delay := &topology.IBLink{Width: topology.DefaultIBWidth, Speed: topology.DefaultIBSpeed, MTU: topology.DefaultIBMTU, VLs: topology.DefaultIBVLs}, sim.Time(0)
	if l != nil {
		x, delay = l.IB, l.Delay
	}
	buffer := ibBuffer(x, delay)
	if x.Tunnel { // all that flow control can grant: a datagram takes longer than a cable
		buffer = max(buffer, wire.FlowMaxCredit*wire.FlowBlock)
	}
	c := ibport.Config{MTU: mad.MTUOf(x.MTU), VLs: vls(x.VLs), BufferBytes: buffer}
	for _, w := range []mad.LinkWidth{mad.Width1X, mad.Width2X, mad.Width4X, mad.Width8X, mad.Width12X} {
		if w.Lanes() <= x.Width && (w != mad.Width2X || x.Width == 2) {
			c.Widths |= w
		}
	}
	c.Speeds, c.SpeedsExt = speeds(x.Speed)
	if c.Widths&mad.Width2X != 0 {
		c.CapMask2 |= mad.Cap2Width2X
	}
	if c.SpeedsExt&mad.SpeedHDR != 0 {
		c.CapMask2 |= mad.Cap2SpeedHDR
	}
	if c.SpeedsExt&mad.SpeedNDR != 0 {
		c.CapMask2 |= mad.Cap2SpeedNDR
	}
	if c.CapMask2 != 0 {
		c.CapMask |= mad.CapCapMask2
	}
	return c
}

// speeds are those up to the given one. FDR10 is no speed of the standard; such
// a link runs at QDR.
func speeds(s topology.Speed) (mad.LinkSpeed, mad.LinkSpeedExt) {
	all := mad.SpeedSDR | mad.SpeedDDR | mad.SpeedQDR
	switch s {
	case topology.SDR:
		return mad.SpeedSDR, 0
	case topology.DDR:
		return mad.SpeedSDR | mad.SpeedDDR, 0
	case topology.FDR:
		return all, mad.SpeedFDR
	case topology.EDR:
		return all, mad.SpeedFDR | mad.SpeedEDR
	case topology.HDR:
		return all, mad.SpeedFDR | mad.SpeedEDR | mad.SpeedHDR
	case topology.NDR:
		return all, mad.SpeedFDR | mad.SpeedEDR | mad.SpeedHDR | mad.SpeedNDR
	}
	return all, 0
}

func vls(n int) mad.VLs {
	v := mad.VL0
	for v < mad.VL0to14 && v.Count() < n {
		v++
	}
	return v
}

// ibBuffer is the receive buffer of a lane: what a long cable needs so that it
// does not limit the rate. A port grants credits in quarters of its buffer, so
// that three quarters have to cover the round trip.
func ibBuffer(l *topology.IBLink, delay sim.Time) int {
	inFlight := 2 * delay.Seconds() * float64(l.DataRate()) / 8
	return min(max(ibport.DefaultBuffer, int(inFlight+4*float64(l.MTU))*4/3), 64<<20)
}

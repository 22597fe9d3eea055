// Package fabric turns a topology's Spec into a running fabric: switches, NICs
// and HCAs joined by links on one engine. What Build returns has no OS under
// it and runs in virtual time; package daemon puts the same object under the
// wall clock and ties it to namespaces.
package fabric

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/link"
	"cnuas/internal/nic"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire"
	"cnuas/sm"
	"cnuas/switch/ether"
	"cnuas/switch/ib"
	"cnuas/switch/ideal"
)

// Fabric is a built fabric. Everything below Engine belongs to the thread that
// runs the engine.
type Fabric struct {
	Spec   *topology.Spec
	Engine *sim.Engine
	Pool   *frame.Pool
	Batch  *hca.Batch // nil in virtual time: effects on memory apply at once

	nodes    []*Node
	switches []*Switch
	ports    map[string]*link.Port   // all
	ib       map[string]*ibport.Port // of those, the InfiniBand ones
	sms      []*SubnetManager        // that run, in the order in which they were started
	lids     map[wire.GUID][]sm.GUIDLID
	mgmt     *ideal.Switch // nil: no management network
	mads     map[*hca.Device]*mads.Table
	muted    map[string]bool // ports with the fault of SetMute
	tunnels  *tunnels        // nil: no link is one
}

// Node is a host of the fabric.
type Node struct {
	Spec *topology.Node
	ifs  []*Interface
	cas  []*hca.CA
	ibs  []*IBPort
}

// Switch is a switch of either kind.
type Switch struct {
	Spec *topology.Switch
	eth  *ether.Switch // one of the two, none of a switch in another process
	ib   *ib.Switch
}

// Interface is a NIC port of a node with the HCA behind it.
type Interface struct {
	Spec *topology.Interface
	nic  *nic.NIC
	hca  *hca.Device // nil unless the node's stack is soft
}

// Options of Build.
type Options struct {
	// Batch collects the HCAs' effects on programs' memory for a real-time
	// loop to commit; nil applies them at once.
	Batch *hca.Batch
	// KeySeed determines memory keys and queue pair numbers. The daemon gives
	// entropy; zero derives it from the topology's seed, for reproducible runs.
	KeySeed [32]byte
	// NoSM leaves the Spec's subnet managers out: InfiniBand ports stay in
	// state Init until one is started.
	NoSM bool
	// Tunnels is what links that are tunnels go through. nil: a network in
	// memory, in virtual time.
	Tunnels *Tunnels
}

// Build makes the devices in the order of the Spec, which fixes the order of
// simultaneous events, and connects them.
func Build(s *topology.Spec, o Options) (*Fabric, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("topology %s: %w", s.Name, err)
	}
	f := &Fabric{
		Spec:   s,
		Engine: sim.NewEngine(s.Seed),
		Pool:   &frame.Pool{},
		Batch:  o.Batch,
		ports:  map[string]*link.Port{},
		ib:     map[string]*ibport.Port{},
		lids:   map[wire.GUID][]sm.GUIDLID{},
		mads:   map[*hca.Device]*mads.Table{},
		muted:  map[string]bool{},
	}
	for i := range s.Nodes {
		if err := f.addNode(&s.Nodes[i], o); err != nil {
			return nil, fmt.Errorf("node %s: %w", s.Nodes[i].Name, err)
		}
	}
	f.addManagement()
	routes := s.Routes()
	for i := range s.Switches {
		if err := f.addSwitch(i, routes[i]); err != nil {
			return nil, fmt.Errorf("switch %s: %w", s.Switches[i].Name, err)
		}
	}
	if err := f.addTunnels(o.Tunnels); err != nil {
		return nil, err
	}
	for i := range s.Links {
		l := &s.Links[i]
		if err := f.connect(l); err != nil {
			return nil, err
		}
		for _, p := range f.local(l) {
			if l.Loss > 0 {
				p.SetLoss(l.Loss)
			}
			if l.Down {
				p.SetUp(false)
			}
		}
	}
	if !o.NoSM {
		for _, m := range s.SMs {
			if err := f.startSM(SMOptions{SM: m}); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// connect joins the ports of a link.
func (f *Fabric) connect(l *topology.Link) error {
	if l.IB != nil && l.IB.Tunnel {
		return f.connectTunnel(l)
	}
	if l.IB != nil {
		return ibport.Connect(f.ib[l.A.Name], f.ib[l.B.Name], l.Delay)
	}
	return link.Connect(f.ports[l.A.Name], f.ports[l.B.Name], linkConfig(l))
}

func (f *Fabric) addSwitch(index int, routes []topology.Route) error {
	spec := &f.Spec.Switches[index]
	s := &Switch{Spec: spec}
	f.switches = append(f.switches, s)
	var err error
	if spec.IB != nil && spec.IB.Remote.IsValid() {
		return nil // its ports are in another process
	}
	if spec.IB != nil {
		if s.ib, err = ib.New(f.Engine, f.Pool, ibSwitchConfig(f.Spec, spec)); err != nil {
			return err
		}
		for _, p := range spec.Ports {
			f.addIBPort(s.ib.Port(p.Number))
		}
		return nil
	}
	if s.eth, err = ether.New(f.Engine, f.Pool, switchConfig(f.Spec, index, routes)); err != nil {
		return err
	}
	for j := range spec.Ports {
		f.ports[portName(spec, j)] = s.eth.Port(j)
	}
	return nil
}

// addIBPort makes a port known by its name.
func (f *Fabric) addIBPort(p *ibport.Port) {
	f.ports[p.Name()], f.ib[p.Name()] = p.Link(), p
}

func (f *Fabric) addNode(spec *topology.Node, o Options) error {
	n := &Node{Spec: spec}
	for j := range spec.Interfaces {
		i := &Interface{Spec: &spec.Interfaces[j]}
		cfg := nicConfig(spec, i.Spec)
		i.nic = nic.New(f.Engine, f.Pool, cfg)
		f.ports[cfg.Name] = i.nic.Port()
		if spec.Stack == topology.StackSoft {
			i.hca = hca.New(f.Engine, f.Pool, o.Batch, hca.Config{
				Name:                i.Spec.Device,
				GUID:                guid(i.Spec.MAC),
				MAC:                 i.Spec.MAC,
				MTU:                 i.Spec.MTU,
				Priority:            cfg.Classifier.DSCP,
				DefaultTrafficClass: spec.RoCEDSCP << 2,
				CNPTrafficClass:     spec.CNPDSCP << 2,
				KeySeed:             keySeed(o.KeySeed, f.Spec.Seed, cfg.Name),
			})
			i.hca.SetKick(i.nic.Kick)
			i.nic.SetSource(i.hca)
			for k, g := range GIDs(i.Spec) {
				i.hca.SetGID(k, hca.GIDEntry{GID: g, Valid: true})
			}
		}
		n.ifs = append(n.ifs, i)
	}
	f.nodes = append(f.nodes, n)
	return f.addCAs(n, o)
}

// keySeed separates the devices of a fabric from one another.
func keySeed(seed [32]byte, topo uint64, port string) [32]byte {
	b := append(seed[:], port...)
	if seed == ([32]byte{}) {
		b = binary.BigEndian.AppendUint64(b, topo)
	}
	return sha256.Sum256(b)
}

// portName is how users write port i of a switch: by its number in the file.
func portName(s *topology.Switch, i int) string {
	return fmt.Sprintf("%s:%d", s.Name, s.Ports[i].Number)
}

// Nodes returns the hosts in the order of the Spec.
func (f *Fabric) Nodes() []*Node { return f.nodes }

// Node returns the host of that name; nil if there is none.
func (f *Fabric) Node(name string) *Node {
	for _, n := range f.nodes {
		if n.Spec.Name == name {
			return n
		}
	}
	return nil
}

// Interfaces returns the node's Ethernet ports, eth0 first.
func (n *Node) Interfaces() []*Interface { return n.ifs }

// NIC is the emulated port.
func (i *Interface) NIC() *nic.NIC { return i.nic }

// HCA is the verbs device on the port; nil if the node has none.
func (i *Interface) HCA() *hca.Device { return i.hca }

// Port returns the port that users call name, or an error that lists what
// there is.
func (f *Fabric) Port(name string) (*link.Port, error) { return f.port(name) }

// IB returns the InfiniBand port that users call name; nil if there is none.
func (f *Fabric) IB(name string) *ibport.Port { return f.ib[name] }

// MADs is the MAD layer of a device of either kind, which all who use the
// device's special queue pairs share. It is made when somebody asks first.
func (f *Fabric) MADs(d *hca.Device) *mads.Table {
	t := f.mads[d]
	if t == nil {
		t = mads.New(d, f.Engine.NewProc())
		f.mads[d] = t
	}
	return t
}

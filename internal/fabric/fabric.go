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
	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/nic"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/switch/ether"
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
	switches []*ether.Switch
	ports    map[string]*link.Port
	mgmt     *ideal.Switch // nil: no management network
}

// Node is a host of the fabric.
type Node struct {
	Spec *topology.Node
	ifs  []*Interface
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
}

// Build makes the devices in the order of the Spec, which fixes the order of
// simultaneous events, and connects them.
func Build(s *topology.Spec, o Options) (*Fabric, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("topology %s: %w", s.Name, err)
	}
	if s.HasIB() {
		return nil, fmt.Errorf("topology %s: InfiniBand switches are not built yet (leave out switches of kind \"ib\" and ports ib0)", s.Name)
	}
	f := &Fabric{
		Spec:   s,
		Engine: sim.NewEngine(s.Seed),
		Pool:   &frame.Pool{},
		Batch:  o.Batch,
		ports:  map[string]*link.Port{},
	}
	for i := range s.Nodes {
		f.addNode(&s.Nodes[i], o)
	}
	f.addManagement()
	routes := s.Routes()
	for i := range s.Switches {
		sw, err := ether.New(f.Engine, f.Pool, switchConfig(s, i, routes[i]))
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", s.Switches[i].Name, err)
		}
		f.switches = append(f.switches, sw)
		for j := range s.Switches[i].Ports {
			f.ports[portName(&s.Switches[i], j)] = sw.Port(j)
		}
	}
	for i := range s.Links {
		l := &s.Links[i]
		a, b := f.ports[l.A.Name], f.ports[l.B.Name]
		if err := link.Connect(a, b, linkConfig(l)); err != nil {
			return nil, err
		}
		if l.Loss > 0 {
			a.SetLoss(l.Loss)
			b.SetLoss(l.Loss)
		}
		if l.Down {
			a.SetUp(false)
		}
	}
	return f, nil
}

func (f *Fabric) addNode(spec *topology.Node, o Options) {
	n := &Node{Spec: spec}
	for j := range spec.Interfaces {
		i := &Interface{Spec: &spec.Interfaces[j]}
		cfg := nicConfig(spec, i.Spec)
		i.nic = nic.New(f.Engine, f.Pool, cfg)
		f.ports[cfg.Name] = i.nic.Port()
		if spec.Stack == topology.StackSoft {
			i.hca = hca.New(f.Engine, f.Pool, o.Batch, hca.Config{
				Name:                fmt.Sprintf("rxe%d", j),
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

// Interfaces returns the node's ports, eth0 first.
func (n *Node) Interfaces() []*Interface { return n.ifs }

// NIC is the emulated port.
func (i *Interface) NIC() *nic.NIC { return i.nic }

// HCA is the verbs device on the port; nil if the node has none.
func (i *Interface) HCA() *hca.Device { return i.hca }

// Port returns the port that users call name, or an error that lists what
// there is.
func (f *Fabric) Port(name string) (*link.Port, error) { return f.port(name) }

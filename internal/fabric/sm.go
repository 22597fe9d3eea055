package fabric

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/route"
	"cnuas/sm/sa"
)

// SMOptions say how a subnet manager is to run. Zero values of times and
// numbers that topology.SM has not mean opensm's defaults.
type SMOptions struct {
	topology.SM
	Poll    sim.Time // of a standby, between questions to the master; 0: 10 s
	MaxSMPs int      // outstanding; 0: 4
}

// SubnetManager is one that runs at a port of a node, with its subnet
// administration.
type SubnetManager struct {
	Options SMOptions
	*smHost
}

// Port is where it runs.
func (s *SubnetManager) Port() *IBPort { return s.port }

// Manager is the subnet manager itself.
func (s *SubnetManager) Manager() *sm.Manager { return s.m }

// Administration answers queries about the subnet.
func (s *SubnetManager) Administration() *sa.Agent { return s.sa }

// SubnetManagers lists those that run, in the order in which they were started.
func (f *Fabric) SubnetManagers() []*SubnetManager { return f.sms }

// smPort finds the InfiniBand port that "h1" or "h1:ib0" names: of a node
// alone, its first one that is connected.
func (f *Fabric) smPort(name string) (*IBPort, error) {
	node, port, given := strings.Cut(name, ":")
	n := f.Node(node)
	if n == nil {
		return nil, fmt.Errorf("fabric %s has no node %q: a subnet manager runs in a node; cnuas status lists them", f.Spec.Name, node)
	}
	var names []string
	for _, p := range n.ibs {
		if p.Spec.Link < 0 {
			continue
		}
		if !given || p.Spec.Name == port {
			return p, nil
		}
		names = append(names, p.Name())
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("%s is no InfiniBand port of node %s; use %s", name, node, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("node %s has no InfiniBand port with a link: choose another node", node)
}

// SMAt is the subnet manager that runs at a port, "h1" or "h1:ib0"; nil if none
// does. The error tells that there is no such port.
func (f *Fabric) SMAt(name string) (*SubnetManager, error) {
	p, err := f.smPort(name)
	if err != nil {
		return nil, err
	}
	for _, s := range f.sms {
		if s.port == p {
			return s, nil
		}
	}
	return nil, nil
}

// StartSM starts a subnet manager at a port, "h1" or "h1:ib0". LIDs that an
// earlier one at this port has given are kept.
func (f *Fabric) StartSM(name string, o SMOptions) (*SubnetManager, error) {
	p, err := f.smPort(name)
	if err != nil {
		return nil, err
	}
	o.Node = slices.Index(f.nodes, p.node)
	o.Port = slices.Index(p.node.ibs, p)
	if err := f.startSM(o); err != nil {
		return nil, err
	}
	return f.sms[len(f.sms)-1], nil
}

func (f *Fabric) startSM(o SMOptions) error {
	p := f.nodes[o.Node].ibs[o.Port]
	if p.host != nil {
		return fmt.Errorf("a subnet manager already runs at %s: cnuas sm stop %s ends it", p.Name(), p.Name())
	}
	c, err := smConfig(&o)
	if err != nil {
		return fmt.Errorf("subnet manager at %s: %w", p.Name(), err)
	}
	h := &smHost{port: p}
	if err := h.attach(f.MADs(p.Device())); err != nil {
		return err
	}
	c.Proc, c.Port, c.GUID, c.LIDs = f.Engine.NewProc(), h, p.Port().GUID(), f.lids[p.Port().GUID()]
	h.sa = sa.New(sa.Config{Proc: f.Engine.NewProc(), Port: h})
	c.Observer = h
	h.m = sm.New(*c)
	h.sa.Serve(h.m)
	p.host = h
	p.setIsSM(true)
	f.sms = append(f.sms, &SubnetManager{Options: o, smHost: h})
	p.Port().Watch(h.portChanged)
	if p.Port().State() != mad.PortDown {
		h.m.Start()
	}
	return nil
}

// CheckPartitions tells what is wrong with the partitions of a topology's subnet
// managers, whose syntax the loader does not know: one error for each of them,
// joined, "sm.partitions of NODE:PORT: line N: ...". StartSM would refuse them.
func CheckPartitions(s *topology.Spec) error {
	var errs []error
	for _, m := range s.SMs {
		if m.Partitions == "" {
			continue
		}
		if _, err := sm.ParsePartitions(m.Partitions); err != nil {
			n := &s.Nodes[m.Node]
			errs = append(errs, fmt.Errorf("sm.partitions of %s:%s: %w", n.Name, n.IBPorts[m.Port].Name, err))
		}
	}
	return errors.Join(errs...)
}

// smConfig turns what a topology says of a subnet manager into what it is made
// from.
func smConfig(o *SMOptions) (*sm.Config, error) {
	c := &sm.Config{
		Engine: route.Engine(o.Engine), Priority: o.Priority, LMC: o.LMC, Sweep: o.Sweep,
		PollTime: o.Poll, MaxSMPs: o.MaxSMPs,
	}
	if o.QoS {
		c.QoS = sm.DefaultQoS()
	}
	if o.Partitions != "" {
		var err error
		if c.Partitions, err = sm.ParsePartitions(o.Partitions); err != nil {
			return nil, fmt.Errorf("partitions: %w", err)
		}
	}
	return c, nil
}

// StopSM ends the subnet manager at a port as if its process were killed: it
// says nothing any more, and the ports keep what it has set.
func (f *Fabric) StopSM(name string) error {
	s, err := f.SMAt(name)
	if err != nil {
		return err
	}
	if s == nil {
		var at []string
		for _, x := range f.sms {
			at = append(at, x.port.Name())
		}
		if len(at) == 0 {
			return errors.New("no subnet manager of ours runs; cnuas sm start " + name + " starts one")
		}
		return fmt.Errorf("no subnet manager of ours runs at %s; one does at %s", name, strings.Join(at, ", "))
	}
	s.port.Port().Watch(nil)
	s.m.Stop()
	f.lids[s.port.Port().GUID()] = s.m.LIDs()
	s.detach()
	s.port.host = nil
	s.port.setIsSM(false)
	f.sms = slices.DeleteFunc(f.sms, func(x *SubnetManager) bool { return x == s })
	return nil
}

// setIsSM tells the subnet that a manager is at the port, or is not any more
// (IBTA vol. 1 §14.4.1, trap 144).
func (p *IBPort) setIsSM(on bool) {
	v := mad.CapMask(0)
	if on {
		v = mad.CapIsSM
	}
	if p.Port().SetCapMask(mad.CapIsSM, v) {
		p.ca.Agent().CapMaskChanged()
	}
}

// Sweep begins a heavy sweep of the master at a port; of all masters without a
// name.
func (f *Fabric) Sweep(name string) error {
	masters := 0
	for _, s := range f.sms {
		if name != "" {
			if x, err := f.SMAt(name); err != nil {
				return err
			} else if x != s {
				continue
			}
		}
		if s.m.State() == mad.SMMaster {
			masters++
			s.m.Heavy()
		}
	}
	if masters == 0 {
		return errors.New("no subnet manager of ours is master there: cnuas sm status lists them")
	}
	return nil
}

// SubnetsAtRest tells that no subnet manager has anything to do: each is the
// master of a subnet that is up, or a standby, or its own link is down.
func (f *Fabric) SubnetsAtRest() bool {
	for _, s := range f.sms {
		p := s.port.Port()
		switch {
		case !p.Link().Up():
		case s.m.State() == mad.SMStandby:
		case s.m.State() == mad.SMMaster && s.m.Subnet() != nil && s.m.Status().Sweeping == "idle" && p.State() == mad.PortActive:
		default:
			return false
		}
	}
	return true
}

// SMPs is how many the subnet managers that run have sent.
func (f *Fabric) SMPs() (n uint64) {
	for _, s := range f.sms {
		n += s.m.Status().Stats.SMPs
	}
	return n
}

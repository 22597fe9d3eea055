package fabric

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"cnuas/internal/link"
	"cnuas/internal/nic"
	"cnuas/internal/sim"
)

// Faults that a user injects. All of them end with Clear; each is also taken
// back by its opposite (link up, loss 0, duty 0).

// port finds a port by the name that users write, "s1:1" or "h1:eth0".
func (f *Fabric) port(name string) (*link.Port, error) {
	if p := f.ports[name]; p != nil {
		return p, nil
	}
	dev, _, _ := strings.Cut(name, ":")
	var of []string
	for n := range f.ports {
		if strings.HasPrefix(n, dev+":") {
			of = append(of, n)
		}
	}
	sort.Strings(of)
	if len(of) > 0 {
		return nil, fmt.Errorf("%s has no port %q; it has %s", dev, name, strings.Join(of, ", "))
	}
	return nil, fmt.Errorf("fabric %s has no port %q; cnuas status lists them", f.Spec.Name, name)
}

// SetLink takes the link at a port down or brings it up. A tunnel has a cable at
// each end: it is pulled out of the port's, and put into those that are here.
func (f *Fabric) SetLink(port string, up bool) error {
	p, err := f.port(port)
	if err != nil {
		return err
	}
	p.SetUp(up)
	if q := f.ports[p.PeerName()]; up && q != nil {
		q.SetUp(true)
	}
	return nil
}

// SetLoss makes the port lose the frames that it sends with probability prob.
func (f *Fabric) SetLoss(port string, prob float64) error {
	p, err := f.port(port)
	if err != nil {
		return err
	}
	if !(prob >= 0 && prob <= 1) {
		return fmt.Errorf("loss %g at %s: must be between 0 and 1", prob, port)
	}
	p.SetLoss(prob)
	return nil
}

// SetMute makes an InfiniBand port send no flow control packets any more: its
// peer runs out of credits, and its watchdog lets the link recover again and
// again (IBTA vol. 1 §7.9.4).
func (f *Fabric) SetMute(port string, on bool) error {
	if _, err := f.port(port); err != nil {
		return err
	}
	p := f.ib[port]
	if p == nil {
		return fmt.Errorf("%s is an Ethernet port, which sends no flow control packets of InfiniBand", port)
	}
	p.MuteFlow(on)
	if on {
		f.muted[port] = true
	} else {
		delete(f.muted, port)
	}
	return nil
}

// Storm makes the NIC at a node's port stop the given priorities of its switch
// for a share of the time, duty in [0,1]; 0 ends it. It ends by itself after d
// of simulated time; d 0: it does not.
func (f *Fabric) Storm(port string, priorities uint8, duty float64, d sim.Time) error {
	n, err := f.nic(port)
	if err != nil {
		return err
	}
	if !(duty >= 0 && duty <= 1) {
		return fmt.Errorf("storm at %s: duty %g must be between 0 and 1", port, duty)
	}
	if d < 0 {
		return fmt.Errorf("storm at %s: it cannot last for %v; 0 is until it is ended", port, d)
	}
	n.Storm(priorities, duty, d)
	return nil
}

func (f *Fabric) nic(port string) (*nic.NIC, error) {
	if _, err := f.port(port); err != nil {
		return nil, err
	}
	for _, n := range f.nodes {
		for _, i := range n.ifs {
			if i.nic.Port().Name == port {
				return i.nic, nil
			}
		}
	}
	if f.ib[port] != nil {
		return nil, fmt.Errorf("%s is an InfiniBand port, which has no pause frames: a storm is made by a node's Ethernet port", port)
	}
	for _, n := range f.nodes {
		for _, i := range n.ifs {
			return nil, fmt.Errorf("%s is a switch port: a storm is made by a node's NIC, such as %s", port, i.nic.Port().Name)
		}
	}
	return nil, fmt.Errorf("%s is a switch port: a storm is made by a node's NIC, and there is none", port)
}

// ClearFaults ends every injected fault: links come up, losses and storms end.
// A loss or a link that the topology file asked for goes back to what the
// file says.
func (f *Fabric) ClearFaults() {
	for port := range f.muted {
		f.ib[port].MuteFlow(false)
	}
	clear(f.muted)
	for _, n := range f.nodes {
		for _, i := range n.ifs {
			i.nic.Storm(0, 0, 0)
		}
	}
	for i := range f.Spec.Links {
		l := &f.Spec.Links[i]
		for _, p := range f.local(l) {
			p.SetLoss(l.Loss)
			p.SetUp(!l.Down)
		}
	}
}

// faults lists what is active and was not asked for by the file.
func (f *Fabric) faults() []string {
	l := []string{}
	for i := range f.Spec.Links {
		s := &f.Spec.Links[i]
		ports := f.local(s)
		if pulled(ports) && !s.Down {
			l = append(l, fmt.Sprintf("link %s - %s is down", s.A.Name, s.B.Name))
		}
		for _, p := range ports {
			if p.Loss() != s.Loss {
				l = append(l, fmt.Sprintf("%s loses %s of the frames it sends", p.Name, Percent(p.Loss())))
			}
		}
	}
	for _, n := range f.nodes {
		for _, i := range n.ifs {
			if s := stormLine(i.nic, f.Engine.Now()); s != "" {
				l = append(l, s)
			}
		}
	}
	for _, port := range slices.Sorted(maps.Keys(f.muted)) {
		l = append(l, port+" sends no flow control packets")
	}
	return l
}

// stormLine describes the storm that a NIC makes; empty if it makes none.
func stormLine(n *nic.NIC, now sim.Time) string {
	prios, duty, until := n.Storming()
	if prios == 0 {
		return ""
	}
	s := fmt.Sprintf("storm at %s: priority %s stopped for %s of the time", n.Port().Name, priorityList(prios), Percent(duty))
	if until != sim.Forever {
		s += fmt.Sprintf(", until %.6g s, in %.4g ms (simulated time)", until.Seconds(), float64(until-now)/float64(sim.Millisecond))
	}
	return s
}

// Percent prints a share.
func Percent(share float64) string { return fmt.Sprintf("%.4g%%", 100*share) }

func priorityList(m uint8) string {
	var s []string
	for i := range 8 {
		if m&(1<<i) != 0 {
			s = append(s, fmt.Sprint(i))
		}
	}
	return strings.Join(s, ",")
}

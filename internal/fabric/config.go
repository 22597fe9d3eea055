package fabric

import (
	"cnuas/internal/link"
	"cnuas/internal/nic"
	"cnuas/internal/qdisc"
	"cnuas/internal/topology"
	"cnuas/switch/ether"
)

func classifier(q *topology.QoS) qdisc.Classifier {
	c := qdisc.Classifier{DSCP: q.DSCP, PCP: q.PCP, Default: q.Untagged}
	if q.Trust == topology.TrustPCP {
		c.Trust = qdisc.TrustPCP
	}
	return c
}

func scheduler(q *topology.QoS) qdisc.Config {
	return qdisc.Config{Strict: uint8(q.Strict), Weight: q.Weights}
}

func nicConfig(n *topology.Node, i *topology.Interface) nic.Config {
	c := nic.Config{
		Name:       n.Name + ":" + i.Name,
		MAC:        i.MAC,
		Classifier: classifier(&n.QoS),
		Scheduler:  scheduler(&n.QoS),
		IgnorePFC:  n.IgnorePFC,
	}
	if n.Stack == topology.StackRXE {
		c.RoCE = &nic.RoCERule{DSCP: n.RoCEDSCP, ECT: true}
		c.Congestion = &nic.Congestion{CNPDSCP: n.CNPDSCP}
	}
	return c
}

func linkConfig(l *topology.Link) link.Config {
	return link.Config{Rate: link.Rate(l.Rate), Delay: l.Delay}
}

// lossyRED is where random early drop begins in lossy queues, as a share of
// their limit. Tail drop alone locks senders out that meet at one rate.
const lossyRED = 0.5

// switchConfig turns a switch of the Spec into what the switch is made from:
// ports, queues and thresholds, router interfaces, the routes to the other
// routers and the addresses of the hosts beside it.
func switchConfig(s *topology.Spec, index int, routes []topology.Route) ether.Config {
	sw := &s.Switches[index]
	q := &sw.QoS
	c := ether.Config{
		Name:        sw.Name,
		MAC:         sw.MAC,
		Classifier:  classifier(q),
		Scheduler:   scheduler(q),
		BufferBytes: q.Buffer,
	}
	if q.PFC {
		c.Lossless = uint8(q.Lossless)
	}
	for p := range 8 {
		c.PFC[p] = ether.PFC{Xoff: q.Xoff, Xon: q.Xon, Alpha: q.Alpha, XonOffset: q.XonOffset}
		c.Lossy[p] = ether.Lossy{Alpha: q.AlphaLossy, RED: lossyRED}
		c.ECN[p] = ether.ECN(q.ECN[p])
	}
	for i, p := range sw.Ports {
		pc := ether.PortConfig{Name: portName(sw, i), Access: p.PVID, Tagged: p.Tagged, Headroom: p.Headroom, MTU: portMTU(s, p)}
		if p.Routed {
			pc.Mode = ether.Routed
			c.Interfaces = append(c.Interfaces, ether.Interface{Port: i})
		}
		c.Ports = append(c.Ports, pc)
	}
	for _, p := range sw.Loopback {
		c.Addrs = append(c.Addrs, p.Addr())
	}
	for _, v := range sw.VLANs {
		c.Interfaces = append(c.Interfaces, ether.Interface{VID: v.ID, Addrs: v.Addrs})
		for _, m := range s.Subnets[v.Subnet].Members {
			i := &s.Nodes[m.Node].Interfaces[m.Port]
			for _, a := range i.Addrs {
				c.Neighbours = append(c.Neighbours, ether.Neighbour{Addr: a.Addr(), MAC: i.MAC})
			}
		}
	}
	for _, r := range routes {
		er := ether.Route{Prefix: r.Prefix}
		for _, h := range r.NextHops {
			er.NextHops = append(er.NextHops, ether.NextHop{Port: h.Port, MAC: h.MAC})
		}
		c.Routes = append(c.Routes, er)
	}
	return c
}

// portMTU is the MTU of the host behind a switch port: a switch port towards a
// host takes the host's, as a careful operator configures it; ports between
// switches do not limit.
func portMTU(s *topology.Spec, p topology.SwitchPort) int {
	l := &s.Links[p.Link]
	for _, e := range []topology.End{l.A, l.B} {
		if e.Node >= 0 {
			return s.Nodes[e.Node].Interfaces[e.Port].MTU
		}
	}
	return 0
}

package smtest

import (
	"cnuas/internal/wire"
	"cnuas/sm"
)

// Endpoint is where programs send and receive datagrams: an end port.
type Endpoint struct {
	Port         *Port
	SMP          func(*sm.Datagram) // to QP 0: for a subnet manager
	GSI          func(*sm.Datagram) // to QP 1
	Reregistered func()
}

// Endpoint returns the endpoint of an end port.
func (p *Port) Endpoint() *Endpoint {
	if p.endpoint == nil {
		p.endpoint = &Endpoint{Port: p}
	}
	return p.endpoint
}

// Send implements sm.MADPort.
func (e *Endpoint) Send(d *sm.Datagram) { e.Port.Node.f.send(e.Port, d) }

func (e *Endpoint) receive(d *sm.Datagram) {
	switch {
	case d.QP == wire.QP0 && e.SMP != nil:
		e.SMP(d)
	case d.QP == wire.QP1 && e.GSI != nil:
		e.GSI(d)
	}
}

// endpoint is that of the port by which something came in.
func (n *Node) endpoint(in uint8) *Endpoint {
	p := n.Port(in)
	if n.Ports[0] != nil {
		p = n.Ports[0]
	}
	if p == nil {
		return nil
	}
	return p.endpoint
}

package ipoib

import (
	"bytes"
	"net/netip"
	"slices"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// State of a neighbour (RFC 4861 §7.3.2).
type nudState uint8

const (
	incomplete nudState = iota // asked for
	reachable                  // heard of lately
	stale                      // not lately
	probing                    // used while stale: asked whether it is still there
	failed                     // does not answer; forgotten soon
)

// neighbour is what is known of an IP address of the subnet.
type neighbour struct {
	i       *Interface
	ip      netip.Addr
	addr    Addr
	state   nudState
	tries   int
	timer   sim.Timer
	queue   [][]byte
	waiters []func(Addr, error)
	gone    bool
}

// neighbour returns the entry of an address, new if need be; nil if there are
// too many.
func (i *Interface) neighbour(ip netip.Addr) *neighbour {
	n := i.neighbours[ip]
	if n == nil {
		if len(i.neighbours) >= maxNeighbours {
			return nil
		}
		n = &neighbour{i: i, ip: ip}
		n.timer.Init(i.proc, n, 0, 0)
		i.neighbours[ip] = n
	}
	return n
}

// resolve starts to ask for the address if nobody does yet.
func (n *neighbour) resolve() {
	if n.state == incomplete && !n.timer.Armed() {
		n.tries = 0
		n.solicit()
	}
}

// solicit asks once more.
func (n *neighbour) solicit() {
	n.tries++
	n.timer.Reset(n.i.proc.Now() + arpTime)
	n.i.solicit(n)
}

// send sends an encapsulated packet to the neighbour.
func (n *neighbour) send(b []byte) {
	switch n.state {
	case incomplete:
		if len(n.queue) >= maxWaiting {
			n.i.ctr.TxOverflow++
			return
		}
		n.queue = append(n.queue, append([]byte(nil), b...))
		n.resolve()
	case failed:
		n.i.unreachable(b)
	default:
		if n.state == stale {
			n.state, n.tries = probing, 0
			n.solicit()
		}
		n.put(b)
	}
}

func (n *neighbour) put(b []byte) {
	p := n.i.path(n.addr.GID())
	if p == nil {
		n.i.ctr.TxOverflow++
		return
	}
	p.send(n.addr.QPN(), b)
}

// heard takes the neighbour's link-layer address. confirmed: it answered us, so
// it can be reached.
func (n *neighbour) heard(a Addr, confirmed bool) {
	known := n.state != incomplete && n.state != failed
	if known && n.addr == a && !confirmed {
		return
	}
	n.addr, n.state = a, stale
	now := n.i.proc.Now()
	n.timer.Reset(now + idleTime)
	if confirmed {
		n.state = reachable
		n.timer.Reset(now + reachableTime)
	}
	q := n.queue
	n.queue = nil
	for _, b := range q {
		n.send(b)
	}
	n.tell(a, nil)
}

func (n *neighbour) tell(a Addr, err error) {
	l := n.waiters
	n.waiters = nil
	for _, f := range l {
		f(a, err)
	}
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (n *neighbour) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	if n.gone {
		return
	}
	switch n.state {
	case incomplete, probing:
		if n.tries < arpTries {
			n.solicit()
			return
		}
		q := n.queue
		n.queue, n.state = nil, failed
		for _, b := range q {
			n.i.unreachable(b)
		}
		n.timer.Reset(now + failTime)
		n.tell(Addr{}, ErrUnreachable)
	case reachable:
		n.state = stale
		n.timer.Reset(now + idleTime)
	case stale, failed:
		n.forget()
	}
}

func (n *neighbour) forget() {
	n.gone = true
	n.timer.Stop()
	delete(n.i.neighbours, n.ip)
}

// fail forgets the neighbour and what waits for it.
func (n *neighbour) fail(err error) {
	n.i.ctr.TxNotJoined += uint64(len(n.queue))
	n.queue = nil
	n.forget()
	n.tell(Addr{}, err)
}

// allNeighbours lists the neighbours in the order of their addresses.
func (i *Interface) allNeighbours() (l []*neighbour) {
	for _, n := range i.neighbours {
		l = append(l, n)
	}
	slices.SortFunc(l, func(a, b *neighbour) int { return a.ip.Compare(b.ip) })
	return l
}

// allPaths lists the paths in the order of their GIDs.
func (i *Interface) allPaths() (l []*path) {
	for _, p := range i.paths {
		l = append(l, p)
	}
	slices.SortFunc(l, func(a, b *path) int { return bytes.Compare(a.gid[:], b.gid[:]) })
	return l
}

// solicit asks for a neighbour: all, or it alone if its address is known.
func (i *Interface) solicit(n *neighbour) {
	src := i.source(n.ip)
	if !src.IsValid() {
		return // no address of that version of IP to ask with: nobody will answer
	}
	i.ctr.Solicits++
	own := i.Addr()
	if n.ip.Is4() {
		b := i.message(wire.EtherTypeARP, arpLen)
		arp(b[HeaderLen:]).encode(wire.ARPRequest, own, src, n.addr, n.ip)
		if n.state == probing {
			n.put(b)
		} else {
			i.broadcast.send(b)
		}
		return
	}
	b := i.message(wire.EtherTypeIPv6, ndLen)
	if n.state == probing {
		encodeND(b[HeaderLen:], wire.ICMPv6NeighborSol, 0, src, n.ip, n.ip, own)
		n.put(b)
		return
	}
	dst := netip.AddrFrom16(wire.SolicitedNode(n.ip.As16()))
	encodeND(b[HeaderLen:], wire.ICMPv6NeighborSol, 0, src, dst, n.ip, own)
	i.toGroup(dst, b)
}

// message is room for n bytes of a message of our own, with its encapsulation
// header.
func (i *Interface) message(etherType uint16, n int) []byte {
	b := i.buf[:HeaderLen+n]
	b[0], b[1], b[2], b[3] = byte(etherType>>8), byte(etherType), 0, 0
	return b
}

// announce tells all neighbours that the port has another LID: they look their
// path up again when they see where this comes from.
func (i *Interface) announce() {
	own := i.Addr()
	for _, p := range i.addrs {
		if !i.running {
			return
		}
		i.ctr.Advertisements++
		if a := p.Addr(); a.Is4() {
			b := i.message(wire.EtherTypeARP, arpLen)
			arp(b[HeaderLen:]).encode(wire.ARPRequest, own, a, own, a)
			i.broadcast.send(b)
		} else {
			b := i.message(wire.EtherTypeIPv6, ndLen)
			all := netip.IPv6LinkLocalAllNodes()
			encodeND(b[HeaderLen:], wire.ICMPv6NeighborAdv, wire.NDOverride, a, all, a, own)
			i.toGroup(all, b)
		}
	}
}

// learn takes what a neighbour says of itself. Who is not spoken to is not
// remembered, unless it is about to speak to us.
func (i *Interface) learn(ip netip.Addr, a Addr, forUs, confirmed bool, from wire.LID) {
	if !a.unicast() || i.own(ip) || ip.IsUnspecified() || ip.IsMulticast() {
		return
	}
	n := i.neighbours[ip]
	if n == nil {
		if !forUs {
			return
		}
		if n = i.neighbour(ip); n == nil {
			return
		}
	}
	if p := i.paths[a.GID()]; p != nil {
		p.moved(from)
	}
	n.heard(a, confirmed)
}

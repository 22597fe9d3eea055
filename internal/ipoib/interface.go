package ipoib

import (
	"net/netip"
	"slices"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// Config of an Interface.
type Config struct {
	Name  string // "h1:ib0"
	Port  Port
	SA    SA
	Proc  *sim.Proc
	Host  Host           // may be set later, by SetHost
	Addrs []netip.Prefix // of the node's kernel at first; the link-local one is added
}

// Interface is IP over one InfiniBand port.
type Interface struct {
	cfg   Config
	port  Port
	proc  *sim.Proc
	host  Host
	qp    Datagrams
	stop  func()
	addrs []netip.Prefix
	pkey  uint16 // of the groups: with the bit of full membership
	gid   hca.GID
	ctr   Counters
	buf   [HeaderLen + ndLen]byte // for messages of our own
	out   hca.Datagram            // what is being sent

	change  Change // that HandleEvent has to look at
	ready   bool   // the port is active and a manager known
	running bool   // the broadcast group is joined
	mtu     int    // of IP

	broadcast  *group
	groups     map[hca.GID]*group // without the broadcast group
	order      []*group           // the same, in order of their making
	neighbours map[netip.Addr]*neighbour
	paths      map[hca.GID]*path
}

// New makes an interface and its queue pair. It joins as soon as the port is
// active.
func New(cfg Config) (*Interface, error) {
	i := &Interface{
		cfg: cfg, port: cfg.Port, proc: cfg.Proc, host: cfg.Host,
		groups: map[hca.GID]*group{}, neighbours: map[netip.Addr]*neighbour{}, paths: map[hca.GID]*path{},
	}
	var err error
	if i.qp, err = i.port.Open(i.receive); err != nil {
		return nil, err
	}
	i.gid = i.port.GID()
	i.addrs = append(slices.Clone(cfg.Addrs), netip.PrefixFrom(LinkLocal(i.gid), 64))
	i.broadcast = i.newGroup(hca.GID{}, true)
	i.stop = i.port.Watch(i.changed)
	i.changed(ChangeState)
	return i, nil
}

// SetHost attaches the node's kernel and tells it the state.
func (i *Interface) SetHost(h Host) {
	i.host = h
	if h != nil {
		h.LinkChanged(i.running, i.MTU())
	}
}

// Close leaves the groups and ends the queue pair. Who waits for an answer is
// told that the interface is down.
func (i *Interface) Close() {
	i.stop()
	for _, g := range append([]*group{i.broadcast}, i.order...) {
		g.leave()
	}
	i.ready = false
	i.down()
	i.qp.Close()
}

// Name is the name of the interface.
func (i *Interface) Name() string { return i.cfg.Name }

// Addr is the link-layer address; its GID changes with the subnet's prefix.
func (i *Interface) Addr() Addr { return NewAddr(i.qp.Num(), i.gid) }

// Addrs are the interface's IP addresses, the link-local one last.
func (i *Interface) Addrs() []netip.Prefix { return i.addrs }

// SetAddrs changes the IP addresses: those that others are answered for.
func (i *Interface) SetAddrs(addrs []netip.Prefix) {
	old := i.addrs
	i.addrs = slices.Clone(addrs)
	if i.pkey == 0 {
		return // no group is known yet
	}
	for _, p := range old {
		if a := p.Addr(); a.Is6() {
			if g := netip.AddrFrom16(wire.SolicitedNode(a.As16())); !i.permanent(g) {
				i.leaveGroup(g)
			}
		}
	}
	i.ownGroups()
}

// GID is that of the port.
func (i *Interface) GID() hca.GID { return i.port.GID() }

// Running tells whether the interface can be used.
func (i *Interface) Running() bool { return i.running }

// MTU is the IP MTU in bytes: that of the broadcast group less the
// encapsulation header (RFC 4391 §7), 2044 before it is known.
func (i *Interface) MTU() int {
	if i.mtu == 0 {
		return 2044
	}
	return i.mtu
}

// Counters returns a copy of the counters.
func (i *Interface) Counters() Counters { return i.ctr }

// Neighbours is how many addresses are resolved or being so.
func (i *Interface) Neighbours() int { return len(i.neighbours) }

// Groups is how many multicast groups the interface has joined, with the
// broadcast group.
func (i *Interface) Groups() (n int) {
	for _, g := range i.order {
		if g.joined {
			n++
		}
	}
	if i.broadcast.joined {
		n++
	}
	return n
}

// Operations of Interface.HandleEvent.
const opChange = 0

// changed is called by the port in the middle of something: what follows has
// to wait until that is over.
func (i *Interface) changed(c Change) {
	if i.change == 0 {
		i.proc.At(i.proc.Now(), i, opChange, 0)
	}
	i.change |= c
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (i *Interface) HandleEvent(sim.Time, uint32, uint64) {
	c := i.change
	i.change = 0
	lid, _ := i.port.LID()
	smLID, _ := i.port.SM()
	ready := i.port.Active() && lid != 0 && smLID != 0
	was := i.ready
	i.ready = ready
	switch {
	case !ready:
		i.down()
	case !was, c&ChangeMembership != 0:
		i.settle()
		i.forgetPaths()
		i.broadcast.join()
	}
	if ready && was && c&ChangeLID != 0 {
		i.forgetPaths()
		i.announce()
	}
}

// settle reads what groups and addresses are made from. Linux takes the first
// P_Key of the table for ib0.
func (i *Interface) settle() {
	pkey := uint16(wire.DefaultPKey)
	if t := i.port.PKeys(); len(t) > 0 && t[0]&0x7fff != 0 {
		pkey = t[0] | 0x8000
	}
	gid := i.port.GID()
	if pkey == i.pkey && gid == i.gid {
		return
	}
	if i.pkey != 0 {
		i.down()
		for _, g := range slices.Clone(i.order) {
			g.remove()
		}
	}
	i.pkey, i.gid = pkey, gid
	i.broadcast.mgid = BroadcastGID(pkey)
	i.ownGroups()
}

// ownGroups are those that every host is in: all hosts (RFC 1112 §4), all
// nodes, and the solicited-node group of each address (RFC 4291 §2.8).
func (i *Interface) ownGroups() {
	for _, a := range i.addrs {
		if a := a.Addr(); a.Is4() {
			i.member(netip.AddrFrom4([4]byte{224, 0, 0, 1}))
		} else {
			i.member(netip.IPv6LinkLocalAllNodes())
			i.member(netip.AddrFrom16(wire.SolicitedNode(a.As16())))
		}
	}
}

// up is called when the broadcast group is joined, for the first time or again.
func (i *Interface) up() {
	g := &i.broadcast.rec
	i.qp.SetKeys(g.QKey, 0)
	mtu := min(g.MTU.Bytes(), i.port.MTU()) - HeaderLen
	tell := !i.running || mtu != i.mtu
	i.running, i.mtu = true, mtu
	for _, x := range slices.Clone(i.order) {
		if x.full {
			x.due = true
		} else {
			x.remove()
		}
	}
	if tell && i.host != nil {
		i.host.LinkChanged(true, mtu)
	}
}

// down forgets everything that came from the subnet.
func (i *Interface) down() {
	was := i.running
	i.running = false
	for _, g := range append([]*group{i.broadcast}, slices.Clone(i.order)...) {
		g.drop()
		if !g.full {
			g.remove()
		}
	}
	i.forgetPaths()
	for _, n := range i.allNeighbours() {
		n.fail(ErrDown)
	}
	if was && i.host != nil {
		i.host.LinkChanged(false, i.MTU())
	}
}

// own tells whether the address is one of the interface's.
func (i *Interface) own(a netip.Addr) bool {
	for _, p := range i.addrs {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// source is the own address to ask for a neighbour with: one of the same
// prefix, or else the first of that version of IP.
func (i *Interface) source(to netip.Addr) (a netip.Addr) {
	for _, p := range i.addrs {
		if p.Addr().Is4() != to.Is4() {
			continue
		}
		if p.Contains(to) {
			return p.Addr()
		}
		if !a.IsValid() {
			a = p.Addr()
		}
	}
	return a
}

package fabric

import (
	"fmt"
	"net/netip"

	"cnuas/internal/ibport"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/status"
	"cnuas/internal/topology"
	"cnuas/internal/tunnel"
	"cnuas/internal/tunnel/datagram"
)

// Tunnels is how links that are tunnels reach the world.
type Tunnels struct {
	Socket tunnel.Socket
	At     netip.AddrPort // of the socket: what the fabric's own ends send to
	Hub    tunnel.HubConfig
}

// tunnels are the ends of the fabric's tunnelled links. Those with both ends in
// the fabric go out of the socket and in again.
type tunnels struct {
	hub  *tunnel.Hub
	at   netip.AddrPort
	last uint16                 // number of the last end
	end  map[string]*tunnel.End // by port
	net  *datagram.Net          // in virtual time
}

// virtualAt is the address of tunnels over the network in memory.
var virtualAt = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), tunnel.Port)

// addTunnels makes the hub. Without a socket the datagrams stay in memory, in
// virtual time.
func (f *Fabric) addTunnels(t *Tunnels) error {
	if !f.Spec.HasTunnels() {
		return nil
	}
	var net *datagram.Net
	if t == nil {
		net = datagram.New(f.Engine)
		t = &Tunnels{Socket: net.Socket(virtualAt), At: virtualAt, Hub: tunnel.HubConfig{Session: uint32(f.Spec.Seed) | 1}}
	}
	hub, err := tunnel.NewHub(f.Engine, f.Pool, t.Socket, t.Hub)
	if err != nil {
		return err
	}
	if net != nil {
		net.Listen(virtualAt, hub)
	}
	f.tunnels = &tunnels{hub: hub, at: t.At, end: map[string]*tunnel.End{}, net: net}
	return nil
}

// Hub is what the fabric's tunnels go through; nil if it has none.
func (f *Fabric) Hub() *tunnel.Hub {
	if f.tunnels == nil {
		return nil
	}
	return f.tunnels.hub
}

// connectTunnel joins the ports of a tunnelled link, those of them that are in
// this process, to ends that know each other.
func (f *Fabric) connectTunnel(l *topology.Link) error {
	t := f.tunnels
	ends := [2]topology.End{l.A, l.B}
	at, num := [2]netip.AddrPort{}, [2]uint16{}
	for i, e := range ends {
		if at[i] = f.Spec.Remote(e); at[i].IsValid() {
			num[i] = uint16(f.Spec.Switches[e.Switch].Ports[e.Port].Number)
			continue
		}
		if t.last == 1<<16-1 {
			return fmt.Errorf("link %s - %s: a fabric has at most %d ends of tunnels", l.A.Name, l.B.Name, t.last)
		}
		t.last++
		at[i], num[i] = t.at, t.last
	}
	for i, e := range ends {
		if f.Spec.Remote(e).IsValid() {
			continue
		}
		p := f.ib[e.Name]
		x, err := t.hub.Add(p, tunnel.Config{Num: num[i], Peer: at[1-i], PeerNum: num[1-i], FarConfig: ibport.FarConfig{Delay: l.Delay}})
		if err != nil {
			return err
		}
		p.Link().FarName = ends[1-i].Name
		t.end[e.Name] = x
	}
	return nil
}

// local are the ports of a link that are in this process: both, or for the link
// of a switch that is a process of its own one or none.
func (f *Fabric) local(l *topology.Link) (p []*link.Port) {
	for _, e := range []topology.End{l.A, l.B} {
		if x := f.ports[e.Name]; x != nil {
			p = append(p, x)
		}
	}
	return p
}

// up tells whether the ends of a link that are here have a cable.
func up(ports []*link.Port) bool {
	for _, p := range ports {
		if !p.Up() {
			return false
		}
	}
	return len(ports) > 0
}

// pulled tells whether a fault took the link down. A tunnel whose peer is not
// there is down as well, which is no fault of ours.
func pulled(ports []*link.Port) bool {
	for _, p := range ports {
		if p.Peer() != nil && !p.Up() || !p.Plugged() {
			return true
		}
	}
	return false
}

// tunnelStatus is what a tunnelled port tells; nil for others.
func (f *Fabric) tunnelStatus(port string) *status.Tunnel {
	if f.tunnels == nil || f.tunnels.end[port] == nil {
		return nil
	}
	x := f.tunnels.end[port]
	at, num := x.Peer()
	c := &x.Stats
	s := &status.Tunnel{Peer: at.String(), PeerEnd: num, End: x.Num(), There: x.There(), Sent: c.Sent, Received: c.Received, Lost: c.Lost, Drops: map[string]uint64{}}
	for r, n := range c.Drops {
		if n != 0 {
			s.Drops[snakeSpaces(tunnel.Drop(r).String())] = n
		}
	}
	return s
}

// eachTunnel tells of the tunnels in a snapshot.
func (f *Fabric) eachTunnel(s *status.Fabric) {
	if s.Tunnels = f.hubStatus(); s.Tunnels == nil {
		return
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].IBPorts {
			p := &s.Nodes[i].IBPorts[j]
			p.Tunnel = f.tunnelStatus(p.Name)
		}
	}
	for i := range s.Switches {
		for j := range s.Switches[i].Ports {
			p := &s.Switches[i].Ports[j]
			p.Tunnel = f.tunnelStatus(p.Name)
		}
	}
}

// hubStatus is what the tunnels have in common; nil if there are none.
func (f *Fabric) hubStatus() *status.Hub {
	if f.tunnels == nil {
		return nil
	}
	s := &status.Hub{Listen: f.tunnels.at.String(), Drops: map[string]uint64{}}
	for r, n := range f.tunnels.hub.Stats.Drops {
		if n != 0 {
			s.Drops[snakeSpaces(tunnel.Drop(r).String())] = n
		}
	}
	return s
}

// checkWire accounts for the frames of one port: what it sent to its peer or,
// into a tunnel, what it sent and received, the far end being out of sight.
func checkWire(p *link.Port) string {
	c, q := &p.Counters, p.Peer()
	if q != nil {
		got := q.Counters.RxFrames + c.LossDrops + c.DownDrops + uint64(q.InFlight())
		if c.TxFrames != got {
			return fmt.Sprintf("wire %s to %s: %d frames sent, %d accounted for", p.Name, q.Name, c.TxFrames, got)
		}
		return ""
	}
	in := c.TxFrames + c.Delivered
	out := c.Carried + c.RxFrames + c.DownDrops + uint64(p.Departing()+p.InFlight())
	if in != out {
		return fmt.Sprintf("tunnel of %s: %d frames sent and delivered, %d accounted for", p.Name, in, out)
	}
	return ""
}

// TunnelHeartbeat is the heartbeat of tunnels by the engine's clock, at a scale.
func TunnelHeartbeat(scale float64) sim.Time {
	return sim.Time(float64(tunnel.DefaultHeartbeat) / scale)
}

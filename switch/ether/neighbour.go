package ether

import (
	"cmp"
	"net/netip"
	"slices"

	"cnuas/internal/sim"
)

// adjacency is a station that frames can be sent to. Entries do not expire;
// what ARP and ND say replaces them, and they are forgotten with their link.
type adjacency struct {
	iface    *iface
	addr     netip.Addr
	mac      [6]byte
	resolved bool     // mac is known
	static   bool     // by configuration
	gateway  bool     // a route points here
	askAt    sim.Time // not asked for again before
}

type neighKey struct {
	iface int
	addr  netip.Addr
}

// maxNeighbours bounds the table, which frames to absent hosts make grow.
const maxNeighbours = 16384

// askInterval is the least time between two requests for one address (RFC 1122
// §2.3.2.1; RFC 4861 §10, RETRANS_TIMER).
const askInterval = sim.Second

// adjacency returns the entry of an address in a subnet of x, new and without
// a MAC address if need be; nil if the table is full.
func (s *Switch) adjacency(x *iface, a netip.Addr) *adjacency {
	r := &s.router
	k := neighKey{x.index, a}
	if adj := r.neigh[k]; adj != nil {
		return adj
	}
	if len(r.neigh) >= maxNeighbours {
		r.purge()
		if len(r.neigh) >= maxNeighbours {
			return nil
		}
	}
	adj := &adjacency{iface: x, addr: a}
	r.neigh[k] = adj
	return adj
}

// purge removes the entries of stations that never answered.
func (r *router) purge() {
	for k, a := range r.neigh {
		if !a.resolved && !a.gateway && !a.static {
			delete(r.neigh, k)
		}
	}
	r.gen++
}

// forget makes what was learned on an interface unknown.
func (r *router) forget(x *iface) {
	for _, a := range r.neigh {
		if a.iface == x && !a.static {
			a.resolved, a.askAt = false, 0
		}
	}
}

func (s *Switch) setNeighbour(x *iface, a netip.Addr, mac [6]byte) *adjacency {
	adj := s.adjacency(x, a)
	if adj != nil && !adj.static && mac[0]&1 == 0 {
		adj.mac, adj.resolved = mac, true
	}
	return adj
}

// ask sends a request for the MAC address of a neighbour.
func (s *Switch) ask(a *adjacency) {
	now := s.eng.Now()
	if now < a.askAt || !a.iface.up {
		return
	}
	a.askAt = now + askInterval
	if a.addr.Is4() {
		s.askARP(a)
	} else {
		s.askND(a)
	}
}

// NeighbourEntry is an entry of the neighbour table.
type NeighbourEntry struct {
	Port     int    // index of a routed port; -1 for a VLAN interface
	VID      uint16 // of a VLAN interface
	Addr     netip.Addr
	MAC      [6]byte
	Resolved bool // MAC is known
	Static   bool
}

// NeighbourTable returns the neighbours of all interfaces in a fixed order.
func (s *Switch) NeighbourTable() []NeighbourEntry {
	all := make([]NeighbourEntry, 0, len(s.router.neigh))
	for _, a := range s.router.neigh {
		e := NeighbourEntry{Port: -1, Addr: a.addr, MAC: a.mac, Resolved: a.resolved, Static: a.static}
		if a.iface.port != nil {
			e.Port = a.iface.port.index
		} else {
			e.VID = a.iface.vlan.vid
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b NeighbourEntry) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.VID, b.VID), a.Addr.Compare(b.Addr))
	})
	return all
}

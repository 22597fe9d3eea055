package route

// balancer gives the LIDs of destinations to output ports of one switch after
// the other, in opensm's way: of the ports that are on a shortest path the one
// with the least load, the lowest of equals. The load of a port is the number
// of LIDs of ends that it has been given, divided by its rate; opensm does not
// look at rates. LIDs of switches are routed but not counted.
type balancer struct {
	load []uint64 // by port
	best []edge   // shortest ways to the switch that is the destination's
	used []uint32 // by port and by switch at the other side: the destination
	peer []uint32 // that was last given to it, for the several LIDs of one
	turn uint32
}

func newBalancer(switches int) *balancer {
	return &balancer{load: make([]uint64, 256), used: make([]uint32, 256), peer: make([]uint32, switches), best: make([]edge, 0, 256)}
}

// reset begins with a new switch.
func (b *balancer) reset() { clear(b.load) }

// give returns the port for one LID more of the destination that the turn is
// of. The LIDs of a destination go through different switches if they can,
// else through different ports (IBTA Vol 1 §7.11.1: they are for several paths).
func (b *balancer) give(count bool) uint8 {
	var c *edge
	rank, load := uint8(0), uint64(0)
	for i := range b.best {
		e := &b.best[i]
		r := uint8(0)
		if b.peer[e.to] == b.turn {
			r++
		}
		if b.used[e.port] == b.turn {
			r++
		}
		if l := b.load[e.port] + uint64(e.cost); c == nil || r < rank || r == rank && l < load {
			c, rank, load = e, r, l
		}
	}
	if c == nil {
		return NoRoute
	}
	b.used[c.port], b.peer[c.to] = b.turn, b.turn
	if count {
		b.load[c.port] += uint64(c.cost)
	}
	return c.port
}

// fill gives ports to all LIDs of a destination in one table.
func (b *balancer) fill(lft []uint8, d *dest) {
	b.turn++
	for i := range d.n {
		lft[d.lid+i] = b.give(d.end())
	}
}

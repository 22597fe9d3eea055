package tunnel

import (
	"net/netip"

	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

// receive takes a datagram for this end.
func (x *End) receive(from netip.AddrPort, h *Header, b []byte) {
	if x.closed {
		return
	}
	if x.addr.IsValid() && (from != x.addr || h.From != x.num) && (x.fixed || x.alive) {
		x.drop(DropWrongPeer)
		if !x.hub.logged[x.port.Name()] {
			x.hub.once(x.port.Name(), "%s: dropped a datagram from %v end %d: the peer is %v end %d; more of them are counted only", x.port.Name(), from, h.From, x.addr, x.num)
		}
		return
	}
	if h.Type == TypeState {
		x.state(from, h, b)
		return
	}
	if !x.there || h.Session != x.heard {
		x.drop(DropStale)
		return
	}
	if !x.inOrder(h) {
		return
	}
	var f *frame.Frame
	if h.Type == TypeFlow {
		f = openFlow(x.hub.pool, b, h.VL)
	} else {
		f = open(x.hub.pool, b, h.VL)
	}
	if f == nil {
		x.drop(DropPacket)
		x.hub.once("packet "+x.port.Name(), "%s: a packet of %d bytes from %v has a wrong CRC, length or lane: a symbol error; more of them are counted only", x.port.Name(), len(b), from)
		x.port.Lost(1)
		return
	}
	x.Stats.Received++
	x.port.Link().Deliver(f)
}

func (x *End) drop(r Drop) { x.Stats.Drops[r]++ }

// inOrder looks at the sequence number of a datagram of the present session. It
// reports false for one that comes late or again, and counts those that are
// missing in front of it.
func (x *End) inOrder(h *Header) bool {
	d := int32(h.Seq - x.rx)
	if d < 0 {
		x.drop(DropLate)
		return false
	}
	x.rx = h.Seq + 1
	now := x.proc.Now()
	x.last = now
	if d > 0 {
		x.Stats.Lost += uint64(d)
		x.port.Lost(uint32(d))
		x.ask(now)
	}
	return true
}

// ask makes the peer send flow control packets on all lanes soon, as it does
// when it hears that this end is up: what was lost may have been credits. At most
// one goes in each interval of flow control packets.
func (x *End) ask(now sim.Time) {
	if now-x.asked >= askInterval && x.port.LinkUp() {
		x.asked = now
		x.say(now)
	}
}

const askInterval = sim.Millisecond

// state takes a State of the peer.
func (x *End) state(from netip.AddrPort, h *Header, b []byte) {
	var s State
	if h.From == 0 || !s.Decode(b) {
		x.drop(DropState)
		x.hub.once("state "+x.port.Name(), "%s: dropped a malformed state of %d bytes from %v; more of them are counted only", x.port.Name(), len(b), from)
		return
	}
	now := x.proc.Now()
	fresh := !x.alive || h.Session != x.heard
	switch {
	case h.Session != x.heard:
		if x.alive {
			x.gone("has restarted: the link is down")
		}
	case !x.alive && int32(h.Seq-x.rx) < 0: // from before it fell silent
		x.drop(DropLate)
		return
	}
	if fresh {
		x.rx = h.Seq
		x.heard, x.addr, x.num = h.Session, from, h.From
		x.alive = true
	}
	if !x.inOrder(h) {
		return
	}
	x.Stats.Received++
	x.patience = deadAfter * sim.Time(float64(s.Heartbeat)*float64(sim.Millisecond)/x.hub.cfg.Scale)
	x.guid = s.GUID
	hears := s.Heard == x.hub.cfg.Session
	if fresh || !hears && now-x.asked >= askInterval {
		// It does not know yet that it is heard.
		x.asked = now
		x.Say()
	}
	on := hears && s.Phys != 0
	if on && !x.there {
		x.Stats.Peers++
		x.logf("is there: port GUID %#016x", uint64(s.GUID))
	} else if !on && x.there {
		x.logf("has no cable or goes away: the link is down")
	}
	x.carrier(on)
	if on {
		x.port.Hear(s.LinkState)
	}
}

package tunnel

import (
	"net/netip"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// End is one end of a tunnelled link; it is the port's ibport.Far.
//
//	              State of the peer            State with Heard = our session,
//	              (or configured)              Phys not 0
//	nobody ------------------------> heard ------------------------------------> there: the port
//	  ^                                |  ^                                        |     has a cable
//	  |      nothing for 5 heartbeats  |  |  Phys 0, or another session            |
//	  +--------------------------------+  +----------------------------------------+
//
// Being heard by the peer is asked for as well as hearing it, so that a path
// that works one way only is not taken for a link.
type End struct {
	Stats Stats

	hub  *Hub
	port *ibport.Port
	cfg  Config
	proc *sim.Proc

	fixed    bool           // the peer's address is configured, not learned
	addr     netip.AddrPort // of the peer; invalid: not known
	num      uint16         // of the peer's end
	heard    uint32         // session of the peer; 0: it has never been heard
	alive    bool           // the peer was heard lately
	there    bool           // the port has been told of a carrier
	closed   bool
	last     sim.Time // when the peer was last heard
	patience sim.Time // how long it may say nothing
	guid     wire.GUID

	tx, rx uint32 // next sequence numbers

	timer sim.Timer
	next  sim.Time // when the state is told again
	again sim.Time // interval of telling: short after a change, then doubled up to the heartbeat
	asked sim.Time // when the peer was last asked for flow control
}

// sayAgain is the first interval after which a state that changed is repeated,
// as a part of the heartbeat.
const sayAgain = 16

// Port is the port behind the end.
func (x *End) Port() *ibport.Port { return x.port }

// Num is the number of the end in its hub.
func (x *End) Num() uint16 { return x.cfg.Num }

// Peer is where the peer is, and the number of its end there; invalid if that is
// not known.
func (x *End) Peer() (netip.AddrPort, uint16) { return x.addr, x.num }

// There tells whether the peer is there and hears this end.
func (x *End) There() bool { return x.there }

// Say implements ibport.Far.
func (x *End) Say() {
	if x.closed {
		return
	}
	x.again = x.hub.cfg.Heartbeat / sayAgain
	x.say(x.proc.Now())
}

// say tells the peer the link's state, and sets the time of the next telling.
func (x *End) say(now sim.Time) {
	if !x.addr.IsValid() {
		return
	}
	x.tell(x.phys())
	x.next = now + x.again
	x.again = min(2*x.again, x.hub.cfg.Heartbeat)
	x.arm()
}

// phys is the state that the peer is told.
func (x *End) phys() mad.PhysState {
	if x.closed || !x.port.Link().Plugged() {
		return 0
	}
	return x.port.PhysState()
}

func (x *End) tell(phys mad.PhysState) {
	if !x.addr.IsValid() {
		return
	}
	s := State{LinkState: x.port.LinkState(), Heartbeat: x.hub.beat, GUID: x.port.GUID()}
	s.Phys = phys
	if x.alive {
		s.Heard = x.heard
	}
	b := x.hub.buf[:HeaderLen+StateLen]
	s.Encode(b[HeaderLen:])
	x.send(TypeState, 0, b)
}

// send sends a datagram that has room for its header in front.
func (x *End) send(t Type, vl uint8, b []byte) {
	h := Header{Type: t, VL: vl, To: x.num, From: x.cfg.Num, Session: x.hub.cfg.Session, Seq: x.tx}
	h.Encode(b)
	x.tx++
	x.Stats.Sent++
	x.hub.sock.Send(x.addr, b)
}

// Carry implements link.Far.
func (x *End) Carry(f *frame.Frame) {
	defer x.hub.pool.Put(f)
	switch {
	case !x.there:
		x.Stats.Unheard++
		return
	case f.Meta.Corrupt: // the peer sees that one is missing
		x.tx++
		x.Stats.Spoilt++
		return
	}
	t, vl := TypePacket, f.Meta.IB.VL
	if f.Meta.IB.Flags&frame.IBLink != 0 {
		t, vl = TypeFlow, wire.Flow(f.Data).VL()
	}
	b := seal(x.hub.buf[:HeaderLen], f)
	x.send(t, vl, b)
}

// Plug implements link.Far: the cable was pulled out of this end or put in.
func (x *End) Plug(bool) { x.Say() }

// arm sets the timer for what comes first.
func (x *End) arm() {
	t := x.next
	if x.alive {
		t = min(t, x.last+x.patience)
	}
	x.timer.Reset(t)
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (x *End) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	if x.alive && now-x.last >= x.patience {
		x.gone("has said nothing for %d ms: the link is down", int64(x.patience/sim.Millisecond))
		if !x.fixed {
			x.addr, x.num = netip.AddrPort{}, 0
			return // until somebody speaks
		}
	}
	if now >= x.next {
		x.say(now)
		return
	}
	x.arm()
}

// gone ends what there was with the peer.
func (x *End) gone(format string, args ...any) {
	if x.there {
		x.logf(format, args...)
	}
	x.alive = false
	x.carrier(false)
}

// carrier tells the port whether there is a peer.
func (x *End) carrier(on bool) {
	if x.there != on {
		x.there = on
		x.port.Link().Carrier(on)
	}
}

func (x *End) logf(format string, args ...any) {
	x.hub.logf("%s: %v end %d "+format, append([]any{x.port.Name(), x.addr, x.num}, args...)...)
}

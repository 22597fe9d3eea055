package tunnel

import (
	"errors"
	"fmt"
	"net/netip"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
)

// Socket sends datagrams. It may lose them, and must not keep b.
type Socket interface {
	Send(to netip.AddrPort, b []byte)
}

// DefaultHeartbeat is the interval of States on a link on which nothing changes,
// deadAfter in how many of them a peer that says nothing is dead.
const (
	DefaultHeartbeat = 200 * sim.Millisecond
	deadAfter        = 5
)

// HubConfig of a Hub.
type HubConfig struct {
	Session   uint32   // not 0; another one in each life of the hub, by which peers see that it restarted
	Heartbeat sim.Time // 0: DefaultHeartbeat; by the engine's clock
	Scale     float64  // wall time per time of the engine; 0: 1
	Log       func(format string, args ...any)
}

// Hub is all ends behind one socket. It belongs to the thread of its engine.
type Hub struct {
	Stats HubStats

	eng    *sim.Engine
	pool   *frame.Pool
	sock   Socket
	cfg    HubConfig
	beat   uint16 // milliseconds of the wall
	ends   []*End // by number; nil: none
	buf    []byte
	logged map[string]bool
}

// NewHub returns a hub without ends.
func NewHub(e *sim.Engine, pool *frame.Pool, sock Socket, cfg HubConfig) (*Hub, error) {
	if cfg.Session == 0 {
		return nil, errors.New("tunnel: the session must not be 0")
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = DefaultHeartbeat
	}
	if cfg.Scale == 0 {
		cfg.Scale = 1
	}
	ms := float64(cfg.Heartbeat) * cfg.Scale / float64(sim.Millisecond)
	if ms < MinHeartbeat || ms > MaxHeartbeat {
		return nil, fmt.Errorf("tunnel: a heartbeat of %v at scale %g: use %d to %d ms of wall time", cfg.Heartbeat, cfg.Scale, MinHeartbeat, MaxHeartbeat)
	}
	return &Hub{eng: e, pool: pool, sock: sock, cfg: cfg, beat: uint16(ms), buf: make([]byte, 0, MaxLen), logged: map[string]bool{}}, nil
}

// Config of an End.
type Config struct {
	Num     uint16         // of the end in its hub, not 0: what peers address
	Peer    netip.AddrPort // where the peer is; zero: who speaks first
	PeerNum uint16         // of the peer's end, with Peer
	ibport.FarConfig
}

// Add makes an end for a port, which it connects. Nothing is sent before the
// engine runs.
func (h *Hub) Add(p *ibport.Port, cfg Config) (*End, error) {
	if cfg.Num == 0 || cfg.Peer.IsValid() != (cfg.PeerNum != 0) {
		return nil, fmt.Errorf("tunnel %s: an end has a number, and so has a peer that is given", p.Name())
	}
	if h.end(cfg.Num) != nil {
		return nil, fmt.Errorf("tunnel %s: end %d exists already", p.Name(), cfg.Num)
	}
	x := &End{hub: h, port: p, cfg: cfg, proc: h.eng.NewProc(), fixed: cfg.Peer.IsValid(), addr: plain(cfg.Peer), num: cfg.PeerNum}
	if err := ibport.ConnectFar(p, x, cfg.FarConfig); err != nil {
		return nil, err
	}
	for len(h.ends) <= int(cfg.Num) {
		h.ends = append(h.ends, nil)
	}
	h.ends[cfg.Num] = x
	x.timer.Init(x.proc, x, 0, 0)
	x.again = h.cfg.Heartbeat
	if x.fixed {
		x.timer.Reset(x.proc.Now())
	}
	return x, nil
}

func (h *Hub) end(n uint16) *End {
	if int(n) < len(h.ends) {
		return h.ends[n]
	}
	return nil
}

// Ends returns the ends in the order of their numbers.
func (h *Hub) Ends() (l []*End) {
	for _, x := range h.ends {
		if x != nil {
			l = append(l, x)
		}
	}
	return l
}

// Receive takes a datagram, which remains the caller's. Everything in it is
// hostile.
func (h *Hub) Receive(from netip.AddrPort, b []byte) {
	h.Stats.Received++
	from = plain(from)
	var d Header
	if err := d.Decode(b); err != nil {
		r := DropType
		switch err {
		case ErrShort:
			r = DropShort
		case ErrMagic:
			r = DropMagic
		case ErrVersion:
			r = DropVersion
		case ErrCheck:
			r = DropCheck
		}
		h.drop(r)
		if !h.logged[dropNames[r]] {
			h.once(dropNames[r], "dropped a datagram of %d bytes from %v: it is %v; more of them are counted only", len(b), from, err)
		}
		return
	}
	x := h.end(d.To)
	if x == nil {
		h.drop(DropUnknown)
		if !h.logged[dropNames[DropUnknown]] {
			h.once(dropNames[DropUnknown], "dropped a datagram from %v: there is no end %d here; more of them are counted only", from, d.To)
		}
		return
	}
	x.receive(from, &d, b[HeaderLen:])
}

func (h *Hub) drop(r Drop) { h.Stats.Drops[r]++ }

// Close tells every peer that its end goes away, so that links go down at once
// and not when heartbeats stay out.
func (h *Hub) Close() {
	for _, x := range h.Ends() {
		x.closed = true
		x.timer.Stop()
		x.tell(0)
		x.port.Link().Carrier(false)
	}
}

// once logs the first of its kind.
func (h *Hub) once(kind, format string, args ...any) {
	if !h.logged[kind] {
		h.logged[kind] = true
		h.logf(format, args...)
	}
}

func (h *Hub) logf(format string, args ...any) {
	if h.cfg.Log != nil {
		h.cfg.Log("tunnel: "+format, args...)
	}
}

// plain is an address without the wrapping of IPv4 in IPv6, in which sockets
// give them.
func plain(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// Package datagram is a network of datagrams in memory, on an engine: tunnels
// in virtual time go over it. It delivers everything at once and in order unless
// it is told to delay, lose, repeat, spoil or reorder.
package datagram

import (
	"net/netip"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/tunnel"
)

// Faults of a network. The zero value is a perfect one.
type Faults struct {
	Delay  sim.Time // of every datagram
	Jitter sim.Time // up to so much more, by chance: datagrams overtake each other
	Loss   float64  // share that is lost
	Burst  int      // after one that is lost, so many more are
	Repeat float64  // share that comes twice
	Spoil  float64  // share in which a bit changes
}

// Net is a network. It belongs to the thread of its engine.
type Net struct {
	Faults Faults
	Sent   uint64
	Lost   uint64

	eng   *sim.Engine
	proc  *sim.Proc
	rand  *sim.Rand
	hosts map[netip.AddrPort]Receiver
	burst int
	fly   []flying // slots, by the argument of events
	free  []uint64
}

// Receiver gets what is sent to an address.
type Receiver interface {
	Receive(from netip.AddrPort, b []byte)
}

type flying struct {
	from, to netip.AddrPort
	b        []byte
}

// New returns a network without hosts.
func New(e *sim.Engine) *Net {
	p := e.NewProc()
	return &Net{eng: e, proc: p, rand: p.NewRand(0xda7a), hosts: map[netip.AddrPort]Receiver{}}
}

// Listen makes r receive what is sent to an address; nil: nobody does any more.
func (n *Net) Listen(at netip.AddrPort, r Receiver) {
	if r == nil {
		delete(n.hosts, at)
		return
	}
	n.hosts[at] = r
}

// Socket returns a socket that sends from an address.
func (n *Net) Socket(at netip.AddrPort) *Socket { return &Socket{net: n, at: at} }

// Socket sends from an address. It implements tunnel.Socket.
type Socket struct {
	Dead bool // nothing goes out any more: its process was killed

	net *Net
	at  netip.AddrPort
}

// Send implements tunnel.Socket.
func (s *Socket) Send(to netip.AddrPort, b []byte) {
	if s.Dead {
		return
	}
	n, c := s.net, &s.net.Faults
	n.Sent++
	if n.burst > 0 {
		n.burst--
		n.Lost++
		return
	}
	if n.rand.Chance(c.Loss) {
		n.burst = c.Burst
		n.Lost++
		return
	}
	n.send(s.at, to, b)
	if n.rand.Chance(c.Repeat) {
		n.send(s.at, to, b)
	}
}

func (n *Net) send(from, to netip.AddrPort, b []byte) {
	c := &n.Faults
	t := n.proc.Now() + c.Delay
	if c.Jitter > 0 {
		t += sim.Time(n.rand.Int64N(int64(c.Jitter)))
	}
	var k uint64
	if l := len(n.free); l > 0 {
		k = n.free[l-1]
		n.free = n.free[:l-1]
	} else {
		k = uint64(len(n.fly))
		n.fly = append(n.fly, flying{})
	}
	f := &n.fly[k]
	f.from, f.to, f.b = from, to, append(f.b[:0], b...)
	if n.rand.Chance(c.Spoil) {
		f.b[n.rand.IntN(len(b))] ^= 1 << n.rand.IntN(8)
	}
	n.proc.At(t, n, 0, k)
}

// HandleEvent implements sim.Handler: a datagram arrives.
func (n *Net) HandleEvent(_ sim.Time, _ uint32, k uint64) {
	f := &n.fly[k]
	b := f.b
	f.b = nil // the receiver may send, which may move the slots
	if r := n.hosts[f.to]; r != nil {
		r.Receive(f.from, b)
	}
	n.fly[k].b = b
	n.free = append(n.free, k)
}

// Connect joins two ports by a tunnel over a network of its own, which is
// returned for faults: in place of ibport.Connect. The delay is the network's.
func Connect(e *sim.Engine, pool *frame.Pool, a, b *ibport.Port, delay sim.Time) (*Link, error) {
	l := &Link{Net: New(e)}
	l.Net.Faults.Delay = delay
	at := [2]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:4793"), netip.MustParseAddrPort("192.0.2.2:4793")}
	for i, p := range []*ibport.Port{a, b} {
		h, err := tunnel.NewHub(e, pool, l.Net.Socket(at[i]), tunnel.HubConfig{Session: uint32(i + 1)})
		if err != nil {
			return nil, err
		}
		l.Net.Listen(at[i], h)
		if l.End[i], err = h.Add(p, tunnel.Config{Num: 1, Peer: at[1-i], PeerNum: 1}); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Link is a tunnelled link.
type Link struct {
	Net *Net
	End [2]*tunnel.End
}

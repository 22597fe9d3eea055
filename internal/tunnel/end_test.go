package tunnel_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/tunnel"
	"cnuas/internal/tunnel/datagram"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

var (
	addrA = netip.MustParseAddrPort("192.0.2.1:4793")
	addrB = netip.MustParseAddrPort("192.0.2.2:4793")
	addrX = netip.MustParseAddrPort("198.51.100.1:999")
)

// bench is an end A that knows where B is, and a B that waits to be spoken to.
type bench struct {
	*testing.T
	e    *sim.Engine
	pool *frame.Pool
	net  *datagram.Net
	log  []string
	end  [2]*ibtest.End
	hub  [2]*tunnel.Hub
	tun  [2]*tunnel.End
	sock [2]*datagram.Socket
}

func newBench(t *testing.T) *bench {
	x := &bench{T: t, e: sim.NewEngine(3), pool: &frame.Pool{}}
	x.net = datagram.New(x.e)
	x.net.Faults.Delay = 10 * sim.Microsecond
	x.start(0, 0xa)
	x.start(1, 0xb)
	return x
}

// start begins a life of A or B: a new port behind a new hub.
func (x *bench) start(i int, session uint32) {
	x.Helper()
	name, at := "a", addrA
	cfg := tunnel.Config{Num: 1, Peer: addrB, PeerNum: 7}
	if i == 1 {
		name, at, cfg = "b", addrB, tunnel.Config{Num: 7}
	}
	x.end[i] = ibtest.NewEnd(x.e, x.pool, ibport.Config{Name: name, SpeedsExt: mad.SpeedEDR, GUID: wire.GUID(0x10 + i), BufferBytes: 128 << 10})
	var err error
	x.sock[i] = x.net.Socket(at)
	x.hub[i], err = tunnel.NewHub(x.e, x.pool, x.sock[i], tunnel.HubConfig{Session: session, Log: func(f string, a ...any) {
		x.log = append(x.log, fmt.Sprintf(f, a...))
	}})
	if err != nil {
		x.Fatal(err)
	}
	if x.tun[i], err = x.hub[i].Add(x.end[i].Port, cfg); err != nil {
		x.Fatal(err)
	}
	x.net.Listen(at, x.hub[i])
}

// kill ends a life without a word.
func (x *bench) kill(i int) {
	x.net.Listen([2]netip.AddrPort{addrA, addrB}[i], nil)
	x.sock[i].Dead = true
	x.end[i].Drop()
	x.hub[i].Close()
}

func (x *bench) run(d sim.Time) { x.e.RunUntil(x.e.Now() + d) }

func (x *bench) states(a, b mad.PortState) {
	x.Helper()
	if s, u := x.end[0].Port.State(), x.end[1].Port.State(); s != a || u != b {
		x.Fatalf("states %v and %v, want %v and %v; %s", s, u, a, b, strings.Join(x.log, "\n"))
	}
}

func (x *bench) activate() {
	x.Helper()
	x.run(500 * sim.Millisecond)
	x.states(mad.PortInit, mad.PortInit)
	x.end[0].Activate(1)
	x.end[1].Activate(2)
	x.run(sim.Millisecond)
	x.states(mad.PortActive, mad.PortActive)
}

func (x *bench) logged(part string) (n int) {
	for _, l := range x.log {
		if strings.Contains(l, part) {
			n++
		}
	}
	return n
}

// Both ends train; the passive one learns where its peer is.
func TestTrain(t *testing.T) {
	x := newBench(t)
	x.activate()
	if at, n := x.tun[1].Peer(); at != addrA || n != 1 || !x.tun[0].There() || !x.tun[1].There() {
		t.Errorf("the peer is at %v end %d", at, n)
	}
	if i := x.end[0].Port.Info(); i.LinkWidthActive != mad.Width4X || i.LinkSpeedExtActive != mad.SpeedEDR || x.end[1].Port.Rate() != 100e9 {
		t.Errorf("%+v", i)
	}
	if x.logged("is there") != 2 || len(x.log) != 2 {
		t.Errorf("log %q", x.log)
	}
	// An idle link: heartbeats and flow control of all lanes, every 50 ms and as
	// answers to heartbeats.
	before := x.net.Sent
	x.run(10 * sim.Second)
	if n := x.net.Sent - before; n < 2*(50+4*200) || n > 2*(51+4*251) {
		t.Errorf("%d datagrams in 10 idle seconds", n)
	}
	if c := x.end[0].Port.Counters(); c.SymbolErrors+c.LinkDowned+c.LinkErrorRecovery != 0 {
		t.Errorf("%+v", c)
	}
}

// kill -9 of one end: the other goes down after five heartbeats, and comes back
// with the next life of its peer.
func TestPeerDies(t *testing.T) {
	for i := range 2 {
		x := newBench(t)
		x.activate()
		x.kill(i)
		x.run(700 * sim.Millisecond)
		o := x.end[1-i].Port
		if o.State() != mad.PortActive {
			t.Errorf("%d died: %v after 700 ms", i, o.State())
		}
		x.run(400 * sim.Millisecond)
		if o.State() != mad.PortDown || o.PhysState() != mad.PhysPolling || x.tun[1-i].There() || x.logged("has said nothing for 1000 ms") != 1 {
			t.Errorf("%d died: %v, %v after 1.1 s; %q", i, o.State(), o.PhysState(), x.log)
		}
		x.run(60 * sim.Second)
		x.start(i, 0xc)
		x.activate()
		if c := o.Counters(); c.LinkDowned != 1 || c.SymbolErrors != 0 || x.tun[1-i].Stats.Peers != 2 {
			t.Errorf("%d died: %+v", i, c)
		}
	}
}

// A peer that restarts before it is missed: its new session takes the link down,
// so that no credit and no state of its former life is believed.
func TestPeerRestarts(t *testing.T) {
	for i := range 2 {
		x := newBench(t)
		x.activate()
		x.end[1-i].Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, Payload: 4096}, Left: -1})
		x.run(sim.Millisecond)
		x.kill(i)
		x.start(i, 0xc)
		x.run(250 * sim.Millisecond) // a passive end waits to be spoken to
		o := x.end[1-i].Port
		if o.Counters().LinkDowned != 1 || x.logged("has restarted") != 1 || o.State() != mad.PortInit || x.end[i].Port.State() != mad.PortInit {
			t.Errorf("%d restarted: %+v, %v and %v; %q", i, o.Counters(), o.State(), x.end[i].Port.State(), x.log)
		}
		x.activate()
		n := x.end[i].Rcvd
		x.run(sim.Millisecond)
		if x.end[i].Rcvd < n+1000 {
			t.Errorf("%d restarted: %d packets in a millisecond afterwards", i, x.end[i].Rcvd-n)
		}
	}
}

// An end that says goodbye takes the link down at once.
func TestGoodbye(t *testing.T) {
	x := newBench(t)
	x.activate()
	x.hub[1].Close()
	x.run(20 * sim.Microsecond)
	x.states(mad.PortDown, mad.PortDown)
	x.run(10 * sim.Second)
	x.states(mad.PortDown, mad.PortDown)
	if x.logged("goes away") != 1 {
		t.Errorf("%q", x.log)
	}
}

// A path that works in one direction only is no link.
func TestOneWay(t *testing.T) {
	x := newBench(t)
	x.sock[1].Dead = true
	x.run(10 * sim.Second)
	if x.tun[1].There() || x.end[1].Port.PhysState() != mad.PhysPolling {
		t.Error("B believes in an A that does not hear it")
	}
	x.sock[1].Dead = false
	x.activate()
	x.sock[1].Dead = true
	x.run(3 * sim.Second)
	x.states(mad.PortDown, mad.PortDown)
}

// Sequence numbers wrap, and a path that was broken for long comes back without
// counting what was lost meanwhile: the link was down.
func TestSequence(t *testing.T) {
	x := newBench(t)
	x.tun[0].SetSeq(0xffffff00)
	x.activate()
	x.end[0].Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, Payload: 256}, Left: 5000})
	x.run(10 * sim.Millisecond)
	if x.end[1].Rcvd != 5000 || x.tun[1].Stats.Lost != 0 {
		t.Errorf("%d packets over the wrap, %d lost", x.end[1].Rcvd, x.tun[1].Stats.Lost)
	}
	x.net.Faults.Loss = 1
	x.run(5 * sim.Second)
	x.states(mad.PortDown, mad.PortDown)
	x.net.Faults.Loss = 0
	x.activate()
	for i, e := range x.end {
		if c := e.Port.Counters(); c.SymbolErrors != 0 || c.LinkDowned != 1 {
			t.Errorf("end %d: %+v", i, c)
		}
	}
}

// What is not the peer's is dropped, counted and logged once, and does no harm.
func TestHostile(t *testing.T) {
	x := newBench(t)
	x.activate()
	x.log = nil
	h := tunnel.Header{Type: tunnel.TypeState, To: 7, From: 1, Session: 5}
	s := tunnel.State{LinkState: ibport.LinkState{Phys: mad.PhysPolling}, Heartbeat: 200}
	good := make([]byte, tunnel.HeaderLen+tunnel.StateLen)
	s.Encode(good[tunnel.HeaderLen:])
	h.Encode(good)
	change := func(at int, v ...byte) []byte {
		b := append([]byte(nil), good...)
		copy(b[at:], v)
		return b
	}
	with := func(f func(h *tunnel.Header, s *tunnel.State)) []byte {
		h, s, b := h, s, make([]byte, len(good))
		f(&h, &s)
		s.Encode(b[tunnel.HeaderLen:])
		h.Encode(b)
		return b
	}
	hub, end := &x.hub[1].Stats, &x.tun[1].Stats
	for _, c := range []struct {
		name  string
		from  netip.AddrPort
		b     []byte
		count *uint64
		log   string
	}{
		{"nothing", addrX, nil, &hub.Drops[tunnel.DropShort], "shorter"},
		{"short", addrA, good[:19], &hub.Drops[tunnel.DropShort], "shorter"},
		{"garbage", addrX, []byte(strings.Repeat("garbage", 10)), &hub.Drops[tunnel.DropMagic], "not a tunnel's"},
		{"version", addrA, change(2, 2), &hub.Drops[tunnel.DropVersion], "another version"},
		{"type", addrA, change(3, 9), &hub.Drops[tunnel.DropType], "unknown type"},
		{"spoilt", addrA, change(22, 9), &hub.Drops[tunnel.DropCheck], "check is wrong"},
		{"end", addrA, with(func(h *tunnel.Header, _ *tunnel.State) { h.To = 9 }), &hub.Drops[tunnel.DropUnknown], "no end 9"},
		{"address", addrX, good, &end.Drops[tunnel.DropWrongPeer], "the peer is"},
		{"port", netip.AddrPortFrom(addrA.Addr(), 1), good, &end.Drops[tunnel.DropWrongPeer], "the peer is"},
		{"from", addrA, with(func(h *tunnel.Header, _ *tunnel.State) { h.From = 2 }), &end.Drops[tunnel.DropWrongPeer], "the peer is"},
		{"state", addrA, with(func(_ *tunnel.Header, s *tunnel.State) { s.Phys = 99 }), &end.Drops[tunnel.DropState], "malformed"},
		{"session", addrA, with(func(h *tunnel.Header, _ *tunnel.State) { h.Type = tunnel.TypePacket }), &end.Drops[tunnel.DropStale], ""},
		{"again", addrA, with(func(h *tunnel.Header, _ *tunnel.State) { h.Session = 0xa }), &end.Drops[tunnel.DropLate], ""},
	} {
		before, logs := *c.count, x.logged(c.log)
		for range 1000 {
			x.hub[1].Receive(c.from, c.b)
		}
		if n := *c.count - before; n != 1000 {
			t.Errorf("%s: %d of 1000 counted", c.name, n)
		}
		if n := x.logged(c.log); c.log != "" && (n > 1 || n == 0 || n < logs) {
			t.Errorf("%s: %d log lines", c.name, n)
		}
	}
	x.run(sim.Second)
	x.states(mad.PortActive, mad.PortActive)
	if c := x.end[1].Port.Counters(); c.SymbolErrors != 0 || c.LinkErrorRecovery != 0 {
		t.Errorf("%+v", c)
	}
	if n := testing.AllocsPerRun(100, func() { x.hub[1].Receive(addrX, good); x.hub[1].Receive(addrX, good[:7]) }); n != 0 {
		t.Errorf("%v allocations for a flood", n)
	}
}

// Anything may come, from the peer as well.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{3, 7, 2, 3, 3, 2, 0, 0, 0, 0xb})
	f.Add([]byte{1, 1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		x := newBench(t)
		x.activate()
		for seq := uint32(0); len(b) > 2; seq++ { // type, length, payload
			n := min(int(b[1])+2, len(b))
			h := tunnel.Header{Type: tunnel.Type(b[0]&3 + 1), VL: b[0] >> 4, To: 7, From: 1, Session: 0xa, Seq: x.tun[0].Seq() + seq}
			d := append(make([]byte, tunnel.HeaderLen), b[2:n]...)
			h.Encode(d)
			x.hub[1].Receive(addrA, d)
			b = b[n:]
			x.run(10 * sim.Microsecond)
		}
		before := x.e.Fired()
		if x.e.RunSome(x.e.Now()+sim.Second, 20000); x.e.Fired()-before >= 20000 {
			t.Fatalf("20000 events in %v: something goes round; %q", x.e.Now(), x.log)
		}
		for _, e := range x.end {
			e.Drop()
			e.Port.Link().SetUp(false)
		}
		if x.pool.Live() != 0 {
			t.Errorf("%d frames are alive", x.pool.Live())
		}
	})
}

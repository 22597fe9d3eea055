package udp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/realtime"
	"cnuas/internal/sim"
	"cnuas/internal/tunnel"
	"cnuas/internal/wire/mad"
)

// side is a port with its hub and socket on a loop of its own, as a process is.
type side struct {
	loop *realtime.Loop
	eng  *sim.Engine
	pool *frame.Pool
	end  *ibtest.End
	hub  *tunnel.Hub
	tun  *tunnel.End
	sock *Socket
	log  []string
	done chan error
}

func newSide(t testing.TB, listen, peer string, session uint32) *side {
	t.Helper()
	s := &side{eng: sim.NewEngine(uint64(session)), pool: &frame.Pool{}, done: make(chan error, 1)}
	var err error
	if s.loop, err = realtime.New(s.eng, realtime.Config{}); err != nil {
		t.Fatal(err)
	}
	if s.sock, err = Listen(netip.MustParseAddrPort(listen)); err != nil {
		t.Fatal(err)
	}
	logf := func(f string, a ...any) { s.log = append(s.log, fmt.Sprintf(f, a...)) }
	if s.hub, err = tunnel.NewHub(s.eng, s.pool, s.sock, tunnel.HubConfig{Session: session, Log: logf}); err != nil {
		t.Fatal(err)
	}
	s.end = ibtest.NewEnd(s.eng, s.pool, ibport.Config{Name: fmt.Sprintf("s%d", session), SpeedsExt: mad.SpeedEDR, BufferBytes: 128 << 10})
	cfg := tunnel.Config{Num: 1}
	if peer != "" {
		cfg.Peer, cfg.PeerNum = netip.MustParseAddrPort(peer), 1
	}
	if s.tun, err = s.hub.Add(s.end.Port, cfg); err != nil {
		t.Fatal(err)
	}
	if err = s.sock.Start(s.loop, s.hub, logf); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.loop.Run() }()
	return s
}

func (s *side) stop(t testing.TB) {
	t.Helper()
	s.loop.Do(s.hub.Close)
	s.loop.Stop()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	if err := s.sock.Close(); err != nil {
		t.Error(err)
	}
}

// await polls until ok holds with the engine held.
func (s *side) await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		good := false
		s.loop.Do(func() { good = ok() })
		if good {
			return
		}
		if time.Now().After(end) {
			s.loop.Do(func() { t.Fatalf("%s: not after 10 s; %q, %+v", what, s.log, s.tun.Stats) })
		}
	}
}

func (s *side) state(t testing.TB, want mad.PortState) {
	t.Helper()
	s.await(t, s.end.Port.Name()+" "+want.String(), func() bool { return s.end.Port.State() == want })
}

// Two loops, two sockets: a link trains, carries packets both ways, goes down
// with the peer and comes up with its next life.
func TestLoopback(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		b := newSide(t, host+":0", "", 2)
		at := b.sock.Addr().String()
		a := newSide(t, host+":0", at, 1)
		const n = 5000
		for _, s := range []*side{a, b} {
			s.state(t, mad.PortInit)
		}
		for i, s := range []*side{a, b} {
			s.loop.Do(func() {
				s.end.Activate(1)
				s.end.Start(uint8(i), &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, SL: uint8(i), Payload: 4096}, Left: n})
			})
		}
		for _, s := range []*side{a, b} {
			s.await(t, "all packets", func() bool { return s.end.Rcvd == n })
			s.loop.Do(func() {
				if c := s.end.Port.Counters(); c.SymbolErrors != 0 || c.LinkDowned != 0 || s.tun.Stats.Lost != 0 {
					t.Errorf("%+v, %+v", c, s.tun.Stats)
				}
				if st := s.sock.Stats(); st.Sent < n || st.Received < n || st.Unsent != 0 || st.Overflow != 0 || st.Buffer == 0 {
					t.Errorf("%+v", st)
				}
			})
		}
		b.stop(t)
		a.state(t, mad.PortDown)
		b = newSide(t, at, "", 3)
		a.state(t, mad.PortInit)
		b.state(t, mad.PortInit)
		a.stop(t)
		b.state(t, mad.PortDown)
		b.stop(t)
		if p := a.pool.Live() + b.pool.Live(); p != 0 {
			t.Errorf("%s: %d frames are alive", host, p)
		}
	}
}

// What a taken port's error says.
func TestListenErrors(t *testing.T) {
	a, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for at, want := range map[string]string{
		a.Addr().String():  "another fabric or cnuas switch has it",
		"198.51.100.77:99": "this machine has no such address",
	} {
		s, err := Listen(netip.MustParseAddrPort(at))
		if err == nil {
			s.Close()
			t.Fatalf("%s: no error", at)
		}
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// Strangers send garbage as fast as they can: the link stays up, and everything
// that came is counted.
func TestFlood(t *testing.T) {
	b := newSide(t, "127.0.0.1:0", "", 2)
	a := newSide(t, "127.0.0.1:0", b.sock.Addr().String(), 1)
	a.state(t, mad.PortInit)
	b.state(t, mad.PortInit)
	c, err := net.Dial("udp", b.sock.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const n = 30000
	long := bytes.Repeat([]byte{'x'}, 60000)
	for i := range n {
		if _, err := c.Write(long[:[]int{0, 1, 19, 1000, 60000}[i%5]*btoi(i%100 == 99 || i%5 != 4)]); err != nil {
			t.Fatal(err)
		}
	}
	b.await(t, "the flood", func() bool {
		st := b.sock.Stats()
		d := &b.hub.Stats.Drops
		return st.Received+st.Overflow >= n && d[tunnel.DropShort]+d[tunnel.DropMagic]+st.Overflow >= n
	})
	b.loop.Do(func() {
		if b.end.Port.State() != mad.PortInit || b.end.Port.Counters().LinkDowned != 0 {
			t.Errorf("%v, %+v", b.end.Port.State(), b.end.Port.Counters())
		}
		if len(b.log) > 5 {
			t.Errorf("%d log lines: %q", len(b.log), b.log)
		}
	})
	a.stop(t)
	b.stop(t)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The control message with the count of overflows.
func TestOverflow(t *testing.T) {
	var log []string
	s := &Socket{log: func(f string, a ...any) { log = append(log, fmt.Sprintf(f, a...)) }}
	b := make([]byte, controlLen)
	s.overflow(nil)
	s.overflow(b)
	binary.NativeEndian.PutUint64(b, 20)
	binary.NativeEndian.PutUint32(b[8:], unix.SOL_SOCKET)
	binary.NativeEndian.PutUint32(b[12:], unix.SO_RXQ_OVFL)
	binary.NativeEndian.PutUint32(b[16:], 7)
	s.overflow(b)
	binary.NativeEndian.PutUint32(b[16:], 9)
	s.overflow(b)
	if s.st.Overflow != 9 || len(log) != 1 || !strings.Contains(log[0], "dropped 7 datagrams") {
		t.Errorf("%+v, %q", s.st, log)
	}
}

// Sending and receiving allocate nothing.
func TestNoAllocations(t *testing.T) {
	a, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.hub, err = tunnel.NewHub(sim.NewEngine(1), &frame.Pool{}, a, tunnel.HubConfig{Session: 1}); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4000)
	a.Send(a.at, b)
	a.Flush()
	a.Readable() // logs once
	n := testing.AllocsPerRun(100, func() {
		for range 10 {
			a.Send(a.at, b)
		}
		a.Flush()
		a.Readable()
	})
	if n != 0 || a.st.Received < 1000 || a.hub.Stats.Drops[tunnel.DropMagic] != a.st.Received {
		t.Errorf("%v allocations, %+v", n, a.st)
	}
}

// BenchmarkLink is a packet of 4 KiB over a link between two loops.
func BenchmarkLink(b *testing.B) {
	y := newSide(b, "127.0.0.1:0", "", 2)
	x := newSide(b, "127.0.0.1:0", y.sock.Addr().String(), 1)
	for _, s := range []*side{x, y} {
		s.state(b, mad.PortInit)
		s.loop.Do(func() { s.end.Activate(1) })
	}
	b.SetBytes(4096)
	b.ResetTimer()
	x.loop.Do(func() {
		x.end.Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, Payload: 4096}, Left: b.N})
	})
	for {
		got := uint64(0)
		y.loop.Do(func() { got = y.end.Rcvd + y.end.Port.Counters().SymbolErrors })
		if got >= uint64(b.N) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	x.stop(b)
	y.stop(b)
}

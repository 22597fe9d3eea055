// Package switchd runs one InfiniBand switch as a process of its own: its ports
// are ends of tunnels, so that its neighbours may be in a fabric's daemon, in
// another such process, or in a program that somebody else wrote.
package switchd

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"cnuas/internal/fabric"
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/realtime"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/tunnel"
	"cnuas/internal/tunnel/udp"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/switch/ib"
)

// Peer is where the neighbour of a port is. Without one a port waits to be
// spoken to.
type Peer struct {
	Addr netip.AddrPort
	Num  uint16 // of its end there
}

// Config of a switch.
type Config struct {
	Name   string
	GUID   wire.GUID // 0: GUIDOf(Name)
	Ports  int       // 1 to ib.MaxPorts
	Port   ibport.Config
	Listen netip.AddrPort
	Peers  map[int]Peer // by port
	Scale  float64      // wall time per simulated time; that of the neighbours
	Log    io.Writer    // a line per event
}

// GUIDOf is the GUID of a switch that was given none: a locally administered
// EUI-64 that follows from its name.
func GUIDOf(name string) wire.GUID {
	h := fnv.New32a()
	io.WriteString(h, name)
	return 0x02000b03_00000000 | wire.GUID(h.Sum32())
}

// process is a running switch.
type process struct {
	cfg  Config
	loop *realtime.Loop
	sw   *ib.Switch
	hub  *tunnel.Hub
	sock *udp.Socket
	last []string // state of each port that was logged
}

func (p *process) logf(format string, args ...any) {
	fmt.Fprintf(p.cfg.Log, "cnuas switch %s: %s\n", p.cfg.Name, fmt.Sprintf(format, args...))
}

// Run makes the switch, calls ready with the address of its socket, and serves
// until ctx ends. Then it says goodbye to its neighbours, whose links go down at
// once.
func Run(ctx context.Context, cfg Config, ready func(at netip.AddrPort)) (err error) {
	if cfg.GUID == 0 {
		cfg.GUID = GUIDOf(cfg.Name)
	}
	p := &process{cfg: cfg}
	if err := p.build(); err != nil {
		return err
	}
	fail := make(chan error, 1)
	go func() { fail <- p.loop.Run() }()
	ready(p.sock.Addr())
	watch := time.NewTicker(50 * time.Millisecond)
	defer watch.Stop()
	for done := false; !done; {
		select {
		case <-watch.C:
			p.watch()
		case <-ctx.Done():
			p.loop.Do(p.hub.Close)
			p.loop.Stop()
			if err, done = <-fail, true; errors.Is(err, realtime.ErrClosed) {
				err = nil // it was to end before it began
			}
		case err = <-fail:
			done = true
		}
	}
	p.watch()
	p.summary()
	if e := p.sock.Close(); err == nil {
		err = e
	}
	return err
}

func (p *process) build() (err error) {
	for n, peer := range p.cfg.Peers {
		if n < 1 || n > p.cfg.Ports {
			return fmt.Errorf("switch %s: a peer is given for port %d, and its ports are 1 to %d", p.cfg.Name, n, p.cfg.Ports)
		}
		if peer.Addr == p.cfg.Listen {
			return fmt.Errorf("switch %s: the peer of port %d is the switch itself", p.cfg.Name, n)
		}
	}
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return fmt.Errorf("entropy for the session: %w", err)
	}
	e, pool := sim.NewEngine(1), &frame.Pool{}
	p.sw, err = ib.New(e, pool, ib.Config{Name: p.cfg.Name, GUID: p.cfg.GUID, SystemGUID: p.cfg.GUID, Ports: p.cfg.Ports, Port: p.cfg.Port})
	if err != nil {
		return err
	}
	p.last = slices.Repeat([]string{mad.PortDown.String()}, p.cfg.Ports+1)
	if p.loop, err = realtime.New(e, realtime.Config{Scale: p.cfg.Scale}); err != nil {
		return err
	}
	if p.sock, err = udp.Listen(p.cfg.Listen); err != nil {
		p.loop.Stop()
		return err
	}
	if err = p.join(e, pool, binary.BigEndian.Uint32(seed[:])|1); err != nil {
		p.loop.Stop()
		p.sock.Close()
	}
	return err
}

// join puts the ports behind the socket.
func (p *process) join(e *sim.Engine, pool *frame.Pool, session uint32) (err error) {
	c := tunnel.HubConfig{Session: session, Scale: p.loop.Scale(), Log: p.logf}
	c.Heartbeat = fabric.TunnelHeartbeat(c.Scale)
	if p.hub, err = tunnel.NewHub(e, pool, p.sock, c); err != nil {
		return err
	}
	for n := 1; n <= p.cfg.Ports; n++ {
		t := tunnel.Config{Num: uint16(n)}
		if x, ok := p.cfg.Peers[n]; ok {
			t.Peer, t.PeerNum = x.Addr, x.Num
		}
		if _, err = p.hub.Add(p.sw.Port(n), t); err != nil {
			return err
		}
	}
	return p.sock.Start(p.loop, p.hub, p.logf)
}

// watch logs what became of ports.
func (p *process) watch() {
	for n := 1; n <= p.cfg.Ports; n++ {
		var s string
		p.loop.Do(func() {
			x := p.sw.Port(n)
			s = x.State().String()
			if r := x.Rate(); r != 0 {
				s = fmt.Sprintf("%s at %v", s, r)
			}
		})
		if s != p.last[n] {
			p.last[n] = s
			p.logf("port %d is %s", n, s)
		}
	}
}

// summary logs what passed, and what did not.
func (p *process) summary() {
	t := p.sw.Totals()
	p.logf("%d packets in, %d out, %d dropped", t.In, t.Out, t.Dropped())
	for _, x := range p.hub.Ends() {
		s, c := &x.Stats, x.Port().Counters()
		if s.Received == 0 {
			continue
		}
		p.logf("port %d: %d datagrams sent, %d received, %d lost; %d symbol errors, %d link error recoveries, down %d times%s",
			x.Num(), s.Sent, s.Received, s.Lost, c.SymbolErrors, c.LinkErrorRecovery, c.LinkDowned, drops(s.Drops[:]))
	}
	if d := drops(p.hub.Stats.Drops[:]); d != "" {
		p.logf("datagrams for no port: %s", strings.TrimPrefix(d, "; "))
	}
	st := p.loop.Stats()
	u := p.sock.Stats()
	if u.Overflow != 0 || u.Unsent != 0 || st.SlipShare() > 0.02 {
		p.logf("NOT FAITHFUL: %d datagrams dropped by the kernel, %d not sent, the engine slipped %.1f%% of the time", u.Overflow, u.Unsent, 100*st.SlipShare())
	}
}

// drops lists what was dropped by reason; empty for nothing.
func drops(l []uint64) string {
	m := map[string]uint64{}
	for r, n := range l {
		if n != 0 {
			m[tunnel.Drop(r).String()] = n
		}
	}
	var s strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&s, "; dropped %d: %s", m[k], k)
	}
	return s.String()
}

// PortConfig is the configuration of ports that do nothing above l. The error
// says what in it does not exist.
func PortConfig(l topology.IBLink) (c ibport.Config, err error) {
	l.Tunnel = true
	c = fabric.IBPortConfig(&topology.Link{IB: &l})
	switch {
	case !slices.Contains([]int{1, 2, 4, 8, 12}, l.Width):
		err = fmt.Errorf("a width of %d: use 1, 2, 4, 8 or 12 lanes", l.Width)
	case c.MTU.Bytes() != l.MTU:
		err = fmt.Errorf("an MTU of %d: use 256, 512, 1024, 2048 or 4096", l.MTU)
	case c.VLs.Count() != l.VLs:
		err = fmt.Errorf("%d data lanes: use 1, 2, 4, 8 or 15", l.VLs)
	case l.Speed.SignalRate() == 0:
		err = fmt.Errorf("a speed of %q: use SDR, DDR, QDR, FDR10, FDR, EDR, HDR or NDR", l.Speed)
	}
	return c, err
}

package ib

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/tunnel/datagram"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

const delay = 500 * sim.Nanosecond

// network is switches and fake ends on one engine.
type network struct {
	testing.TB
	e    *sim.Engine
	pool *frame.Pool
	sw   []*Switch
	end  []*ibtest.End // LID i+1
	port ibport.Config
	far  []*datagram.Link
}

// tunnelled makes the links of tests tunnels over a network in memory.
var tunnelled bool

func newNetwork(t testing.TB) *network {
	return &network{TB: t, e: sim.NewEngine(7), pool: &frame.Pool{}, port: ibport.Config{SpeedsExt: mad.SpeedEDR}}
}

func (n *network) run(d sim.Time) { n.e.RunUntil(n.e.Now() + d) }

func (n *network) addSwitch(cfg Config) *Switch {
	n.Helper()
	k := len(n.sw) + 1
	if cfg.Name == "" {
		cfg.Name = fmt.Sprintf("s%d", k)
	}
	cfg.GUID = wire.GUID(0x200000 + k)
	if cfg.Port == (ibport.Config{}) {
		cfg.Port = n.port
	}
	s, err := New(n.e, n.pool, cfg)
	if err != nil {
		n.Fatal(err)
	}
	n.sw = append(n.sw, s)
	return s
}

// addEnd connects an end to a port of a switch.
func (n *network) addEnd(s *Switch, port int) *ibtest.End {
	n.Helper()
	c := n.port
	c.Name, c.GUID = fmt.Sprintf("h%d", len(n.end)+1), wire.GUID(0x100000+len(n.end))
	x := ibtest.NewEnd(n.e, n.pool, c)
	n.connect(x.Port, s.Port(port))
	n.end = append(n.end, x)
	return x
}

func (n *network) connect(a, b *ibport.Port) {
	n.Helper()
	if tunnelled {
		l, err := datagram.Connect(n.e, n.pool, a, b, delay)
		if err != nil {
			n.Fatal(err)
		}
		n.far = append(n.far, l)
		return
	}
	if err := ibport.Connect(a, b, delay); err != nil {
		n.Fatal(err)
	}
}

// activate trains all links and makes the ports active, as a subnet manager
// would: the ends have LIDs 1, 2, ..., the switches 101, 102, ...
func (n *network) activate() {
	n.run(10 * sim.Millisecond)
	for i, x := range n.end {
		x.Activate(wire.LID(i + 1))
	}
	for i, s := range n.sw {
		ibtest.Set(s.Port(0), 0, func(a *mad.PortInfo) { a.LID, a.MasterSMLID = wire.LID(101+i), 1 })
		s.info.LinearFDBTop = 200
		for _, st := range []mad.PortState{mad.PortArmed, mad.PortActive} {
			for k := 1; k <= s.NumPorts(); k++ {
				if x := s.Port(k).State(); x >= mad.PortInit && x < st {
					ibtest.Set(s.Port(k), st, nil)
				}
			}
		}
	}
	n.run(10 * sim.Microsecond)
}

// route sets the ports of LIDs, given as pairs.
func (s *Switch) route(lidPort ...int) {
	var a mad.LinearForwarding
	for i := 0; i < len(lidPort); i += 2 {
		l := lidPort[i]
		s.LFTBlock(l/64, &a)
		a.Port[l%64] = uint8(lidPort[i+1])
		s.SetLFTBlock(l/64, &a)
	}
}

// star is one switch with k ends, all active: LID i is at port i.
func star(t testing.TB, k int, cfg Config) *network {
	n := newNetwork(t)
	cfg.Ports = k
	s := n.addSwitch(cfg)
	for i := 1; i <= k; i++ {
		n.addEnd(s, i)
		s.route(i, i)
	}
	n.activate()
	return n
}

// flow makes end a send left packets to LID b.
func (n *network) flow(a, b int, sl, vl uint8, payload, left int) {
	n.end[a-1].Start(vl, &ibtest.Flow{Left: left, Packet: ibtest.Packet{SLID: wire.LID(a), DLID: wire.LID(b), SL: sl, Payload: payload}})
}

// done ends all flows and checks that nothing was lost or is left.
func (n *network) done() {
	n.Helper()
	for _, x := range n.end {
		x.Drop()
	}
	n.run(300 * sim.Millisecond)
	for _, l := range n.far { // flow control goes on over tunnels
		for _, x := range l.End {
			x.Port().Link().SetUp(false)
		}
	}
	for _, s := range n.sw {
		if err := s.Conservation(); err != nil {
			n.Error(err)
		}
		if q := s.Totals().Queued; q != 0 {
			n.Errorf("%s: %d packets are queued at the end", s.Name(), q)
		}
	}
	if l := n.pool.Live(); l != 0 {
		n.Errorf("%d frames are alive at the end", l)
	}
}

// lossless checks that no packet was dropped anywhere.
func (n *network) lossless() {
	n.Helper()
	check := func(p *ibport.Port) {
		if c := p.Counters(); c.RcvErrors != 0 || c.XmitDiscards != 0 || c.RcvSwitchRelay != 0 {
			n.Errorf("%s: %d receive errors, %d discards, %d relay errors", p.Name(), c.RcvErrors, c.XmitDiscards, c.RcvSwitchRelay)
		}
	}
	for _, s := range n.sw {
		if d := s.Totals().Dropped(); d != 0 {
			n.Errorf("%s dropped %d: %v", s.Name(), d, s.Totals().Drops)
		}
		for _, p := range s.ports[1:] {
			check(p)
		}
	}
	for _, x := range n.end {
		check(x.Port)
	}
}

// table is the counters of everything, for golden files.
func (n *network) table() string {
	var b strings.Builder
	line := func(p *ibport.Port) {
		c := p.Counters()
		if c.XmitPkts+c.RcvPkts == 0 {
			return
		}
		fmt.Fprintf(&b, "%s: xmit %d pkts %d words, rcv %d pkts %d words, wait %d, flow %d/%d\n", p.Name(), c.XmitPkts, c.XmitData, c.RcvPkts, c.RcvData, c.XmitWait, c.FlowXmit, c.FlowRcv)
	}
	for _, x := range n.end {
		line(x.Port)
	}
	for _, s := range n.sw {
		for _, p := range s.ports[1:] {
			line(p)
		}
		fmt.Fprintf(&b, "%s: %+v\n", s.Name(), s.Totals())
	}
	return b.String()
}

// packetTo is a packet of 256 bytes.
func packetTo(slid, dlid wire.LID) *ibtest.Packet {
	return &ibtest.Packet{SLID: slid, DLID: dlid, Payload: 256}
}

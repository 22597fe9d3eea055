package ether

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/qdisc"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// station is a host: it sends what is queued, obeys PFC unless deaf, and
// records what arrives.
type station struct {
	net   *network
	port  *link.Port
	pause link.Pause
	mac   [6]byte
	ip    [4]byte
	q     [8]frame.FIFO
	sched qdisc.Scheduler

	quiet  bool // count only
	frames int
	bytes  int64
	marked int
	by     [32]int // frames by the last byte of the source address
	last   sim.Time
	got    []string
	pfc    []string // PFC frames received, with their time
}

func (h *station) Receive(_ int, f *frame.Frame) {
	now := h.net.e.Now()
	if h.pause.Apply(f) {
		if !h.quiet {
			var p wire.PFC
			p.Decode(f.Data)
			s := fmt.Sprintf("%dps", int64(now))
			for i, t := range p.Time {
				if p.Enable&(1<<i) != 0 {
					s += fmt.Sprintf(" %d=%d", i, t)
				}
			}
			h.pfc = append(h.pfc, s)
		}
		h.net.pool.Put(f)
		return
	}
	h.frames++
	h.bytes += int64(f.Len)
	h.last = now
	f.Parse()
	h.by[f.Data[11]&31]++
	if f.Meta.Layers.IP && f.Meta.Layers.ECN() == wire.ECNCE {
		h.marked++
	}
	if !h.quiet {
		h.got = append(h.got, describe(f))
	}
	h.net.pool.Put(f)
}

func (h *station) Dequeue(int) *frame.Frame {
	var ready uint8
	for i := range h.q {
		if h.q[i].Len() > 0 {
			ready |= 1 << i
		}
	}
	i := h.sched.Pick(ready &^ h.pause.Paused())
	if i < 0 {
		return nil
	}
	f := h.q[i].Pop()
	h.sched.Charge(i, int(f.Len))
	return f
}

func (h *station) LinkChanged(int, bool) { h.pause.Clear() }

// send queues f in a priority and starts the port.
func (h *station) send(prio int, f *frame.Frame) {
	h.q[prio].Push(f)
	h.port.Kick()
}

// stop sends one PFC frame for the priorities.
func (h *station) stop(prios uint8, quanta uint16) {
	p := wire.PFC{Enable: prios}
	for i := range p.Time {
		p.Time[i] = quanta
	}
	f := h.net.pool.Get()
	p.Encode(f.Head(wire.PFCLen), h.mac)
	f.WireLen()
	h.port.SendControl(f)
}

// starts records when a port begins to send.
type starts struct {
	at   *[]sim.Time
	port *link.Port
}

func (s starts) Observe(p *link.Port, d link.Direction, now sim.Time, _ *frame.Frame) {
	if d == link.Tx && p == s.port {
		*s.at = append(*s.at, now)
	}
}

// take returns what arrived since the last call.
func (h *station) take() string {
	s := strings.Join(h.got, "\n")
	h.got = nil
	return s
}

// network is one switch with a station on each port, unless tests wire more.
type network struct {
	t    testing.TB
	e    *sim.Engine
	pool *frame.Pool
	s    *Switch
	all  []*Switch
	h    []*station

	unchecked bool // frames were taken out by hand
}

var swMAC = [6]byte{0x02, 0xaa, 0, 0, 0, 0}

func newFabric(t testing.TB, seed uint64) *network {
	n := &network{t: t, e: sim.NewEngine(seed), pool: &frame.Pool{}}
	t.Cleanup(func() { n.check() })
	return n
}

func (n *network) add(cfg Config) *Switch {
	s, err := New(n.e, n.pool, cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	n.all = append(n.all, s)
	return s
}

// host attaches the next station, h1, h2, ..., to a port of s.
func (n *network) host(s *Switch, port int, c link.Config) *station {
	k := byte(len(n.h) + 1)
	h := &station{net: n, mac: [6]byte{0x02, 0, 0, 0, 0, k}, ip: [4]byte{10, 0, 0, k}}
	h.port = link.NewPort(n.e, n.pool, h, 0, fmt.Sprintf("h%d:eth0", k))
	h.pause.Init(h.port)
	h.sched.Init(qdisc.Config{})
	if err := link.Connect(h.port, s.Port(port), c); err != nil {
		n.t.Fatal(err)
	}
	n.h = append(n.h, h)
	return h
}

var fast = link.Config{Rate: 10 * link.Gbps, Delay: 500 * sim.Nanosecond}

// star is one switch with a station on each of its ports.
func star(t testing.TB, cfg Config, c link.Config) *network {
	n := newFabric(t, 1)
	if cfg.Name == "" {
		cfg.Name = "s1"
	}
	if cfg.MAC == ([6]byte{}) {
		cfg.MAC = swMAC
	}
	n.s = n.add(cfg)
	for i := range cfg.Ports {
		n.host(n.s, i, c)
	}
	return n
}

// check is made at the end of every test: the network has drained and nothing
// is missing.
func (n *network) check() {
	n.t.Helper()
	if n.unchecked {
		return
	}
	for _, s := range n.all {
		if err := s.Conservation(); err != nil {
			n.t.Error(err)
		}
	}
	if n.t.Failed() {
		return
	}
	n.e.RunUntil(n.e.Now() + sim.Second)
	for _, h := range n.h {
		for i := range h.q {
			if h.q[i].Len() > 0 {
				n.t.Errorf("%s still has %d frames to send in priority %d", h.port.Name, h.q[i].Len(), i)
			}
		}
	}
	for _, s := range n.all {
		if err := s.Conservation(); err != nil {
			n.t.Error(err)
		}
		if o := s.Buffer().Occupancy(); o != 0 {
			n.t.Errorf("%s still holds %d bytes", s.Name(), o)
		}
	}
	if l := n.pool.Live(); l != 0 {
		n.t.Errorf("%d frames are alive at the end", l)
	}
}

// run lets the fabric go on for d.
func (n *network) run(d sim.Time) { n.e.RunUntil(n.e.Now() + d) }

// raw is a frame with exactly these bytes.
func (n *network) raw(b []byte) *frame.Frame {
	f := n.pool.Get()
	copy(f.Buf(len(b)), b)
	f.WireLen()
	return f
}

// udp is an IPv4 UDP frame; total is its length on the wire.
type udp struct {
	dst, src     [6]byte
	sip, dip     [4]byte
	tos, ttl     uint8
	sport, dport uint16
	total        int
	tci          int // with a tag if above 0 or pcp 0 vid 0 is written as tagged
	tagged       bool
}

func (n *network) udp(u udp) *frame.Frame {
	f := n.pool.Get()
	off := wire.EthernetLen
	if u.tagged {
		off += wire.VLANTagLen
	}
	if u.total == 0 {
		u.total = 100
	}
	if u.ttl == 0 {
		u.ttl = 64
	}
	d := f.Head(off + wire.IPv4Len + wire.UDPLen)
	copy(d, u.dst[:])
	copy(d[6:], u.src[:])
	if u.tagged {
		d[12], d[13], d[14], d[15] = 0x81, 0, byte(u.tci>>8), byte(u.tci)
	}
	d[off-2], d[off-1] = 8, 0
	ip := wire.IPv4Fields{TOS: u.tos, TotalLen: u.total - off - wire.FCSLen, TTL: u.ttl, Proto: wire.ProtoUDP, Src: u.sip, Dst: u.dip, DontFragment: true}
	ip.Encode(wire.IPv4(d[off:]))
	wire.UDP(d[off+wire.IPv4Len:]).Encode(u.sport, u.dport, u.total-off-wire.IPv4Len-wire.FCSLen)
	f.SetPayload(zeros[:u.total-len(d)-wire.FCSLen], nil)
	f.WireLen()
	return f
}

var zeros [16384]byte

// to is a UDP frame from h to g.
func (h *station) to(g *station, tos uint8, total int) *frame.Frame {
	return h.net.udp(udp{dst: g.mac, src: h.mac, sip: h.ip, dip: g.ip, tos: tos, sport: 0xc000, dport: wire.RoCEv2Port, total: total})
}

// hello makes the switch learn where the stations are.
func (n *network) hello() {
	for _, h := range n.h {
		b := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, h.mac[:]...)
		h.send(0, n.raw(append(b, 0x88, 0xb5)))
	}
	n.run(sim.Millisecond)
	for _, h := range n.h {
		h.got, h.frames, h.bytes, h.by = nil, 0, 0, [32]int{}
	}
}

func mac(a [6]byte) string {
	switch {
	case a == wire.Broadcast:
		return "bcast"
	case a[0] == 2 && a[1] == 0:
		return fmt.Sprintf("h%d", a[5])
	case a[0] == 2 && a[1] == 0xaa && a[5] == 0:
		return "svi"
	case a[0] == 2 && a[1] == 0xaa:
		return fmt.Sprintf("rt%d", a[5])
	}
	return fmt.Sprintf("%x", a)
}

// describe is a frame as tests write it; wrong checksums show.
func describe(f *frame.Frame) string {
	if !f.Parse() {
		return "malformed"
	}
	l := &f.Meta.Layers
	b := f.AppendTo(nil)
	s := mac([6]byte(b[6:12])) + ">" + mac([6]byte(b[:6]))
	if l.Tagged {
		s += fmt.Sprintf(" vlan %d pcp %d", l.VID, l.PCP)
	}
	p := b[l.L3:]
	switch {
	case l.EtherType == wire.EtherTypeARP:
		a := wire.ARP(p)
		return s + fmt.Sprintf(" arp op %d %v/%s for %v", a.Op(), ip4(a.SenderIP()), mac(a.SenderMAC()), ip4(a.TargetIP()))
	case l.IP && l.EtherType == wire.EtherTypeIPv4:
		h := wire.IPv4(p)
		s += fmt.Sprintf(" %v>%v ttl %d", ip4(h.Src()), ip4(h.Dst()), h.TTL())
		if l.TOS != 0 {
			s += fmt.Sprintf(" tos %#x", l.TOS)
		}
		if !h.ChecksumOK() {
			s += " BAD IP CHECKSUM"
		}
		if l.Proto == wire.ProtoICMP {
			m := wire.ICMP(p[h.HeaderLen():h.TotalLen()])
			s += fmt.Sprintf(" icmp %d/%d len %d", m.Type(), m.Code(), len(m))
			if !m.ChecksumOK() {
				s += " BAD ICMP CHECKSUM"
			}
		}
	case l.IP:
		h := wire.IPv6(p)
		s += fmt.Sprintf(" %v>%v hl %d", ip6(h.Src()), ip6(h.Dst()), h.HopLimit())
		if l.Proto == wire.ProtoICMPv6 {
			m := wire.ICMP(p[wire.IPv6Len : wire.IPv6Len+h.PayloadLen()])
			s += fmt.Sprintf(" icmp6 %d/%d len %d", m.Type(), m.Code(), len(m))
			if !m.ChecksumOK6(h.Src(), h.Dst()) {
				s += " BAD ICMP CHECKSUM"
			}
		}
	default:
		s += fmt.Sprintf(" type %04x", l.EtherType)
	}
	return s
}

var dscpClassifier = qdisc.DefaultClassifier()

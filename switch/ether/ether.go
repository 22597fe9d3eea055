// Package ether is an Ethernet switch: parse, classify, forward by MAC address
// (IEEE 802.1Q) or by IP route with ECMP, admit into a shared buffer, mark ECN,
// queue; and priority-based flow control towards the senders.
//
// It stores and forwards: a frame is looked at when it has arrived whole, and
// the pipeline itself takes no time. There is no spanning tree: a loop of
// bridged ports floods for ever, so fabrics are built without one.
package ether

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/qdisc"
	"cnuas/internal/sim"
	switching "cnuas/switch"
)

// Switch implements link.Device and link.LinkWatcher for its ports.
type Switch struct {
	cfg    Config
	eng    *sim.Engine
	proc   *sim.Proc
	pool   *frame.Pool
	ports  []*port
	buffer *switching.Buffer

	ecn     [8]marker
	red     [8]float64 // share of the limit at which random early drop begins
	ecnRand *sim.Rand
	redRand *sim.Rand

	fdb   fdb
	vlans []*vlan
	byVID [maxVID + 1]uint16 // index into vlans, plus 1

	router router

	generated uint64 // frames that the switch made itself
	copies    uint64 // frames that flooding added
	consumed  uint64 // frames that ended here: ARP, echo requests
}

type port struct {
	index  int
	link   *link.Port
	pause  link.Pause
	sched  qdisc.Scheduler
	cfg    *PortConfig
	mtu    int32
	access uint16 // VLAN of untagged frames; 0: none
	tagged [(maxVID + 64) / 64]uint64
	iface  *iface // of a routed port; nil: none

	queue   [8]frame.FIFO
	waiting uint8 // priorities with a frame in queue

	stopping uint8 // priorities whose sender was told to stop
	refresh  sim.Timer

	count switching.PortCounters
}

// Operations of Switch.HandleEvent.
const (
	opRefresh = iota // arg: port
	opResume         // arg: port<<8 | priority
)

// New builds a switch. The error names every problem of the configuration.
func New(e *sim.Engine, pool *frame.Pool, cfg Config) (*Switch, error) {
	cfg.fill()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Switch{cfg: cfg, eng: e, proc: e.NewProc(), pool: pool}
	s.ecnRand = s.proc.NewRand(0xec4)
	s.redRand = s.proc.NewRand(0x2ed)
	if err := s.initBuffer(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	for i := range s.cfg.Ports {
		c := &s.cfg.Ports[i]
		p := &port{index: i, cfg: c, access: c.Access, mtu: int32(c.MTU)}
		p.link = link.NewPort(e, pool, s, i, c.Name)
		p.pause.Init(p.link)
		p.sched.Init(cfg.Scheduler)
		p.refresh.Init(p.link.Proc(), s, opRefresh, uint64(i))
		for _, v := range c.Tagged {
			p.tagged[v/64] |= 1 << (v % 64)
		}
		s.ports = append(s.ports, p)
	}
	for i := range s.red {
		if s.cfg.Lossless&(1<<i) == 0 {
			s.red[i] = s.cfg.Lossy[i].RED
		}
	}
	for i := range s.ecn {
		s.ecn[i].init(s.cfg.ECN[i])
	}
	s.fdb.init(s.cfg.FDBSize, s.cfg.AgeingTime)
	s.initVLANs()
	s.initRouter()
	return s, nil
}

func (s *Switch) initBuffer() (err error) {
	var class [8]switching.Class
	for i := range class {
		if s.cfg.Lossless&(1<<i) != 0 {
			p := &s.cfg.PFC[i]
			class[i] = switching.Class{Lossless: true, Xoff: p.Xoff, Xon: p.Xon, XonOffset: p.XonOffset, Alpha: p.Alpha}
		} else {
			class[i] = switching.Class{Limit: s.cfg.Lossy[i].Limit, Alpha: s.cfg.Lossy[i].Alpha}
		}
	}
	headroom := make([][8]int64, len(s.cfg.Ports))
	for i, p := range s.cfg.Ports {
		for c := range 8 {
			headroom[i][c] = s.cfg.PFC[c].Headroom
			if p.Headroom > 0 {
				headroom[i][c] = p.Headroom
			}
		}
	}
	s.buffer, err = switching.NewBuffer(s.cfg.BufferBytes, class, headroom, s)
	return err
}

// Name is the switch's name.
func (s *Switch) Name() string { return s.cfg.Name }

// NumPorts is the number of ports.
func (s *Switch) NumPorts() int { return len(s.ports) }

// Port returns port i, counted from 0.
func (s *Switch) Port(i int) *link.Port { return s.ports[i].link }

// Pause returns the state of flow control at port i: what its peer has stopped.
func (s *Switch) Pause(i int) *link.Pause { return &s.ports[i].pause }

// Buffer returns the accounting of the shared buffer.
func (s *Switch) Buffer() *switching.Buffer { return s.buffer }

// QueueBytes is what waits in a queue of port i now.
func (s *Switch) QueueBytes(i, prio int) int64 { return s.ports[i].queue[prio].Bytes() }

// PortMAC is the address of port i of a switch with the given base address:
// source of its PFC frames, and of what a routed port sends. VLAN interfaces
// use the base itself.
func PortMAC(base [6]byte, i int) [6]byte {
	n := uint64(i) + 1
	for k := 5; k >= 0 && n > 0; k-- {
		n += uint64(base[k])
		base[k] = byte(n)
		n >>= 8
	}
	return base
}

// PortMAC is the address of port i.
func (s *Switch) PortMAC(i int) [6]byte { return PortMAC(s.cfg.MAC, i) }

// HandleEvent implements sim.Handler; only the engine calls it.
func (s *Switch) HandleEvent(now sim.Time, op uint32, arg uint64) {
	switch op {
	case opRefresh:
		s.refreshPFC(s.ports[arg], now)
	case opResume:
		s.resumeLate(s.ports[arg>>8], int(arg&7))
	}
}

// LinkChanged implements link.LinkWatcher.
func (s *Switch) LinkChanged(i int, up bool) {
	p := s.ports[i]
	p.pause.Clear()
	s.router.linkChanged(s)
	if up {
		s.buffer.PortUp(i)
		return
	}
	p.stopping = 0
	p.refresh.Stop()
	s.buffer.PortDown(i)
	s.fdb.flush(i)
	for c := range p.queue {
		for p.queue[c].Len() > 0 {
			f := s.pop(p, c)
			s.buffer.Release(int(f.Meta.InPort), c, f.Len)
			s.drop(p, f, switching.DropLinkDown)
		}
	}
}

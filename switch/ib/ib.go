// Package ib is an InfiniBand switch: it forwards by LID as the subnet manager
// set its tables, with credits on every lane of every port, so that it never
// drops a packet for want of a buffer.
//
// A packet waits in the buffer of the port and lane by which it came until it
// can leave; its credits go back then. Each output has, for each lane, a queue
// per input, served in turn, so that a packet for one output is not behind one
// for another, and every input has its share of an output. What inputs do share
// is their buffer: when packets for a slow output fill it, those for others wait
// outside, which is how congestion spreads.
//
// Cut-through: an input port delivers a packet when its headers are there and
// the latency of the pipeline has passed; the packet may leave at once, though
// never faster than it comes in. Its buffer counts as free when it begins to
// leave: what has not come in by then passes through without being stored.
//
// Read IBTA vol. 1 chapter 18 and annex A10 before editing.
package ib

import (
	"errors"
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/ibagent"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Defaults and limits of Config.
const (
	MaxPorts        = 254
	DefaultLatency  = 100 * sim.Nanosecond
	DefaultLFTCap   = 49152 // all unicast LIDs
	DefaultMCastCap = 4096
	maxMCastCap     = 0x3fff
	max15           = 256 // packets that wait to leave on VL15
)

// Config of a switch. Fields that are 0 get their default.
type Config struct {
	Name             string
	Desc             string // NodeDescription; default Name
	GUID, SystemGUID wire.GUID
	VendorID         uint32 // 24 bits
	DeviceID         uint16
	Revision         uint32

	Ports int           // external ports, 1 to MaxPorts
	Port  ibport.Config // of every port; Name, Num, Node, GUID, Ports and the latencies are filled in
	// Each holds what differs from Port, from port 1 on; nil: nothing does.
	Each []*ibport.Config

	LFTCap        int // LinearFDBCap
	MCastCap      int // MulticastFDBCap
	EnhancedPort0 bool

	Latency         sim.Time // of the pipeline: from the headers, or from the last byte, to the output
	NoLatency       bool     // the default is not wanted
	StoreAndForward bool     // no cut-through
	AgentLatency    sim.Time
}

func (c *Config) fill() error {
	if c.Desc == "" {
		c.Desc = c.Name
	}
	if c.LFTCap == 0 {
		c.LFTCap = DefaultLFTCap
	}
	if c.MCastCap == 0 {
		c.MCastCap = DefaultMCastCap
	}
	if c.Latency == 0 && !c.NoLatency {
		c.Latency = DefaultLatency
	}
	var errs []error
	if c.Ports < 1 || c.Ports > MaxPorts {
		errs = append(errs, fmt.Errorf("%d ports: use 1 to %d", c.Ports, MaxPorts))
	}
	if c.LFTCap < 64 || c.LFTCap > DefaultLFTCap {
		errs = append(errs, fmt.Errorf("LinearFDBCap %d: use 64 to %d", c.LFTCap, DefaultLFTCap))
	}
	if c.MCastCap < 0 || c.MCastCap > maxMCastCap {
		errs = append(errs, fmt.Errorf("MulticastFDBCap %d: use at most %d", c.MCastCap, maxMCastCap))
	}
	return errors.Join(errs...)
}

// Switch is one switch. It implements ibport.Owner, ibagent.Node,
// ibagent.Switch and ibagent.Congestion.
type Switch struct {
	cfg   Config
	eng   *sim.Engine
	pool  *frame.Pool
	ports []*ibport.Port // 0: the switch's own
	out   []output       // by port
	agent *ibagent.Agent

	lft    []uint8     // by LID, as far as it was set
	mft    [][4]uint64 // ports by MLID - 0xc000, as far as it was set
	info   mad.SwitchInfo
	groups []group
	free   int32 // first free group; -1: none
	cc     congestion

	count Totals
}

// New builds a switch. The error names every problem of the configuration.
func New(e *sim.Engine, pool *frame.Pool, cfg Config) (*Switch, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	s := &Switch{cfg: cfg, eng: e, pool: pool, free: -1}
	s.info = mad.SwitchInfo{
		LinearFDBCap: uint16(cfg.LFTCap), MulticastFDBCap: uint16(cfg.MCastCap),
		LifeTimeValue: 18, InboundEnforcementCap: true, OutboundEnforcementCap: true,
		FilterRawInboundCap: true, FilterRawOutboundCap: true, EnhancedPort0: cfg.EnhancedPort0, PortStateChange: true,
	}
	s.out = make([]output, cfg.Ports+1)
	for i := 0; i <= cfg.Ports; i++ {
		c := cfg.Port
		if i > 0 && i <= len(cfg.Each) && cfg.Each[i-1] != nil {
			c = *cfg.Each[i-1]
		}
		if c.Name == "" {
			c.Name = fmt.Sprintf("%s:%d", cfg.Name, i)
		}
		c.Num, c.Node, c.GUID, c.Ports = uint8(i), mad.NodeSwitch, cfg.GUID, cfg.Ports
		c.Latency, c.CutThrough = cfg.Latency, !cfg.StoreAndForward
		if i == 0 {
			c.CapMask |= mad.CapTrap | mad.CapSLMapping | mad.CapSystemImageGUID | mad.CapPKeySwitchTrap | mad.CapDRNotice
		}
		p, err := ibport.New(e, pool, s, c)
		if err != nil {
			return nil, err
		}
		s.ports = append(s.ports, p)
	}
	s.info.PartitionEnforcementCap = uint16(len(s.ports[1].PKeys()))
	info := mad.NodeInfo{NodeType: mad.NodeSwitch, NumPorts: uint8(cfg.Ports), SystemImageGUID: cfg.SystemGUID, NodeGUID: cfg.GUID,
		PartitionCap: uint16(len(s.ports[0].PKeys())), DeviceID: cfg.DeviceID, Revision: cfg.Revision, VendorID: cfg.VendorID}
	s.agent = ibagent.New(e, pool, s, ibagent.Config{Info: info, Desc: cfg.Desc, Switch: s, CC: s, Latency: cfg.AgentLatency})
	s.cc.init(s)
	s.lifetime()
	return s, nil
}

// Name is the switch's name.
func (s *Switch) Name() string { return s.cfg.Name }

// NumPorts is the number of external ports.
func (s *Switch) NumPorts() int { return s.cfg.Ports }

// Port implements ibagent.Node: port 0 is the switch's own, nil none.
func (s *Switch) Port(n int) *ibport.Port {
	if n < 0 || n >= len(s.ports) {
		return nil
	}
	return s.ports[n]
}

// Agent returns the switch's management agents.
func (s *Switch) Agent() *ibagent.Agent { return s.agent }

// StateChanged implements ibport.Owner. The link's own coming and going is told
// to the subnet manager (IBTA vol. 1 §14.2.5.4 PortStateChange, trap 128).
func (s *Switch) StateChanged(p *ibport.Port, from, to mad.PortState) {
	if to == mad.PortDown {
		s.flush(p)
	}
	if from == mad.PortDown || to == mad.PortDown {
		s.info.PortStateChange = true
		s.agent.PortChanged(p)
	}
}

// PortEvent implements ibport.Owner.
func (s *Switch) PortEvent(p *ibport.Port, e ibport.Event) {
	if s.agent != nil {
		s.agent.PortEvent(p, e)
	}
}

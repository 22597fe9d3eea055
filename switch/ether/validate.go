package ether

import (
	"errors"
	"fmt"

	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// Defaults of Config.
const (
	defaultAgeing      = 300 * sim.Second
	defaultFDBSize     = 16384
	defaultPauseQuanta = 0xffff
	defaultPFCAlpha    = 1. / 8
	defaultLossyAlpha  = 1.
	defaultXonOffset   = 18 << 10
	maxVID             = 4094
)

// fill replaces zero values by what their comments say.
func (c *Config) fill() {
	if c.BufferBytes == 0 {
		c.BufferBytes = DefaultBufferBytes
	}
	if c.AgeingTime == 0 {
		c.AgeingTime = defaultAgeing
	}
	if c.FDBSize == 0 {
		c.FDBSize = defaultFDBSize
	}
	if c.PauseQuanta == 0 {
		c.PauseQuanta = defaultPauseQuanta
	}
	for i := range 8 {
		p := &c.PFC[i]
		if p.Xoff > 0 && p.Xon == 0 {
			p.Xon = p.Xoff / 2
		}
		if p.Alpha == 0 {
			p.Alpha = defaultPFCAlpha
		}
		if p.XonOffset == 0 {
			p.XonOffset = defaultXonOffset
		}
		if p.Headroom == 0 {
			p.Headroom = Headroom(100*link.Gbps, 500*sim.Nanosecond, 9216)
		}
		if c.Lossy[i].Alpha == 0 {
			c.Lossy[i].Alpha = defaultLossyAlpha
		}
	}
	c.Ports = append([]PortConfig(nil), c.Ports...)
	for i := range c.Ports {
		p := &c.Ports[i]
		if p.Name == "" {
			p.Name = fmt.Sprintf("%s:%d", c.Name, i+1)
		}
		if p.Mode == Bridged && p.Access == 0 && len(p.Tagged) == 0 {
			p.Access = 1
		}
	}
}

// check returns every problem of a filled configuration.
func (c *Config) check() error {
	var all []error
	bad := func(format string, a ...any) {
		all = append(all, fmt.Errorf("switch %s: "+format, append([]any{c.Name}, a...)...))
	}
	if err := c.Classifier.Validate(); err != nil {
		bad("%w", err)
	}
	if c.MAC[0]&1 != 0 {
		bad("base address % x is a group address", c.MAC)
	}
	if len(c.Ports) > 1024 {
		bad("%d ports: there may be 1024", len(c.Ports))
	}
	if c.BufferBytes < 0 || c.AgeingTime < 0 || c.FDBSize < 0 {
		bad("buffer, ageing time and table size must not be negative")
	}
	for i := range 8 {
		c.checkPriority(i, bad)
	}
	for _, p := range c.Ports {
		if p.Mode > Routed {
			bad("port %s: unknown mode %d", p.Name, p.Mode)
		}
		if p.Mode == Routed && (p.Access != 0 || len(p.Tagged) > 0) {
			bad("port %s: a routed port has no VLANs", p.Name)
		}
		if p.Access > maxVID {
			bad("port %s: vlan %d: use 1 to %d", p.Name, p.Access, maxVID)
		}
		for _, v := range p.Tagged {
			if v < 1 || v > maxVID {
				bad("port %s: vlan %d: use 1 to %d", p.Name, v, maxVID)
			}
			if v == p.Access {
				bad("port %s: vlan %d is both tagged and untagged", p.Name, v)
			}
		}
		if p.Headroom < 0 || p.MTU < 0 {
			bad("port %s: headroom and mtu must not be negative", p.Name)
		}
	}
	c.checkRouting(bad)
	return errors.Join(all...)
}

func (c *Config) checkPriority(i int, bad func(string, ...any)) {
	if p := &c.PFC[i]; c.Lossless&(1<<i) != 0 {
		if p.Xoff < 0 || p.Xon < 0 || p.Headroom < 0 || p.XonOffset < 0 || !(p.Alpha > 0) {
			bad("priority %d: pfc thresholds and headroom must not be negative and alpha must be above 0", i)
		}
		if p.Xoff > 0 && p.Xon > p.Xoff {
			bad("priority %d: xon %d is above xoff %d", i, p.Xon, p.Xoff)
		}
	} else if l := &c.Lossy[i]; !(l.Alpha > 0) || l.Limit < 0 || !(l.RED >= 0 && l.RED < 1) {
		bad("priority %d: alpha must be above 0, the limit not negative and red below 1", i)
	}
	if e := &c.ECN[i]; e.Enable {
		if e.KMin < 0 || e.KMax < e.KMin {
			bad("priority %d: ecn needs 0 <= kmin <= kmax, not %d and %d", i, e.KMin, e.KMax)
		}
		if !(e.PMax > 0 && e.PMax <= 1) {
			bad("priority %d: ecn pmax %g is not in (0, 1]", i, e.PMax)
		}
	}
}

package qdisc

import (
	"fmt"

	"cnuas/internal/wire"
)

// Trust names the field that a port derives a frame's priority from.
type Trust uint8

// What a port may trust.
const (
	TrustDSCP Trust = iota // IP frames by DSCP, others by PCP if they are tagged
	TrustPCP               // by the tag's PCP; frames without a tag get Default
)

// Classifier maps frames to priorities 0 to 7. The zero value puts every frame
// into priority 0.
//
// Read RFC 2474 (DSCP) and IEEE 802.1Q-2018 clause 6.9.3 (PCP) before editing.
type Classifier struct {
	Trust   Trust
	DSCP    [64]uint8 // priority of each DSCP
	PCP     [8]uint8  // priority of each PCP
	Default uint8     // priority of frames with neither
}

// DefaultClassifier trusts DSCP and takes its class selector bits (RFC 2474
// §4.2.2) as the priority, so that DSCP 26 is priority 3 and DSCP 48 is 6; a
// PCP is the priority of the same number.
func DefaultClassifier() Classifier {
	var c Classifier
	for i := range c.DSCP {
		c.DSCP[i] = uint8(i >> 3)
	}
	for i := range c.PCP {
		c.PCP[i] = uint8(i)
	}
	return c
}

// Validate reports a priority above 7 or an unknown Trust.
func (c *Classifier) Validate() error {
	for i, p := range c.DSCP {
		if p > 7 {
			return fmt.Errorf("classifier: dscp %d maps to priority %d: there are 0 to 7", i, p)
		}
	}
	for i, p := range c.PCP {
		if p > 7 {
			return fmt.Errorf("classifier: pcp %d maps to priority %d: there are 0 to 7", i, p)
		}
	}
	if c.Default > 7 {
		return fmt.Errorf("classifier: default priority %d: there are 0 to 7", c.Default)
	}
	if c.Trust > TrustPCP {
		return fmt.Errorf("classifier: unknown trust %d", c.Trust)
	}
	return nil
}

// Priority returns the priority of a frame whose headers were parsed.
func (c *Classifier) Priority(l *wire.Layers) uint8 {
	if c.Trust == TrustDSCP && l.IP {
		return c.DSCP[l.TOS>>2] & 7
	}
	if l.Tagged {
		return c.PCP[l.PCP&7] & 7
	}
	return c.Default & 7
}

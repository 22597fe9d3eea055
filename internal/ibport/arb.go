package ibport

import (
	"math/bits"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// VL arbitration (IBTA vol. 1 §7.6.9): two tables of lanes and weights, each a
// weighted round robin. The high-priority table goes first until it has sent
// LimitOfHighPriority x 4096 bytes without the low one having had a chance.
// VL15 and flow control are not arbitrated: they go before.

// hiUnit is the unit of LimitOfHighPriority in blocks of 64 bytes, hiUnlimited
// its value for no limit (IBTA vol. 1 §14.2.5.6).
const (
	hiUnit      = 4096 / wire.FlowBlock
	hiUnlimited = 255
)

type arbTable struct {
	entry [64]mad.VLArbEntry
	n     int    // entries that exist
	mask  uint16 // lanes with a weight
	at    int
	left  int32 // of the present entry's weight, blocks
}

func (t *arbTable) changed() {
	t.mask = 0
	for _, e := range t.entry[:t.n] {
		if e.Weight > 0 && e.VL < 15 {
			t.mask |= 1 << e.VL
		}
	}
	t.at, t.left = 0, int32(t.entry[0].Weight)
}

// pick returns the lane whose turn it is among those in ready, of which one has
// to have an entry.
func (t *arbTable) pick(ready uint16) int {
	for {
		e := &t.entry[t.at]
		if t.left > 0 && e.VL < 15 && ready&(1<<e.VL) != 0 {
			return int(e.VL)
		}
		if t.at++; t.at == t.n {
			t.at = 0
		}
		t.left = int32(t.entry[t.at].Weight)
	}
}

type arbiter struct {
	high, low arbTable
	limit     uint8 // LimitOfHighPriority
	sent      int32 // blocks of high priority since low had a chance
	wasHigh   bool
	alone     bool // the lane that pick returned had nobody to share with
}

// pick returns the lane that sends next, -1 if none of those in ready may.
func (a *arbiter) pick(ready uint16) int {
	high, low := ready&a.high.mask, ready&a.low.mask
	// The common case. Turns and weights are between lanes that have packets: the
	// table stays where it is.
	if a.alone = ready&(ready-1) == 0; a.alone {
		a.sent = 0
		if high|low == 0 {
			return -1
		}
		return bits.TrailingZeros16(ready)
	}
	if low == 0 {
		a.sent = 0
	}
	switch {
	case high != 0 && (low == 0 || a.limit == hiUnlimited || a.sent < max(int32(a.limit)*hiUnit, 1)):
		a.wasHigh = true
		return a.high.pick(high)
	case low != 0:
		a.wasHigh = false
		return a.low.pick(low)
	}
	return -1
}

// charge accounts for a packet of the lane that pick returned. The last packet
// of an entry may overdraw its weight.
func (a *arbiter) charge(blocks uint16) {
	if a.alone {
		return
	}
	if a.wasHigh {
		a.sent += int32(blocks)
		a.high.left -= int32(blocks)
	} else {
		a.sent = 0
		a.low.left -= int32(blocks)
	}
}

func (p *Port) initTables() {
	p.arb.high.n, p.arb.low.n = p.cfg.VLArbHigh, p.cfg.VLArbLow
	for i := range min(p.cfg.VLs.Count(), p.arb.low.n) {
		p.arb.low.entry[i] = mad.VLArbEntry{VL: uint8(i), Weight: 64}
	}
	p.arb.high.changed()
	p.arb.low.changed()
	n := 1
	if p.cfg.Node == mad.NodeSwitch {
		n = p.cfg.Ports + 1
	}
	p.sl2vl = make([]slTable, n)
	p.ownSL2VL = true
	p.defaultSL2VL()
}

// VLArb reads a block of 32 entries of the arbitration tables, numbered as in
// the AttributeModifier: mad.VLArbLowFirst and following. It reports false for
// a block that does not exist.
func (p *Port) VLArb(block int, a *mad.VLArbitration) bool {
	t, from := p.arbBlock(block)
	if t == nil {
		return false
	}
	*a = mad.VLArbitration{}
	copy(a.Entry[:], t.entry[from:min(t.n, from+32)])
	return true
}

// SetVLArb writes a block. Entries beyond the capacity are ignored.
func (p *Port) SetVLArb(block int, a *mad.VLArbitration) bool {
	t, from := p.arbBlock(block)
	if t == nil {
		return false
	}
	copy(t.entry[from:min(t.n, from+32)], a.Entry[:])
	t.changed()
	p.kick()
	return true
}

func (p *Port) arbBlock(block int) (t *arbTable, from int) {
	switch block {
	case mad.VLArbLowFirst, mad.VLArbLowSecond:
		t, from = &p.arb.low, 32*(block-mad.VLArbLowFirst)
	case mad.VLArbHighFirst, mad.VLArbHighSecond:
		t, from = &p.arb.high, 32*(block-mad.VLArbHighFirst)
	default:
		return nil, 0
	}
	if from >= t.n {
		return nil, 0
	}
	return t, from
}

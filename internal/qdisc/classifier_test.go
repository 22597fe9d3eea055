package qdisc

import (
	"testing"

	"cnuas/internal/wire"
)

func TestPriority(t *testing.T) {
	d := DefaultClassifier()
	d.Default = 1
	d.DSCP[10] = 7
	p := d
	p.Trust = TrustPCP
	ip := func(dscp uint8) wire.Layers { return wire.Layers{IP: true, TOS: dscp<<2 | 3} }
	tag := func(l wire.Layers, pcp uint8) wire.Layers { l.Tagged, l.PCP = true, pcp; return l }
	for _, c := range []struct {
		name      string
		l         wire.Layers
		dscp, pcp uint8
	}{
		{"dscp 26", ip(26), 3, 1},
		{"dscp 48", ip(48), 6, 1},
		{"dscp 0", ip(0), 0, 1},
		{"dscp 63", ip(63), 7, 1},
		{"dscp with a map of its own", ip(10), 7, 1},
		{"tagged ip", tag(ip(26), 5), 3, 5},
		{"tagged other", tag(wire.Layers{}, 5), 5, 5},
		{"untagged other", wire.Layers{}, 1, 1},
	} {
		if got := d.Priority(&c.l); got != c.dscp {
			t.Errorf("%s, trust dscp: priority %d, want %d", c.name, got, c.dscp)
		}
		if got := p.Priority(&c.l); got != c.pcp {
			t.Errorf("%s, trust pcp: priority %d, want %d", c.name, got, c.pcp)
		}
	}
}

func TestClassifierValidate(t *testing.T) {
	for i, spoil := range []func(*Classifier){
		func(c *Classifier) { c.DSCP[63] = 8 },
		func(c *Classifier) { c.PCP[0] = 9 },
		func(c *Classifier) { c.Default = 8 },
		func(c *Classifier) { c.Trust = 2 },
	} {
		c := DefaultClassifier()
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		spoil(&c)
		if c.Validate() == nil {
			t.Errorf("case %d was accepted", i)
		}
	}
}

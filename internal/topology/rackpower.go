package topology

import "fmt"

// Power of a node without keys of its own, in watts: a server with accelerators
// at rest, and with its links at line rate.
const (
	DefaultIdlePower = 400
	DefaultPeakPower = 1000
)

// maxPower bounds the power of a node in watts.
const maxPower = 1_000_000

// powerUnits are in milliwatts.
var powerUnits = []unit{{"mW", 1}, {"W", 1e3}, {"kW", 1e6}}

// ParsePower reads a power such as "400W" or "1.2kW", in watts.
func ParsePower(s string) (float64, error) {
	v, err := quantity(s, powerUnits)
	switch {
	case err != nil:
		return 0, err
	case v < 0 || v > maxPower*1e3:
		return 0, fmt.Errorf("power %q is not between 0 and 1 MW", s)
	}
	return float64(v) / 1e3, nil
}

func (t *table) power(k string) attr[float64] {
	return get(t, k, `a string such as "400W"`, `write it as "400W"; units mW, W, kW`, ParsePower)
}

// addPower sets what nodes draw, which only a rack asks for.
func (b *builder) addPower() {
	warned := false
	for i, n := range b.nodes {
		idle, peak := n.attrs.idlePower, n.attrs.peakPower
		if b.s.Rack == nil {
			if key := idle.or(attr[float64](peak)).key; key != "" && !warned {
				warned = true
				b.r.warnf(key, "remove it, or add a rack: [[rack.shelf]]", "nothing asks for the power of nodes: the topology has no rack")
			}
			continue
		}
		p := NodePower{Idle: idle.get(min(DefaultIdlePower, peak.get(DefaultIdlePower))), Peak: peak.get(max(DefaultPeakPower, idle.get(0)))}
		if p.Peak < p.Idle {
			b.r.errorf(peak.key, "raise peak_power, or lower idle_power", "node %s draws %g W at peak and %g W when idle", n.name, p.Peak, p.Idle)
		}
		b.s.Nodes[i].Power = &p
	}
}

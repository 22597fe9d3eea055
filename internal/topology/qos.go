package topology

import (
	"math"

	"cnuas/internal/sim"
)

// Ethernet lengths in bytes (IEEE 802.3 clause 3.1.1 and 4.4.2, 802.1Q §9.6).
const (
	etherExtra  = 14 + 4 + 4 // header, one VLAN tag, FCS: what an MTU comes with
	etherGap    = 20         // preamble, start delimiter, minimum gap
	pauseLength = 64 + etherGap
)

// Defaults of a profile; docs/TOPOLOGY.md gives the reasons.
const (
	defaultBuffer     = 16_000_000  // bytes: a switch of the Trident 2 and Tomahawk class
	maxDefaultBuffer  = 256_000_000 // bytes: what a switch with very many ports gets
	defaultAlpha      = 0.125
	defaultAlphaLossy = 1
	defaultPMax       = 0.2
	defaultLossless   = PrioritySet(1 << 3)
	defaultStrict     = PrioritySet(1 << 6)

	// ECN thresholds grow with the rate: 100 KB and 400 KB at 25 Gb/s.
	kminPerGbps = 4_000
	kmaxPerGbps = 16_000
	// Below kminFrames frames a queue is only the beat between two senders.
	kminFrames = 5
)

// Headroom is the bytes that can arrive in one priority at a port between the
// moment its buffer crosses Xoff and the moment the pause takes effect, in the
// worst case (IEEE 802.1Q annex N, without the delays of PHYs and MACs, which
// the emulated ports do not have):
//
//   - the frame that crosses the threshold
//   - a frame that has just begun in the other direction: the pause waits
//   - pauses of the eight priorities that were decided at the same moment
//   - the frame that the peer has just begun when the pause arrives
//   - a round trip of the cable
//
// rate is in bits per second, mtu the largest IP MTU of the fabric in bytes.
func Headroom(rate int64, delay sim.Time, mtu int) int64 {
	frame := int64(mtu) + etherExtra + etherGap
	roundTrip := 2 * float64(delay) / float64(sim.Second) * float64(rate) / 8
	return 3*frame + 8*pauseLength + int64(math.Ceil(roundTrip))
}

// resolve fills in a profile for a device whose fastest port has rate bits per
// second, in a fabric of the given MTU.
func (p *profile) resolve(rate int64, mtu int) QoS {
	frame := int64(mtu) + etherExtra
	q := QoS{
		Profile:    p.name,
		Trust:      p.trust.get(TrustDSCP),
		Untagged:   uint8(p.untagged.get(0)),
		PFC:        p.pfc.get(true),
		Buffer:     p.buffer.get(defaultBuffer),
		Alpha:      p.alpha.get(defaultAlpha),
		AlphaLossy: p.alphaLossy.get(defaultAlphaLossy),
		Xoff:       p.xoff.get(0),
		XonOffset:  2 * frame,
		Strict:     p.strict.or(prioList{v: defaultStrict}).v,
	}
	for i := range q.DSCP {
		q.DSCP[i] = uint8(i >> 3) // class selector (RFC 2474 §4.2.2)
	}
	for d, v := range p.dscp {
		q.DSCP[d] = uint8(v)
	}
	for i := range q.PCP {
		q.PCP[i] = uint8(i)
	}
	for c, v := range p.pcp {
		q.PCP[c] = uint8(v)
	}
	if q.PFC {
		q.Lossless = p.losslessSet()
	}
	if q.Xoff > 0 {
		q.Xon = p.xon.get(max(q.Xoff-q.XonOffset, q.Xoff/2))
		q.XonOffset = q.Xoff - q.Xon
	}
	for i := range q.Weights {
		q.Weights[i] = 1
	}
	for n, w := range p.weights {
		q.Weights[n] = uint16(w)
		q.Strict &^= 1 << n // only the default of strict can hold it
	}
	kmin := max(rate/1e9*kminPerGbps, kminFrames*frame)
	kmax := max(rate/1e9*kmaxPerGbps, 4*kmin)
	switch {
	case p.kmin.set && p.kmax.set:
		kmin, kmax = p.kmin.v, p.kmax.v
	case p.kmin.set:
		kmin, kmax = p.kmin.v, max(kmax, 4*p.kmin.v)
	case p.kmax.set:
		kmin, kmax = min(kmin, p.kmax.v/4), p.kmax.v
	}
	for _, n := range p.ecn.or(prioList{v: p.losslessSet()}).v.List() {
		q.ECN[n] = ECN{Enable: true, KMin: kmin, KMax: kmax, PMax: p.pmax.get(defaultPMax)}
	}
	return q
}

// losslessSet is what the profile lists, whether PFC is on or off: ECN marks
// these priorities in both cases.
func (p *profile) losslessSet() PrioritySet {
	return p.lossless.or(prioList{v: defaultLossless}).v
}

package sim

import "math/rand/v2"

// Rand is a seeded random stream.
type Rand struct{ *rand.Rand }

// NewRand returns the stream that belongs to this process and purpose: the
// engine's seed, the process and the purpose determine it, not the order in
// which streams are asked for.
func (p *Proc) NewRand(purpose uint64) *Rand {
	return &Rand{rand.New(rand.NewPCG(p.eng.seed^p.id*0x9e3779b97f4a7c15, purpose*0xbf58476d1ce4e5b9+p.id))}
}

// Chance reports true with probability prob, which is in [0,1].
func (r *Rand) Chance(prob float64) bool {
	return prob > 0 && (prob >= 1 || r.Float64() < prob)
}

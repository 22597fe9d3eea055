package topology

import "errors"

var errNotYet = errors.New("topology: loader not built yet")

// Load reads the topology file at path, or the shipped one of that name.
func Load(path string) (*Spec, error) { return nil, errNotYet }

// Parse reads a topology file from memory.
func Parse(name string, data []byte) (*Spec, Problems) {
	return nil, Problems{{File: name, Msg: errNotYet.Error()}}
}

// Validate checks the invariants of a Spec.
func (s *Spec) Validate() error { return errNotYet }

// Routes returns for each switch, by index, its routes to the prefixes of
// others.
func (s *Spec) Routes() [][]Route { return nil }

// LoadEstimate is what a fabric at full load asks of the machine.
type LoadEstimate struct {
	FrameHops float64 // per second, all hosts sending at link rate, full frames
	PairRate  int64   // bits per second that one pair can move at most
	Budget    int64   // bits per second the machine keeps in real time
	Scale     float64 // proposed --scale; 1: none needed
}

// Load estimates the load of one pair of hosts at link rate.
func (s *Spec) Load() LoadEstimate { return LoadEstimate{} }

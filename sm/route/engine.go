package route

import (
	"errors"
	"fmt"
)

// Engine is the name of a routing engine, as opensm spells it.
type Engine string

// The engines.
const (
	EngineMinHop  Engine = "minhop"
	EngineUpDown  Engine = "updn"
	EngineFatTree Engine = "ftree"
	EngineDFSSSP  Engine = "dfsssp"
)

// Errors that tell a subnet manager to try another engine.
var (
	ErrNotFatTree = errors.New("not a fat tree")
	ErrLMC        = errors.New("the engine routes one LID per port")
	ErrVLs        = errors.New("not enough virtual lanes")
	ErrEngine     = errors.New("no such routing engine")
)

// ErrLIDs says that the LIDs of a Subnet do not make sense: out of range,
// unaligned, or given twice.
var ErrLIDs = errors.New("bad LIDs")

// Options of engines. The zero value is what opensm does by default.
type Options struct {
	// Roots are indexes of the switches at the top, for updn and ftree, those
	// that do not exist left out; none: the engine finds them.
	Roots []int
	// VLs is the number of data lanes that dfsssp may use, what the poorest
	// link between switches has; 0 means 8, and more than 15 means 15.
	VLs int
	// Pairs are the paths that dfsssp keeps free of credit loops.
	Pairs Pairs
}

// Pairs says which sources and destinations of paths count.
type Pairs uint8

const (
	// EndPairs are paths between two ends: all data.
	EndPairs Pairs = iota
	// PortPairs are those and paths between an end and the port 0 of a switch:
	// also what management reads from switches. A tree with broken links needs
	// more than one lane for them, since they may turn up after they went down.
	PortPairs
	// AllPairs are those and paths between two switches. Any tree with several
	// roots needs two lanes for them.
	AllPairs
)

// counts tells whether the path from a switch to a destination is one of them.
func (p Pairs) counts(j *job, u int32, d *dest) bool {
	return p == AllPairs || d.end() && j.ends[u] || p == PortPairs && (d.end() || j.ends[u])
}

// Compute runs the engine of a name. The error is ErrEngine if there is no
// such engine; ErrLIDs from any engine; ErrNotFatTree and ErrLMC from ftree;
// ErrVLs from dfsssp.
func Compute(e Engine, s *Subnet, o Options) (*Tables, error) {
	switch e {
	case EngineMinHop:
		return MinHop(s, o)
	case EngineUpDown:
		return UpDown(s, o)
	case EngineFatTree:
		return FatTree(s, o)
	case EngineDFSSSP:
		return DFSSSP(s, o)
	}
	return nil, fmt.Errorf("%w: %q", ErrEngine, string(e))
}

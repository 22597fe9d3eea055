// Package topologies holds the fabrics that are shipped, each a file that can
// be read as an example. `cnuas up NAME` finds them in the binary.
package topologies

import "embed"

// Files are the shipped topologies, NAME.toml.
//
//go:embed *.toml
var Files embed.FS

package topology

import (
	"path/filepath"

	"cnuas/modbus/rtu"
)

// beside is the path of a file that the topology names: relative to the
// topology's own directory.
func (b *builder) beside(name attr[string]) string {
	if name.v == "" || filepath.IsAbs(name.v) || b.read == nil {
		return name.v
	}
	return filepath.Join(filepath.Dir(b.r.file), name.v)
}

func (b *rackBuilder) mapPath(s *buildShelf) string { return b.beside(s.mapFile) }

// mapLine reads the register map that the file gives to the modules of a shelf,
// and returns the line that it says; zero if it says none.
func (b *rackBuilder) mapLine(s *buildShelf) rtu.Line {
	if !s.mapFile.set {
		return rtu.Line{}
	}
	if b.read == nil {
		b.r.errorf(s.mapFile.key, "keep it beside the topology file", "the register map %q cannot be read here", s.mapFile.v)
		return rtu.Line{}
	}
	_, err := b.read(s.mapFile.v)
	if err != nil {
		b.r.errorf(s.mapFile.key, "name a file beside the topology", "%v", err)
		return rtu.Line{}
	}
	return rtu.Line{}
}

// profiles checks the identities that the file gives to a shelf's devices.
func (b *rackBuilder) profiles(s *buildShelf) {}

// expand puts the segments and shelves of a preset in front of the file's.
func (b *rackBuilder) expand() {
	p := b.f.preset
	if !p.set {
		return
	}
	b.r.errorf(p.key, suggest(p.v, []string{"ventura2"}), "there is no rack %q", p.v)
}

package topology

import (
	"path/filepath"

	"cnuas/modbus/orv3"
)

// beside is the path of a file that the topology names: relative to the
// topology's own directory.
func (b *builder) beside(name attr[string]) string {
	if name.v == "" || filepath.IsAbs(name.v) || b.read == nil {
		return name.v
	}
	return filepath.Join(filepath.Dir(b.r.file), name.v)
}

// registerMap reads the register map that the file gives to the modules of a
// shelf; nil if it gives none, or a bad one.
func (b *rackBuilder) registerMap(s *buildShelf) *orv3.Map {
	if !s.mapFile.set {
		return nil
	}
	if b.read == nil {
		b.r.errorf(s.mapFile.key, "keep it beside the topology file", "the register map %q cannot be read here", s.mapFile.v)
		return nil
	}
	data, err := b.read(s.mapFile.v)
	if err != nil {
		b.r.errorf(s.mapFile.key, "name a file beside the topology", "%v", err)
		return nil
	}
	m, err := orv3.ParseMap(data)
	if err != nil {
		b.r.errorf(s.mapFile.key, "make it like the register maps of rackmon", "%s: %v", s.mapFile.v, err)
		return nil
	}
	return m
}

// ranges are those of a map of the file in place of the kind's.
func (s *buildShelf) ranges(m *orv3.Map) {
	if len(m.Ranges) > 0 {
		k := *s.kind
		k.ranges = rangesOfMap(m)
		s.kind = &k
	}
}

// profiles checks the identities that the file gives to a shelf's devices.
func (b *rackBuilder) profiles(s *buildShelf) {
	b.checkProfile(s.profile, s.kind.name)
	if s.pmmProfile.set && s.kind.pmm == "" {
		b.r.errorf(s.pmmProfile.key, "remove it", "a shelf of kind %s has no power management module", s.kind.name)
	} else {
		b.checkProfile(s.pmmProfile, s.kind.pmm)
	}
}

func (b *rackBuilder) checkProfile(a attr[string], kind string) {
	if !a.set || a.v == "" {
		return
	}
	var known []string
	for _, p := range orv3.Profiles() {
		if p.Kind == kind && !p.IsShelf {
			known = append(known, p.Name)
		}
	}
	p, ok := orv3.ProfileOf(a.v)
	remedy := suggest(a.v, known)
	if len(known) == 0 {
		remedy = "remove it: devices of this kind have no profiles"
	}
	switch {
	case !ok:
		b.r.errorf(a.key, remedy, "there is no profile %q", a.v)
	case p.Kind != kind || p.IsShelf:
		b.r.errorf(a.key, remedy, "the profile %s is not one of a %s", a.v, kind)
	}
}

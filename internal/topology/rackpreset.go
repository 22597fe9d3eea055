package topology

import (
	"strings"

	"cnuas/modbus/orv3"
)

// presets are the racks that have a name.
var presets = map[string]func() orv3.Population{"ventura2": orv3.Ventura2}

// expand puts the segments and shelves of a preset in front of the file's, as if
// the file had them.
func (b *rackBuilder) expand() {
	p := b.f.preset
	if !p.set {
		return
	}
	make := presets[strings.ToLower(p.v)]
	if make == nil {
		b.r.errorf(p.key, "the one that there is is ventura2", "there is no rack %q", p.v)
		return
	}
	pop := make()
	var segments []*fileSegment
	for _, s := range pop.Segments {
		segments = append(segments, &fileSegment{
			key: p.key, preset: true, name: from(p.key, s.Name), lineAttrs: linesFrom(p.key, &orv3.PopShelf{Line: s.Line}),
			turnaround: from(p.key, s.Turnaround),
		})
	}
	var shelves []*fileShelf
	for i := range pop.Shelves {
		shelves = append(shelves, shelfFrom(p.key, &pop, i))
	}
	b.f.segments = append(segments, b.f.segments...)
	b.f.shelves = append(shelves, b.f.shelves...)
}

// from is a value as if the file had it at a key.
func from[T any](key string, v T) attr[T] { return attr[T]{v: v, set: true, key: key} }

func linesFrom(key string, s *orv3.PopShelf) lineAttrs {
	return lineAttrs{
		baud: from(key, int64(s.Line.Baud)), data: from(key, int64(s.Line.Data)), stop: from(key, int64(s.Line.Stop)),
		parity: from(key, s.Line.Parity),
	}
}

func shelfFrom(key string, pop *orv3.Population, i int) *fileShelf {
	s := &pop.Shelves[i]
	f := &fileShelf{
		key: key, name: from(key, s.Name), kind: from(key, s.Kind), segment: from(key, pop.Segments[s.Segment].Name),
		lineAttrs: linesFrom(key, s), hasSlots: true, list: len(s.Slots), pmm: from(key, int64(-1)),
	}
	for _, d := range s.Slots {
		f.slots = append(f.slots, from(key, int64(d.Number)))
		f.addresses = append(f.addresses, from(key, int64(d.Address)))
		f.profiles = append(f.profiles, d.Profile)
	}
	if s.PMM != nil {
		f.pmm, f.pmmProfile = from(key, int64(s.PMM.Address)), from(key, s.PMM.Profile)
	}
	if s.Backs >= 0 {
		f.backs = from(key, pop.Shelves[s.Backs].Name)
	}
	return f
}

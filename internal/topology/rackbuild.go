package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cnuas/internal/sim"
	"cnuas/modbus/orv3"
	"cnuas/modbus/rtu"
)

// Defaults and bounds of a rack.
const (
	DefaultTurnaround = 5 * sim.Millisecond // of slaves: from the end of a request to the reply
	DefaultMachine    = "ast2600-evb"       // of a BMC, in QEMU

	// SocketSuffix is what the socket of a segment has behind the segment's
	// name; it lies beside the links to the terminals.
	SocketSuffix = ".sock"

	maxSegments = 32
	maxShelves  = 256
)

// DefaultLine is the line of a segment that says nothing: the standard's (Modbus
// over serial line V1.02, 2.5.1).
var DefaultLine = rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}

// buildShelf is a shelf while its rack is built.
type buildShelf struct {
	*fileShelf
	key   string
	index int // in Rack.Shelves
	kind  *shelfKind
	slots []attr[int64] // numbers of the slots
	pmm   *shelfKind    // nil: no module in front
}

// rackBuilder puts the rack together. Shelves with a problem stay, so that
// others that refer to them are not blamed.
type rackBuilder struct {
	*builder
	f       *fileRack
	rack    *Rack
	shelves []*buildShelf
	taken   []map[uint8][]station485 // by segment and address
}

// station485 is a device that has an address on a segment.
type station485 struct {
	who, key string
	line     rtu.Line
}

// addRack builds the rack of the file.
func (b *builder) addRack() {
	f := b.d.rack
	if f == nil {
		return
	}
	rb := &rackBuilder{builder: b, f: f, rack: &Rack{}}
	rb.expand()
	if len(f.shelves) == 0 && !f.preset.set {
		b.r.errorf(f.key, `add [[rack.shelf]] kind = "orv3-psu", or write rack = "ventura2"`, "the rack has no shelf")
	}
	if len(f.segments) > maxSegments || len(f.shelves) > maxShelves {
		b.r.errorf(f.key, "make the rack smaller", "%d segments and %d shelves are more than the %d and %d that a rack can have", len(f.segments), len(f.shelves), maxSegments, maxShelves)
		return
	}
	rb.addSegments()
	rb.addShelves()
	rb.givenSlots()
	rb.automaticSlots()
	rb.join()
	rb.addBMC()
	rb.checkSegments()
	b.s.Rack = rb.rack
}

// addSegments names the segments; a rack without any has bus0.
func (b *rackBuilder) addSegments() {
	if len(b.f.segments) == 0 {
		b.f.segments = []*fileSegment{{key: b.f.key, name: attr[string]{v: "bus0", set: true}}}
	}
	for i, f := range b.f.segments {
		name := f.name.get("bus" + strconv.Itoa(i))
		if o := b.segment(name); o >= 0 {
			b.r.errorf(f.key, "choose another name", "the segment %q is there twice, first in line %d", name, b.r.lines.of(b.f.segments[o].key))
		}
		socket, isSocket := strings.CutSuffix(name, SocketSuffix)
		if o := b.segment(name + SocketSuffix); o >= 0 {
			b.r.errorf(f.key, "choose another name", "the socket of segment %q would have the name of segment %q", name, b.rack.Segments[o].Name)
		} else if isSocket && b.segment(socket) >= 0 {
			b.r.errorf(f.key, "choose another name", "segment %q would have the name of the socket of segment %q", name, socket)
		}
		s := RackSegment{Name: name, Line: f.on(DefaultLine), Turnaround: f.turnaround.get(DefaultTurnaround), Echo: f.echo.get(false)}
		if f.ttyParity.set {
			s.TTYParity = &f.ttyParity.v
		}
		b.checkLine(f.lineAttrs, s.Line)
		b.rack.Segments = append(b.rack.Segments, s)
		b.taken = append(b.taken, map[uint8][]station485{})
	}
}

// checkLine warns of lines that Modbus does not have.
func (b *rackBuilder) checkLine(f lineAttrs, l rtu.Line) {
	if l.Data != 8 && f.data.set {
		b.r.warnf(f.data.key, "use 8", "the characters of Modbus RTU have 8 data bits (V1.02, 2.5.1): no master will understand 7")
	}
}

func (b *rackBuilder) segment(name string) int {
	return slices.IndexFunc(b.rack.Segments, func(s RackSegment) bool { return s.Name == name })
}

func (b *rackBuilder) segmentNames() (l []string) {
	for _, s := range b.rack.Segments {
		l = append(l, s.Name)
	}
	return l
}

// addShelves finds the kind and the segment of each shelf.
func (b *rackBuilder) addShelves() {
	for i, f := range b.f.shelves {
		s := &buildShelf{fileShelf: f, key: f.key, index: i, kind: shelfKindOf(f.kind.v)}
		out := RackShelf{Name: f.name.get("shelf" + strconv.Itoa(i+1)), Kind: f.kind.v, Functions: f.functions, Backs: -1}
		if o := b.shelf(out.Name); o >= 0 {
			b.r.errorf(f.key, "choose another name", "the shelf %q is there twice, first in line %d", out.Name, b.r.lines.of(b.shelves[o].key))
		}
		if s.kind == nil && f.kind.set {
			b.r.errorf(f.kind.key, suggest(f.kind.v, shelfKindNames()), "there is no kind of shelf %q", f.kind.v)
		}
		if f.segment.set {
			if out.Segment = b.segment(f.segment.v); out.Segment < 0 {
				b.r.errorf(f.segment.key, suggest(f.segment.v, b.segmentNames()), "there is no segment %q", f.segment.v)
				s.kind = nil
			}
		}
		b.shelves = append(b.shelves, s)
		b.rack.Shelves = append(b.rack.Shelves, out)
		if s.kind != nil {
			b.profiles(s)
			b.rack.Shelves[i].Line = b.shelfLine(s)
			b.checkLine(f.lineAttrs, b.rack.Shelves[i].Line)
			b.slotsOf(s)
		}
	}
}

// shelfLine is what the file says of the line, on top of what the map of its
// devices says, or their profile or kind.
func (b *rackBuilder) shelfLine(s *buildShelf) rtu.Line {
	l := s.kind.line
	if p, ok := orv3.ProfileOf(s.profile.v); ok {
		l = p.Line
	}
	if m := b.registerMap(s); m != nil {
		l = m.Line
		s.ranges(m)
	}
	return s.on(l)
}

func (b *rackBuilder) shelf(name string) int {
	return slices.IndexFunc(b.rack.Shelves, func(s RackShelf) bool { return s.Name == name })
}

func (b *rackBuilder) shelfNames() (l []string) {
	for _, s := range b.rack.Shelves {
		l = append(l, s.Name)
	}
	return l
}

// slotsOf numbers the slots of a shelf and tells whether it has a PMM.
func (b *rackBuilder) slotsOf(s *buildShelf) {
	k := s.kind
	s.slots = s.fileShelf.slots
	if !s.hasSlots {
		n := k.maxSlots
		if s.list > 0 {
			n = s.list
		}
		for i := range n {
			s.slots = append(s.slots, attr[int64]{v: int64(i + 1), key: s.key})
		}
	}
	if n := len(s.slots); n > k.maxSlots || n > 0 && slices.MaxFunc(s.slots, bySlot).v > int64(k.maxSlots) {
		key := s.key
		if n > 0 {
			key = slices.MaxFunc(s.slots, bySlot).key
		}
		remedy := fmt.Sprintf("use slots of 1 to %d", k.maxSlots)
		if k.maxSlots == 1 {
			remedy = "leave the key out"
		}
		b.r.errorf(key, remedy, "a shelf of kind %s has %s", k.name, count(k.maxSlots, "slot"))
		s.slots = slices.DeleteFunc(slices.Clone(s.slots), func(a attr[int64]) bool { return a.v > int64(k.maxSlots) })
	}
	s.slots = slices.Clone(s.slots)
	slices.SortStableFunc(s.slots, bySlot)
	for i := 1; i < len(s.slots); i++ {
		if s.slots[i].v == s.slots[i-1].v {
			b.r.errorf(s.slots[i].key, "give it once", "slot %d is there twice", s.slots[i].v)
		}
	}
	s.slots = slices.CompactFunc(s.slots, func(x, y attr[int64]) bool { return x.v == y.v })
	if s.list > 0 && s.list != len(s.slots) {
		b.r.errorf(join(s.key, "address"), "give one for each slot, or only the first", "%s for %s", count2(s.list, "address", "addresses"), count(len(s.slots), "slot"))
	}
	switch {
	case k.pmm != "" && s.fileShelf.pmm.get(0) >= 0:
		s.pmm = k.frontKind()
	case k.pmm == "" && s.fileShelf.pmm.get(-1) >= 0:
		b.r.errorf(s.fileShelf.pmm.key, "remove it", "a shelf of kind %s has no power management module", k.name)
	}
	out := &b.rack.Shelves[s.index]
	for i, n := range s.slots {
		name := k.slotName
		if k.maxSlots > 1 {
			name += strconv.FormatInt(n.v, 10)
		}
		out.Slots = append(out.Slots, RackSlot{Number: int(n.v), Name: name, Profile: s.profileOf(i), Map: b.beside(s.mapFile)})
	}
	if s.pmm != nil {
		out.PMM = &RackSlot{Name: "pmm", Profile: s.pmmProfile.v}
	}
}

func bySlot(x, y attr[int64]) int { return int(x.v - y.v) }

func (s *buildShelf) profileOf(slot int) string {
	if slot < len(s.profiles) {
		return s.profiles[slot]
	}
	return s.profile.v
}

func count(n int, what string) string { return count2(n, what, what+"s") }

func count2(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// join resolves what a shelf feeds and backs.
func (b *rackBuilder) join() {
	var open []*buildShelf // PSU shelves that say nothing of nodes
	fed := map[int]bool{}
	backed := map[int]bool{}
	for _, s := range b.shelves {
		b.feeds(s, fed)
		if s.kind.source() && !s.hasFeeds {
			open = append(open, s)
		}
		if s.backs.set {
			b.backs(s, backed)
		}
	}
	for i := range b.nodes {
		if !fed[i] && len(open) > 0 {
			out := &b.rack.Shelves[open[0].index]
			out.Feeds = append(out.Feeds, i)
			open = append(open[1:], open[0])
		}
	}
	for _, s := range b.shelves {
		if !s.kind.store() || s.backs.set {
			continue
		}
		for _, p := range b.shelves {
			if p.kind.source() && !backed[p.index] {
				b.rack.Shelves[s.index].Backs = p.index
				backed[p.index] = true
				break
			}
		}
	}
}

func (b *rackBuilder) feeds(s *buildShelf, fed map[int]bool) {
	if s.kind != nil && !s.kind.source() && len(s.fileShelf.feeds) > 0 {
		b.r.errorf(s.fileShelf.feeds[0].key, "name the nodes at a PSU shelf", "%s is a shelf of kind %s, which feeds no node", b.rack.Shelves[s.index].Name, s.kind.name)
		return
	}
	out := &b.rack.Shelves[s.index]
	for _, a := range s.fileShelf.feeds {
		d := b.byName[a.v]
		switch {
		case d == nil || d.node == nil:
			b.r.errorf(a.key, suggest(a.v, b.nodeNames()), "there is no node %q", a.v)
		case slices.Contains(out.Feeds, d.node.index):
			b.r.errorf(a.key, "give it once", "node %s is there twice", a.v)
		default:
			out.Feeds = append(out.Feeds, d.node.index)
			fed[d.node.index] = true
		}
	}
	slices.Sort(out.Feeds)
}

func (b *rackBuilder) backs(s *buildShelf, backed map[int]bool) {
	name := b.rack.Shelves[s.index].Name
	i := b.shelf(s.fileShelf.backs.v)
	if s.fileShelf.backs.v == "" && s.kind.store() {
		return // none
	}
	switch {
	case s.kind != nil && !s.kind.store():
		b.r.errorf(s.fileShelf.backs.key, "remove it", "%s is a shelf of kind %s: only shelves of batteries or capacitors back another", name, s.kind.name)
	case i < 0:
		b.r.errorf(s.fileShelf.backs.key, suggest(s.fileShelf.backs.v, b.shelfNames()), "there is no shelf %q", s.fileShelf.backs.v)
	case b.shelves[i].kind != nil && !b.shelves[i].kind.source():
		b.r.errorf(s.fileShelf.backs.key, "name a PSU shelf", "%s backs %s, which is a shelf of kind %s and feeds no busbar", name, s.fileShelf.backs.v, b.shelves[i].kind.name)
	default:
		b.rack.Shelves[s.index].Backs = i
		backed[i] = true
	}
}

func (b *rackBuilder) nodeNames() (l []string) {
	for _, n := range b.nodes {
		l = append(l, n.name)
	}
	return l
}

// checkSegments warns of segments on which nothing is.
func (b *rackBuilder) checkSegments() {
	if len(b.shelves) == 0 || slices.ContainsFunc(b.shelves, func(s *buildShelf) bool { return s.kind == nil }) {
		return // which was reported
	}
	for i, s := range b.rack.Segments {
		if !slices.ContainsFunc(b.rack.Shelves, func(x RackShelf) bool { return x.Segment == i }) && !b.f.segments[i].preset {
			b.r.warnf(b.f.segments[i].key, "remove it, or put a shelf on it", "no shelf is on segment %s: nobody answers there", s.Name)
		}
	}
}

package topology

import (
	"fmt"
	"strings"
)

// givenSlots gives the addresses that the file says.
func (b *rackBuilder) givenSlots() {
	for _, s := range b.shelves {
		out := &b.rack.Shelves[s.index]
		if s.kind == nil || len(s.addresses) == 0 {
			continue
		}
		outside := []string{}
		for i := range out.Slots {
			a := s.addresses[0]
			if s.list > 0 {
				if i >= len(s.addresses) {
					break // slotsOf has told
				}
				a = s.addresses[i]
			} else {
				a.v += int64(i)
			}
			if a.v > 255 {
				b.r.errorf(a.key, fmt.Sprintf("begin at %d or below, or give a list", 256-len(out.Slots)), "slot %d would have the address %d", out.Slots[i].Number, a.v)
				break
			}
			out.Slots[i].Address = uint8(a.v)
			if !s.kind.has(uint8(a.v)) {
				outside = append(outside, fmt.Sprint(a.v))
			}
			b.take(s, &out.Slots[i], a.key)
		}
		if len(outside) > 0 {
			b.r.warnf(s.addresses[0].key, "use "+rangesOf(s.kind), "masters do not look for a device of kind %s at %s", s.kind.name, strings.Join(outside, ", "))
		}
	}
	for _, s := range b.shelves {
		a := s.fileShelf.pmm
		if s.pmm == nil || a.get(0) <= 0 {
			continue
		}
		out := &b.rack.Shelves[s.index]
		out.PMM.Address = uint8(a.v)
		b.take(s, out.PMM, a.key)
		if !s.pmm.has(uint8(a.v)) {
			b.r.warnf(a.key, "use "+rangesOf(s.pmm), "masters do not look for a device of kind %s at %d", s.pmm.name, a.v)
		}
	}
}

// rangesOf lists the addresses of a kind: "144-149, 154-159".
func rangesOf(k *shelfKind) string {
	var l []string
	for _, r := range k.ranges {
		if r[0] == r[1] {
			l = append(l, fmt.Sprint(r[0]))
		} else {
			l = append(l, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	return strings.Join(l, ", ")
}

// take notes the address of a device. Two devices at one address talk at once,
// unless their lines differ: then each hears noise where the other is asked,
// which is an odd rack, but one that works.
func (b *rackBuilder) take(s *buildShelf, d *RackSlot, key string) {
	shelf := &b.rack.Shelves[s.index]
	on := b.taken[shelf.Segment]
	me := station485{who: shelf.Name + "/" + d.Name, key: key, line: shelf.Line}
	for _, o := range on[d.Address] {
		if o.line == me.line {
			b.r.errorf(key, "choose another", "%s has the address %d of %s on segment %s, line %d", me.who, d.Address, o.who, b.rack.Segments[shelf.Segment].Name, b.r.lines.of(o.key))
		} else {
			b.r.warnf(key, "give one of them another address", "%s at %v and %s at %v have the same address %d on segment %s: who asks at one line does not reach the other",
				me.who, me.line, o.who, o.line, d.Address, b.rack.Segments[shelf.Segment].Name)
		}
	}
	on[d.Address] = append(on[d.Address], me)
}

// automaticSlots gives addresses to the shelves that ask for none: the first
// range of the kind that has room for the whole shelf, or what is free in all.
func (b *rackBuilder) automaticSlots() {
	for _, s := range b.shelves {
		out := &b.rack.Shelves[s.index]
		if s.kind == nil {
			continue
		}
		if len(s.addresses) == 0 && len(out.Slots) > 0 {
			free := b.free(out.Segment, s.kind, len(out.Slots))
			for i, a := range free {
				out.Slots[i].Address = a
				b.take(s, &out.Slots[i], s.key)
			}
			if len(free) < len(out.Slots) {
				b.r.errorf(s.key, "put it on another segment, or give addresses: address = [1, 2]", "segment %s has %s left for the %s of shelf %s in %s",
					b.rack.Segments[out.Segment].Name, count2(len(free), "address", "addresses"), count(len(out.Slots), "slot"), out.Name, rangesOf(s.kind))
			}
		}
		if s.pmm != nil && out.PMM.Address == 0 {
			free := b.free(out.Segment, s.pmm, 1)
			if len(free) == 0 {
				b.r.errorf(s.key, "put the shelf on another segment, or give an address: pmm = 1", "segment %s has no address left for the power management module of shelf %s in %s",
					b.rack.Segments[out.Segment].Name, out.Name, rangesOf(s.pmm))
				continue
			}
			out.PMM.Address = free[0]
			b.take(s, out.PMM, s.key)
		}
	}
}

// free finds n addresses of a kind on a segment, or as many as there are.
func (b *rackBuilder) free(segment int, k *shelfKind, n int) (all []uint8) {
	on := b.taken[segment]
	for _, r := range k.ranges {
		var l []uint8
		for a := int(r[0]); a <= int(r[1]); a++ {
			if len(on[uint8(a)]) == 0 {
				l = append(l, uint8(a))
			}
		}
		if len(l) >= n && int(l[n-1])-int(l[0]) == n-1 {
			return l[:n]
		}
		all = append(all, l...)
	}
	return all[:min(n, len(all))]
}

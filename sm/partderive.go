package sm

import (
	"encoding/binary"

	"cnuas/internal/wire/mad"
)

// derive gives P_Keys to rules that do not say which: those of one name have
// the same. None that a rule names is given, wherever in the file that is.
func (p *partParser) derive() {
	used, named := map[uint16]bool{DefaultPKey: true}, map[string]uint16{}
	l := p.file.Partitions
	for i := range l {
		used[l[i].PKey] = true
	}
	next := uint16(1)
	for i := range l {
		q := &l[i]
		if q.PKey == 0 {
			q.PKey = named[q.Name]
		}
		if q.PKey == 0 {
			for used[next] {
				next++
			}
			q.PKey, used[next] = next, true
		}
		if _, ok := named[q.Name]; !ok && q.Name != "" {
			named[q.Name] = q.PKey
		}
		p.checkGroups(q)
	}
}

// checkGroups completes the MGIDs of IP groups, which have to be as the
// partition's broadcast group.
func (p *partParser) checkGroups(q *Partition) {
	l := q.Groups[:0]
	for _, g := range q.Groups {
		if g.IP() {
			key := binary.BigEndian.Uint16(g.MGID[4:])
			if want := q.PKey | fullMember; key != 0 && key != want && g.MGID != Broadcast(2, DefaultPKey) {
				p.errorf(q.Line, "partition %q: mgid=%v has P_Key %#x, and the partition %#x", q.Name, g.MGID, key, want)
				continue
			}
			if or(g.MTU, mad.MTU2048) != or(q.Group.MTU, mad.MTU2048) || or(g.Rate, mad.Rate10G) != or(q.Group.Rate, mad.Rate10G) {
				p.errorf(q.Line, "partition %q: mgid=%v has another mtu or rate than the broadcast group", q.Name, g.MGID)
				continue
			}
			binary.BigEndian.PutUint16(g.MGID[4:], q.PKey|fullMember)
		}
		l = append(l, g)
	}
	q.Groups = l
}

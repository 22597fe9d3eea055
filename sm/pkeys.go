package sm

import (
	"cnuas/internal/wire/mad"
)

// P_Key tables (IBTA vol. 1 §10.9, §14.2.5.7). Entry 0 is the default
// partition's, or that of one with indx0; entries that are right stay where they are, so that queue pairs
// which name them by index keep their partition.

const fullMember = 0x8000

// members computes which P_Keys each end port is to have. Of the rules of a
// P_Key the last that names a port counts. Everybody is in the default
// partition, the subnet manager as a full member.
func (m *Manager) members() {
	f := m.cfg.Partitions
	// The order of P_Keys in tables is that of their first rules.
	keys, index := []uint16{DefaultPKey}, map[uint16]int{DefaultPKey: 0}
	for i := range f.Partitions {
		k := f.Partitions[i].PKey
		if _, ok := index[k]; !ok {
			index[k] = len(keys)
			keys = append(keys, k)
		}
	}
	self := m.work.Self()
	as := make([]Membership, len(keys))
	m.work.EndPorts(func(p *Port) {
		clear(as)
		p.want, p.index0 = p.want[:0], DefaultPKey
		if as[0] = Limited; p == self {
			as[0] = Full
		}
		for i := range f.Partitions {
			q := &f.Partitions[i]
			for _, x := range q.Members {
				if !x.means(p, self) {
					continue
				}
				as[index[q.PKey]] = x.As
				if q.Index0 {
					p.index0 = q.PKey
				} else if p.index0 == q.PKey {
					p.index0 = DefaultPKey
				}
			}
		}
		for i, a := range as {
			if a&Full != 0 {
				p.want = append(p.want, keys[i]|fullMember)
			}
			if a&Limited != 0 {
				p.want = append(p.want, keys[i])
			}
		}
	})
}

func (x *Member) means(p, self *Port) bool {
	switch t := p.Node.Info.NodeType; x.Who {
	case MemberGUID:
		return p.GUID == x.GUID
	case MemberAll:
		return true
	case MemberCAs:
		return t == mad.NodeCA
	case MemberSwitches:
		return t == mad.NodeSwitch
	case MemberRouters:
		return t == mad.NodeRouter
	case MemberSelf:
		return p == self
	}
	return false
}

// programPKeys sets the blocks of a port's table that are not as they should
// be. An external port of a switch that enforces partitions has those of the
// end node behind it.
func (m *Manager) programPKeys(p *Port) {
	if len(p.PKeys) == 0 {
		return
	}
	end := p
	if !p.IsEnd() {
		si := &p.Node.Switch.Info
		if p.Peer == nil || !p.Peer.IsEnd() || !si.InboundEnforcementCap && !si.OutboundEnforcementCap {
			return
		}
		end = p.Peer
	}
	table, ok := arrange(p.PKeys, end.want, end.index0)
	if !ok {
		m.fail("%v: the P_Key table of %d entries is too small for %d", end.GUID, len(p.PKeys), len(end.want))
	}
	for b := 0; b < len(table)/32; b++ {
		var t mad.PKeyTable
		copy(t.PKey[:], table[32*b:])
		if t.PKey == [32]uint16(p.PKeys[32*b:]) {
			continue
		}
		mod := uint32(b)
		if !p.IsEnd() {
			mod |= uint32(p.Num) << 16
		}
		q := m.set(p.Node, p, mad.AttrPKeyTable, mod, &t, (*Manager).didPKeys)
		q.path, q.arg = m.pathOf(p), b
	}
}

// arrange puts the wanted keys into a table like the present one, that of the
// partition index0 to the front.
func arrange(have, want []uint16, index0 uint16) (table []uint16, ok bool) {
	table = make([]uint16, len(have))
	rest := append([]uint16(nil), want...)
	for i, k := range rest {
		if k&^fullMember == index0 {
			table[0] = k
			rest = append(rest[:i], rest[i+1:]...)
			break
		}
	}
	for i := 1; i < len(have); i++ {
		for j, k := range rest {
			if have[i] == k {
				table[i] = k
				rest = append(rest[:j], rest[j+1:]...)
				break
			}
		}
	}
	next := 1
	for _, k := range rest {
		for next < len(table) && table[next] != 0 {
			next++
		}
		if next == len(table) {
			return table, false
		}
		table[next] = k
	}
	return table, true
}

func (m *Manager) didPKeys(q *request, r *reply) {
	if !r.good() {
		m.fail("route %s: P_KeyTable of port %d cannot be set (%v)", drPath(q.path), q.port.Num, why(r))
		return
	}
	m.gotPKeys(q, r)
}

// Share tells whether two end ports are in the partition and at least one of
// them as a full member (IBTA vol. 1 §10.9.3).
func Share(a, b *Port, pkey uint16) bool {
	x, y := a.Membership(pkey), b.Membership(pkey)
	return x != 0 && y != 0 && (x|y)&Full != 0
}

// Keys are the P_Keys of an end port, to be read only.
func (p *Port) Keys() []uint16 { return p.want }

// ShareAny tells whether an end port and one with the given P_Keys are in a
// partition of which at least one of them is a full member.
func ShareAny(a *Port, keys []uint16) bool {
	for _, x := range a.want {
		for _, y := range keys {
			if (x^y)&^fullMember == 0 && (x|y)&fullMember != 0 {
				return true
			}
		}
	}
	return false
}

// CommonPKey is the first P_Key, with the bit of a's membership, by which two
// end ports can talk; 0 if there is none. A port can always talk with itself.
func CommonPKey(a, b *Port) uint16 {
	for _, k := range a.want {
		if a == b || Share(a, b, k) && (k&fullMember != 0 || b.Membership(k)&Full != 0) {
			return k
		}
	}
	return 0
}

// Membership of an end port in a partition, 0 if it is not in it.
func (p *Port) Membership(pkey uint16) (as Membership) {
	for _, k := range p.want {
		if (k^pkey)&^fullMember == 0 {
			if k&fullMember != 0 {
				as |= Full
			} else {
				as |= Limited
			}
		}
	}
	return as
}

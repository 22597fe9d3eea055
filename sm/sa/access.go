package sa

import (
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Who may see what (IBTA vol. 1 §15.4.1.2): records of ports with which the
// asking port shares a partition, and groups and services of partitions that it
// is in. Who knows the SM_Key sees everything.

// visible tells whether who asks may see records of an end port.
func (q *query) visible(p *sm.Port) bool {
	if q.trusted {
		return true
	}
	own := q.sender()
	return own != nil && (own == p || sm.ShareAny(own, p.Keys()))
}

// inside tells whether who asks is in a partition.
func (q *query) inside(pkey uint16) bool {
	if q.trusted {
		return true
	}
	own := q.sender()
	return own != nil && own.Membership(pkey) != 0
}

// permit tells whether a notice may go to the port of a subscriber (IBTA vol. 1
// o13-17.1.1).
type permit func(subscriber *sm.Port) bool

// sharing permits notices about a port with the given P_Keys to those who share
// a partition with it.
func sharing(keys []uint16) permit {
	return func(p *sm.Port) bool { return sm.ShareAny(p, keys) }
}

// within permits notices about a group to those who are in its partition.
func within(g *mad.MCMemberRecord) permit {
	key := g.PKey
	return func(p *sm.Port) bool { return p.Membership(key) != 0 }
}

package sa

import (
	"bytes"
	"sort"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// group is a multicast group (IBTA vol. 1 §15.2.5.17, §10.5).
type group struct {
	rec     mad.MCMemberRecord // what is of the group; PortGID and JoinState are 0
	members []member           // by GUID
	fixed   bool               // made for a partition: it stays without members
}

type member struct {
	guid  wire.GUID
	state mad.JoinState
	proxy bool
}

// IPoIBQKey is the Q_Key of the broadcast groups that partitions make.
const IPoIBQKey = 0xb1b

// makeGroups makes the groups of the partitions.
func (a *Agent) makeGroups() {
	f := a.m.Config().Partitions
	for i := range f.Partitions {
		p := &f.Partitions[i]
		if p.IPoIB {
			g := sm.PartitionGroup{MGID: sm.Broadcast(2, p.PKey), GroupFlags: p.Group}
			a.fixed(p, &g)
		}
		for k := range p.Groups {
			a.fixed(p, &p.Groups[k])
		}
	}
}

// fixed makes a group of a partition: one for each of its scopes.
func (a *Agent) fixed(p *sm.Partition, g *sm.PartitionGroup) {
	scopes := g.Scopes
	if scopes == 0 {
		scopes = 1 << (g.MGID[1] & 15)
	}
	r := mad.MCMemberRecord{
		QKey: g.QKey, MTUSelector: mad.SelExact, MTU: or(g.MTU, mad.MTU2048), TClass: g.TClass, PKey: p.PKey | 0x8000,
		RateSelector: mad.SelExact, Rate: or(g.Rate, mad.Rate10G),
		PacketLifeTimeSelector: mad.SelExact, PacketLifeTime: a.m.Config().PacketLife, SL: g.SL, FlowLabel: g.FlowLabel,
	}
	if g.IP() {
		r.QKey = or(g.QKey, IPoIBQKey)
	}
	for s := uint8(1); s < 16; s++ {
		r.MGID, r.Scope, r.HopLimit = g.MGID, s, 0
		r.MGID[1] = r.MGID[1]&0xf0 | s
		if s != 2 { // not link-local
			r.HopLimit = 255
		}
		if scopes>>s&1 == 0 || a.group(r.MGID) != nil {
			continue
		}
		if x := a.addGroup(&r); x != nil {
			x.fixed = true
		}
	}
}

// group is the group with the MGID, or nil.
func (a *Agent) group(id wire.GID) *group {
	if i := a.place(id); i < len(a.groups) && a.groups[i].rec.MGID == id {
		return a.groups[i]
	}
	return nil
}

func (a *Agent) place(id wire.GID) int {
	return sort.Search(len(a.groups), func(i int) bool { return bytes.Compare(a.groups[i].rec.MGID[:], id[:]) >= 0 })
}

// addGroup gives a group its MLID, the lowest that is free; nil if there is no
// more.
func (a *Agent) addGroup(r *mad.MCMemberRecord) *group {
	if len(a.groups) >= a.cfg.MaxGroups {
		return nil
	}
	used := make(map[wire.LID]bool, len(a.groups))
	for _, g := range a.groups {
		used[g.rec.MLID] = true
	}
	top := wire.LIDMulticastMin
	if s := a.m.Subnet(); s != nil {
		top += wire.LID(s.MaxGroups())
	}
	l := wire.LIDMulticastMin
	for used[l] && l < top {
		l++
	}
	if l >= top {
		return nil
	}
	g := &group{rec: *r}
	g.rec.MLID = l
	i := a.place(r.MGID)
	a.groups = append(a.groups, nil)
	copy(a.groups[i+1:], a.groups[i:])
	a.groups[i] = g
	a.stats.GroupsMade++
	return g
}

// program tells the manager who is in a group, and ends it without members.
func (a *Agent) program(g *group) {
	var members, senders []wire.GUID
	stays := g.fixed
	for _, m := range g.members {
		if m.state&(mad.JoinFull|mad.JoinNonMember) != 0 {
			members = append(members, m.guid)
		} else {
			senders = append(senders, m.guid)
		}
		stays = stays || m.state&mad.JoinFull != 0
	}
	if !stays {
		// Without full members there is no group (IBTA vol. 1 §15.2.5.17.2).
		i := a.place(g.rec.MGID)
		a.groups = append(a.groups[:i], a.groups[i+1:]...)
		a.stats.GroupsEnded++
		a.m.SetGroup(g.rec.MLID, nil, nil)
		a.tell(mad.TrapGroupDeleted, g.rec.MGID, within(&g.rec))
		return
	}
	a.m.SetGroup(g.rec.MLID, members, senders)
}

// find is the index of a member, or where it would be.
func (g *group) find(guid wire.GUID) (int, bool) {
	i := sort.Search(len(g.members), func(i int) bool { return g.members[i].guid >= guid })
	return i, i < len(g.members) && g.members[i].guid == guid
}

// forget takes a port that went away out of all groups.
func (a *Agent) forget(guid wire.GUID) {
	for i := len(a.groups) - 1; i >= 0; i-- {
		g := a.groups[i]
		if k, ok := g.find(guid); ok {
			g.members = append(g.members[:k], g.members[k+1:]...)
			a.program(g)
		}
	}
}

package ipoib

import (
	"net/netip"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Read IBTA vol. 1 §15.2.5.17 and RFC 4391 §5 before editing.

// group is a multicast group of the subnet.
type group struct {
	i      *Interface
	mgid   hca.GID
	full   bool // a full member, who receives; else only a sender
	joined bool
	due    bool // a full member that is to join, after others
	asking bool
	token  uint64 // of the latest question: answers to older ones do not count
	tries  int
	timer  sim.Timer // joining: the next attempt; a sender: leaves when it expires
	used   bool      // a sender has sent since the timer was set
	rec    mad.MCMemberRecord
	at     wire.LID // MLID with which the queue pair is attached, 0: it is not
	queue  [][]byte // packets that wait for the join
	gone   bool
}

func (i *Interface) newGroup(mgid hca.GID, full bool) *group {
	g := &group{i: i, mgid: mgid, full: full}
	g.timer.Init(i.proc, g, 0, 0)
	return g
}

// member makes the interface a full member of an IP multicast group.
func (i *Interface) member(ip netip.Addr) {
	mgid := MulticastGID(ip, i.pkey)
	g := i.groups[mgid]
	switch {
	case g == nil:
		if g = i.addGroup(mgid, true); g == nil {
			return
		}
	case g.full:
		return
	default:
		g.full, g.joined, g.tries = true, false, 0
	}
	g.due = true
	if i.running {
		i.joinNext()
	}
}

// joinNext joins the next group that is due, one at a time: the interfaces of a
// large subnet ask all at once, and subnet administration has a short queue.
func (i *Interface) joinNext() {
	for _, g := range i.order {
		if g.full && g.asking {
			return
		}
	}
	for _, g := range i.order {
		if g.due {
			g.join()
			return
		}
	}
}

// leaveGroup ends what member began.
func (i *Interface) leaveGroup(ip netip.Addr) {
	if g := i.groups[MulticastGID(ip, i.pkey)]; g != nil && g.full {
		g.leave()
		g.remove()
		if i.running {
			i.joinNext() // in its place, should it have been asking
		}
	}
}

func (i *Interface) addGroup(mgid hca.GID, full bool) *group {
	if len(i.groups) >= maxGroups {
		return nil
	}
	g := i.newGroup(mgid, full)
	i.groups[mgid] = g
	i.order = append(i.order, g)
	return g
}

// components of a MCMemberRecord in a request to join. With the second lot the
// group is made if there is none, as the broadcast group is.
var (
	joinFields   = mad.Fields(&mad.MCMemberRecord{})
	joinMask     = mad.Component(joinFields, "MGID", "PortGID", "PKey", "JoinState")
	joinMakeMask = joinMask | mad.Component(joinFields, "QKey", "MTUSelector", "MTU", "TClass", "RateSelector", "Rate", "SL", "FlowLabel", "HopLimit")
	leaveMask    = mad.Component(joinFields, "MGID", "PortGID", "JoinState")
)

// state is the membership that is asked for.
func (g *group) state() mad.JoinState {
	if g.full {
		return mad.JoinFull
	}
	return mad.JoinSendOnly
}

// join asks to be a member, also if the group is joined: the manager may have
// forgotten.
func (g *group) join() {
	i := g.i
	r := mad.MCMemberRecord{MGID: wire.GID(g.mgid), PortGID: wire.GID(i.gid), PKey: i.pkey, JoinState: g.state()}
	mask := joinMask
	if g != i.broadcast && g.full {
		b := &i.broadcast.rec
		r.QKey, r.MTUSelector, r.MTU, r.TClass = b.QKey, mad.SelExact, b.MTU, b.TClass
		r.RateSelector, r.Rate, r.SL, r.FlowLabel, r.HopLimit = mad.SelExact, b.Rate, b.SL, b.FlowLabel, b.HopLimit
		mask = joinMakeMask
	}
	g.timer.Stop()
	g.asking, g.due = true, false
	g.token++
	token := g.token
	i.cfg.SA.Ask(&Query{Method: mad.MethodSet, Attr: mad.AttrMCMemberRecord, Mask: mask, Record: &r}, func(a *Answer) {
		if g.token == token {
			g.asking = false
			g.answered(a)
			i.joinNext()
		}
	})
}

// answered takes the answer to the latest join.
func (g *group) answered(a *Answer) {
	i := g.i
	var r mad.MCMemberRecord
	if !a.ok() || !mad.Decode(&r, a.Record) || !r.MLID.Multicast() || r.MTU.Bytes() == 0 {
		i.ctr.JoinFailures++
		g.refused()
		return
	}
	i.ctr.Joins++
	g.rec, g.tries, g.joined = r, 0, true
	if g.full && g.at != r.MLID {
		g.detach()
		if i.qp.Attach(g.mgid, r.MLID) == nil {
			g.at = r.MLID
		}
	}
	if g == i.broadcast {
		i.up()
	} else if !g.full {
		g.used = false
		g.timer.Reset(i.proc.Now() + idleTime)
	}
	q := g.queue
	g.queue = nil
	for _, b := range q {
		g.put(b)
	}
}

// refused waits longer each time before a full member asks again; a sender is
// given up, and asks again when it has something to send after a while.
func (g *group) refused() {
	i := g.i
	i.ctr.TxNoGroup += uint64(len(g.queue))
	g.queue = nil
	if !g.full {
		g.timer.Reset(i.proc.Now() + failTime)
		return
	}
	g.timer.Reset(i.proc.Now() + min(sim.Second<<g.tries, maxBackoff))
	g.tries = min(g.tries+1, 8)
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (g *group) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	switch {
	case g.gone || !g.i.ready:
	case g.full:
		g.join()
	case g.joined && g.used:
		g.used = false
		g.timer.Reset(now + idleTime)
	default:
		g.leave()
		g.remove()
	}
}

// send sends a datagram to the group, at once or when it is joined.
func (g *group) send(b []byte) {
	switch {
	case g.joined:
		g.put(b)
	case !g.asking && g.timer.Armed():
		g.i.ctr.TxNoGroup++ // refused a moment ago
	case len(g.queue) >= maxWaiting:
		g.i.ctr.TxOverflow++
	default:
		g.queue = append(g.queue, append([]byte(nil), b...))
		if !g.asking {
			g.join()
		}
	}
}

func (g *group) put(b []byte) {
	g.used = true
	r := &g.rec
	g.i.transmit(b, hca.MADAddress{
		QPN: multicastQPN, QKey: r.QKey, LID: r.MLID, SL: r.SL, GRH: true, GID: g.mgid,
		FlowLabel: r.FlowLabel, TrafficClass: r.TClass, HopLimit: r.HopLimit,
	})
}

// multicastQPN is the destination of datagrams to a group (IBTA vol. 1 §10.5.1).
const multicastQPN = 0xffffff

// leave tells the manager that the interface is no member any more. Nobody
// waits for the answer: the manager finds out by itself when it is lost.
func (g *group) leave() {
	if !g.joined || !g.i.ready {
		return
	}
	r := mad.MCMemberRecord{MGID: wire.GID(g.mgid), PortGID: wire.GID(g.i.gid), JoinState: g.state()}
	g.i.cfg.SA.Ask(&Query{Method: mad.MethodDelete, Attr: mad.AttrMCMemberRecord, Mask: leaveMask, Record: &r}, func(*Answer) {})
	g.drop()
}

// drop forgets that the group was joined and what waits for it.
func (g *group) drop() {
	g.detach()
	g.timer.Stop()
	g.token++
	g.joined, g.due, g.asking, g.tries = false, false, false, 0
	g.i.ctr.TxNotJoined += uint64(len(g.queue))
	g.queue = nil
}

func (g *group) detach() {
	if g.at != 0 {
		g.i.qp.Detach(g.mgid, g.at)
		g.at = 0
	}
}

// remove forgets the group.
func (g *group) remove() {
	i := g.i
	if g.gone || g == i.broadcast {
		return
	}
	g.drop()
	g.gone = true
	delete(i.groups, g.mgid)
	for k, x := range i.order {
		if x == g {
			i.order = append(i.order[:k], i.order[k+1:]...)
			break
		}
	}
}

package sa

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Records of nodes, ports, links and subnet managers (IBTA vol. 1 §15.2.5).

func (q *query) classPortInfo() {
	if q.method == mad.MethodGetTable {
		q.fail(mad.StatusBadMethodAttr)
		return
	}
	r := &mad.ClassPortInfo{
		BaseVersion: 1, ClassVersion: 2, CapabilityMask: mad.ClassCapNotice | mad.SACapUDMulticast | mad.SACapMultiPath | mad.SACapPortInfoCapMatch,
		RespTimeValue: 16, RedirectQP: 1, RedirectQKey: wire.QP1QKey, TrapQKey: wire.QP1QKey,
	}
	q.begin(r)
	q.mask = 0
	q.add(r)
	q.stride = 0 // it is no record
}

func (q *query) nodes() {
	var r mad.NodeRecord
	q.begin(&r)
	q.eachEnd("LID", func(p *sm.Port) {
		r = mad.NodeRecord{LID: p.LID, NodeInfo: p.Node.Info, NodeDescription: p.Node.Desc}
		r.PortGUID = p.GUID
		r.LocalPortNum = p.Num
		if p.Node.IsSwitch() {
			r.LocalPortNum = p.Node.Info.LocalPortNum
		}
		q.add(&r)
	})
}

func (q *query) ports() {
	var r, want mad.PortInfoRecord
	q.begin(&r)
	mad.Decode(&want, q.want)
	caps := mad.CapMask(0)
	if q.mod>>31 != 0 && q.has("CapabilityMask") { // all bits that are asked for
		q.ignore("CapabilityMask")
		caps = want.CapabilityMask
	}
	if q.has("MKey") && !q.trusted {
		q.fail(mad.StatusSAInvalid)
		return
	}
	q.eachPort("EndportLID", func(end, p *sm.Port) {
		r = mad.PortInfoRecord{EndportLID: end.LID, PortNum: p.Num, PortInfo: p.Info}
		r.LocalPortNum = p.Num
		if !q.trusted {
			r.MKey = 0
		}
		if r.CapabilityMask&caps == caps {
			q.add(&r)
		}
	})
}

func (q *query) switches() {
	var r mad.SwitchInfoRecord
	q.begin(&r)
	q.eachEnd("LID", func(p *sm.Port) {
		if p.Node.IsSwitch() {
			r = mad.SwitchInfoRecord{LID: p.LID, SwitchInfo: p.Node.Switch.Info}
			q.add(&r)
		}
	})
}

func (q *query) guids() {
	var r mad.GUIDInfoRecord
	q.begin(&r)
	q.eachEnd("LID", func(p *sm.Port) {
		for b := range (int(p.Info.GUIDCap) + 7) / 8 {
			r = mad.GUIDInfoRecord{LID: p.LID, BlockNum: uint8(b)}
			if b == 0 {
				r.GUID[0] = p.GUID
			}
			q.add(&r)
		}
	})
}

func (q *query) links() {
	var r, want mad.LinkRecord
	q.begin(&r)
	mad.Decode(&want, q.want)
	to, named := q.end("ToLID", want.ToLID)
	q.eachPort("FromLID", func(end, p *sm.Port) {
		if p == nil || p.Peer == nil || !p.Linked() || named && to != p.Peer.End() || !q.visible(p.Peer.End()) {
			return
		}
		r = mad.LinkRecord{FromLID: end.LID, FromPort: p.Num, ToLID: p.Peer.End().LID, ToPort: p.Peer.Num}
		q.add(&r)
	})
}

func (q *query) managers() {
	var r mad.SMInfoRecord
	q.begin(&r)
	self := q.sub.Self()
	r = mad.SMInfoRecord{LID: self.LID, SMInfo: q.a.m.Info()}
	if q.trusted {
		r.SMKey = q.a.m.Config().SMKey
	}
	q.add(&r)
	for _, x := range q.a.m.Remotes() {
		if p := q.sub.PortByGUID(x.GUID); p != nil && q.visible(p) {
			r = mad.SMInfoRecord{LID: p.LID, SMInfo: x.Info}
			r.SMKey = 0
			q.add(&r)
		}
	}
}

package sa

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// report is a notice on its way to a subscriber, sent again until ReportResp.
type report struct {
	d     sm.Datagram
	id    uint32
	tries int
	timer sim.Timer
}

// maxReports bounds those under way.
const maxReports = 8192

// forward sends a notice to everybody who wants it and may have it.
func (a *Agent) forward(sub *sm.Subnet, n *mad.NoticeRecord, ok permit) {
	for i := range a.subs {
		s := &a.subs[i]
		if !s.wants(n) {
			continue
		}
		if p := sub.PortByGUID(s.guid); p == nil || !ok(p) {
			continue
		}
		if len(a.reports) >= maxReports {
			a.stats.ReportsLost++
			continue
		}
		a.tid++
		r := &report{id: a.tid}
		r.d = sm.Datagram{QP: s.qp, SrcQP: wire.QP1, QKey: wire.QP1QKey, DLID: s.lid, SL: s.sl}
		x := mad.SA(r.d.MAD[:])
		x[0], x[1], x[2] = mad.BaseVersion, byte(mad.ClassSubnAdm), mad.ClassSubnAdm.Version()
		x.Packet().SetMethod(mad.MethodReport)
		x.Packet().SetAttr(mad.AttrNotice)
		x.Packet().SetTID(a.tidOf(r.id))
		mad.Encode(n, x.Data())
		r.timer.Init(a.cfg.Proc, a, opReport, uint64(r.id))
		r.timer.Reset(a.cfg.Proc.Now() + a.cfg.Timeout)
		a.reports[r.id] = r
		a.stats.Reports++
		a.send(&r.d)
	}
}

// tidOf is the transaction ID of a report.
func (a *Agent) tidOf(id uint32) uint64 { return uint64(a.m.Config().TIDHigh)<<32 | uint64(id) }

// reported ends a report.
func (a *Agent) reported(d *sm.Datagram) {
	tid := d.Packet().TID()
	r := a.reports[uint32(tid)]
	if r == nil || a.tidOf(r.id) != tid || r.d.DLID != d.SLID {
		a.stats.Ignored++
		return
	}
	a.endReport(r)
}

func (a *Agent) endReport(r *report) {
	r.timer.Stop()
	delete(a.reports, r.id)
}

// reportAgain repeats a report, or gives it up.
func (a *Agent) reportAgain(id uint32) {
	r := a.reports[id]
	if r == nil {
		return
	}
	if r.tries++; r.tries > a.cfg.Retries || a.subnet() == nil {
		a.stats.ReportsLost++
		a.endReport(r)
		return
	}
	r.timer.Reset(a.cfg.Proc.Now() + a.cfg.Timeout)
	a.out = r.d
	a.send(&a.out)
}

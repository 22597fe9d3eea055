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

// forward sends a notice to everybody who wants it.
func (a *Agent) forward(n *mad.NoticeRecord) {
	for i := range a.subs {
		s := &a.subs[i]
		if !s.wants(n) {
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
		a.reports = append(a.reports, r)
		a.stats.Reports++
		a.send(&r.d)
	}
}

// tidOf is the transaction ID of a report.
func (a *Agent) tidOf(id uint32) uint64 { return uint64(a.m.Config().TIDHigh)<<32 | uint64(id) }

// reported ends a report.
func (a *Agent) reported(d *sm.Datagram) {
	tid := d.Packet().TID()
	for i, r := range a.reports {
		if a.tidOf(r.id) == tid && r.d.DLID == d.SLID {
			a.endReport(i)
			return
		}
	}
	a.stats.Ignored++
}

func (a *Agent) endReport(i int) {
	a.reports[i].timer.Stop()
	last := len(a.reports) - 1
	copy(a.reports[i:], a.reports[i+1:])
	a.reports[last] = nil
	a.reports = a.reports[:last]
}

// reportAgain repeats a report, or gives it up.
func (a *Agent) reportAgain(id uint64) {
	for i, r := range a.reports {
		if uint64(r.id) != id {
			continue
		}
		if r.tries++; r.tries > a.cfg.Retries || a.subnet() == nil {
			a.stats.ReportsLost++
			a.endReport(i)
			return
		}
		r.timer.Reset(a.cfg.Proc.Now() + a.cfg.Timeout)
		a.out = r.d
		a.send(&a.out)
		return
	}
}

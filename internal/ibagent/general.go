package ibagent

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// general handles a packet for QP1 (IBTA vol. 1 §13.5.3, §9.6.1).
func (a *Agent) general(f *frame.Frame) {
	p := a.agentPort(f)
	m := packetMAD(f)
	if p == nil || m == nil || m.BaseVersion() != mad.BaseVersion || m.Class().Subn() {
		a.discard(f)
		return
	}
	if !a.keys(p, f) {
		a.discard(f)
		return
	}
	c := m.Class()
	request := m.Method() == mad.MethodGet || m.Method() == mad.MethodSet
	switch {
	case c == mad.ClassPerf && request:
		a.reply(f, m, p, a.performance(m))
	case c == mad.ClassCongestion && request && a.cfg.CC != nil:
		st := mad.StatusBadVersion
		if m.ClassVersion() == c.Version() {
			st = a.cfg.CC.HandleCC(m)
		}
		a.reply(f, m, p, st)
	case a.client != nil:
		a.client.ReceiveMAD(int(f.Meta.InPort), f)
	case request: // nobody here speaks that class
		a.reply(f, m, p, mad.StatusBadVersion)
	default:
		a.discard(f)
	}
}

// keys checks the Q_Key and the P_Key of a GMP.
func (a *Agent) keys(p *ibport.Port, f *frame.Frame) bool {
	m := &f.Meta.IB
	if q := wire.DETH(f.Data[int(m.BTH)+wire.BTHLen:]).QKey(); q != wire.QP1QKey {
		p.QKeyViolation()
		a.BadKey(p, mad.TrapBadQKey, q, f)
		return false
	}
	if k := wire.BTH(f.Data[m.BTH:]).PKey(); !p.HasPKey(k) {
		p.PKeyViolation()
		a.BadKey(p, mad.TrapBadPKey, uint32(k), f)
		return false
	}
	return true
}

// reply sends a GMP's response, which is in its place.
func (a *Agent) reply(f *frame.Frame, m mad.Packet, p *ibport.Port, st mad.Status) {
	m.SetMethod(m.Method().Response())
	m.SetStatus(st)
	turn(f, p)
	a.sendLID(int(p.Num()), f)
}

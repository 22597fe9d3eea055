package ibagent

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// agentPort is the port whose M_Key, LID and subnet manager an SMP concerns:
// port 0 of a switch, of others the one by which it came.
func (a *Agent) agentPort(f *frame.Frame) *ibport.Port {
	if a.cfg.Switch != nil {
		return a.node.Port(0)
	}
	return a.node.Port(int(f.Meta.InPort))
}

// checkMKey tells whether an SMP may be obeyed, and whether its sender may see
// the M_Key (IBTA vol. 1 §14.2.4.1). A wrong key is counted, reported, and
// begins the lease.
func (a *Agent) checkMKey(p *ibport.Port, f *frame.Frame, s mad.SMP) (ok, show bool) {
	key, protect, seconds := p.MKey()
	lease := &a.lease[p.Num()]
	if key == 0 || s.MKey() == key {
		lease.Stop()
		return true, true
	}
	if s.Packet().Method() == mad.MethodGet && protect < 2 {
		return true, protect == 0
	}
	p.MKeyViolation()
	if seconds != 0 && !lease.Armed() {
		lease.Reset(a.proc.Now() + sim.Time(seconds)*sim.Second)
	}
	a.badMKey(p, f, s)
	return false, false
}

package ibagent

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Traps are repeated at intervals of the subnet timeout until the subnet
// manager represses them (IBTA vol. 1 §13.4.9, §14.2.5.1). One that is already
// under way is not sent twice. The subnet timeout also limits their rate
// (§14.2.5.6): of what packets of others cause at any rate, as wrong keys, each is
// told once in that time and maxTraps together, whether the manager represses them
// or not. Changes of state are told at once: the manager has to see the last of them.
const (
	maxTraps  = 16 // under way
	trapTries = 16 // then the manager has to find out by a sweep
	trapLeast = 100 * sim.Microsecond
)

type trap struct {
	notice mad.Notice
	port   uint8
	tid    uint64
	next   sim.Time
	left   int // 0: free, for a violation from next on
}

// violation tells whether packets of others cause a trap, at any rate.
func violation(t mad.Trap) bool {
	switch t {
	case mad.TrapBadMKey, mad.TrapBadPKey, mad.TrapBadQKey, mad.TrapBadPKeySwitch,
		mad.TrapLinkIntegrity, mad.TrapBufferOverrun, mad.TrapFlowControlTimeout:
		return true
	}
	return false
}

// raise sends a trap on behalf of a port, unless the port has no LID or no
// subnet manager yet: then the manager's sweep will tell.
func (a *Agent) raise(p *ibport.Port, n *mad.Notice) {
	sm, _ := p.SMLID()
	if p.LID() == 0 || sm == 0 {
		return
	}
	n.IsGeneric, n.Type, n.IssuerLID = true, n.TrapNumber.Type(), p.LID()
	n.ProducerType = uint32(a.cfg.Info.NodeType)
	var free *trap
	now, limited := a.proc.Now(), violation(n.TrapNumber)
	for i := range a.traps {
		t := &a.traps[i]
		switch {
		case (t.left > 0 || limited && t.next > now) && t.port == p.Num() && t.notice == *n:
			return
		case t.left == 0 && (!limited || t.next <= now) && (free == nil || t.next < free.next):
			free = t
		}
	}
	if free == nil {
		return
	}
	a.tid++
	*free = trap{notice: *n, port: p.Num(), tid: a.tid, left: trapTries}
	a.Count.Traps++
	a.sendTrap(free, now)
}

func (a *Agent) sendTrap(t *trap, now sim.Time) {
	t.left--
	p := a.node.Port(int(t.port))
	every := max(sim.Time(p.SubnetTimeout().Picoseconds()), trapLeast)
	t.next = now + every
	if t.left > 0 && t.next < a.resend.Deadline() {
		a.resend.Reset(t.next)
	}
	sm, sl := p.SMLID()
	if sm == 0 || p.LID() == 0 {
		t.left = 0
		return
	}
	f, m := NewMAD(a.pool, true)
	h := mad.Header{Class: mad.ClassSubnLID, Method: mad.MethodTrap, TID: t.tid, Attr: mad.AttrNotice}
	h.Encode(m)
	key, _, _ := p.MKey()
	mad.SMP(m).SetMKey(key)
	mad.Encode(&t.notice, mad.SMP(m).Data())
	Address(f, p.LID(), sm, sl)
	a.sendLID(int(t.port), f)
}

// repeat sends the traps that nobody has repressed.
func (a *Agent) repeat(now sim.Time) {
	next := sim.Forever
	for i := range a.traps {
		t := &a.traps[i]
		if t.left == 0 {
			continue
		}
		if t.next <= now {
			a.Count.Resent++
			a.sendTrap(t, now)
		}
		if t.left > 0 {
			next = min(next, t.next)
		}
	}
	if next != sim.Forever {
		a.resend.Reset(next)
	}
}

// repress ends a trap. It reports false for one that is not this node's.
func (a *Agent) repress(m mad.Packet) bool {
	for i := range a.traps {
		if t := &a.traps[i]; t.left > 0 && t.tid == m.TID() {
			t.left = 0
			a.Count.Repressed++
			return true
		}
	}
	return false
}

// PortEvent tells the agent what else happened at a port; some of it becomes a
// trap.
func (a *Agent) PortEvent(p *ibport.Port, e ibport.Event) {
	own := p
	if a.cfg.Switch != nil {
		own = a.node.Port(0)
	}
	if own == nil {
		return
	}
	n := mad.Notice{}
	switch e {
	case ibport.EventLinkIntegrity:
		n.TrapNumber = mad.TrapLinkIntegrity
	case ibport.EventBufferOverrun:
		n.TrapNumber = mad.TrapBufferOverrun
	case ibport.EventWatchdog:
		n.TrapNumber = mad.TrapFlowControlTimeout
	case ibport.EventBadPKey:
		a.badPKey(own, p)
		return
	default:
		return
	}
	d := mad.TrapPortData{LID: own.LID(), PortNum: p.Num()}
	mad.Encode(&d, n.DataDetails[:])
	a.raise(own, &n)
}

// badPKey is trap 259 of a switch.
func (a *Agent) badPKey(own, p *ibport.Port) {
	if a.cfg.Switch == nil {
		return
	}
	b := p.BadPKey()
	d := mad.TrapSwitchPKeyData{DataValid: 0x1f, LIDAddr1: b.SLID, LIDAddr2: b.DLID, PKey: b.PKey, SL: b.SL, QP1: b.SrcQP,
		QP2: b.DestQP, GIDAddr1: b.SGID, GIDAddr2: b.DGID, SwLIDAddr: own.LID(), PortNo: p.Num()}
	n := mad.Notice{TrapNumber: mad.TrapBadPKeySwitch}
	mad.Encode(&d, n.DataDetails[:])
	a.raise(own, &n)
}

// badMKey is trap 256.
func (a *Agent) badMKey(p *ibport.Port, f *frame.Frame, s mad.SMP) {
	m := s.Packet()
	d := mad.TrapMKeyData{LID: f.Meta.IB.SLID, Method: m.Method(), AttributeID: m.Attr(), AttributeModifier: m.Modifier(), MKey: s.MKey()}
	if s.Directed() {
		d.DRNotice, d.DrSLID = true, s.DrSLID()
		hops := int(s.HopCount())
		d.DRPathTruncated = hops > len(d.DRReturnPath)
		d.DRHopCount = uint8(min(hops, len(d.DRReturnPath)))
		copy(d.DRReturnPath[:], s.ReturnPath()[1:1+int(d.DRHopCount)])
	}
	n := mad.Notice{TrapNumber: mad.TrapBadMKey}
	mad.Encode(&d, n.DataDetails[:])
	a.raise(p, &n)
}

// BadKey raises trap 257 or 258 for a packet that a port refused because of its
// P_Key or Q_Key.
func (a *Agent) BadKey(p *ibport.Port, t mad.Trap, key uint32, f *frame.Frame) {
	m := &f.Meta.IB
	d := mad.TrapKeyData{LIDAddr1: m.SLID, LIDAddr2: m.DLID, Key: key, SL: m.SL}
	if m.BTH != 0 {
		d.QP2 = wire.BTH(f.Data[m.BTH:]).DestQP()
	}
	if m.Flags&frame.IBGlobal != 0 {
		g := wire.GRH(f.Data[wire.LRHLen:])
		d.GIDAddr1, d.GIDAddr2 = g.SGID(), g.DGID()
	}
	n := mad.Notice{TrapNumber: t}
	mad.Encode(&d, n.DataDetails[:])
	a.raise(p, &n)
}

// changed raises trap 144 at every port that has a manager.
func (a *Agent) changed(d mad.TrapChangeData) {
	for i := range a.lease {
		p := a.node.Port(i)
		if p == nil || a.cfg.Switch != nil && i > 0 {
			continue
		}
		info := p.Info()
		d.LID, d.CapabilityMask, d.CapabilityMask2 = p.LID(), info.CapabilityMask, info.CapabilityMask2
		n := mad.Notice{TrapNumber: mad.TrapCapabilityChange}
		mad.Encode(&d, n.DataDetails[:])
		a.raise(p, &n)
	}
}

// CapMaskChanged raises trap 144: a port's CapabilityMask is another, as when a
// subnet manager starts.
func (a *Agent) CapMaskChanged() { a.changed(mad.TrapChangeData{}) }

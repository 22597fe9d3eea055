package smtest

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// trap is one that is repeated until it is repressed.
type trap struct {
	port   *Port
	tid    uint64
	notice mad.Notice
	tries  int
}

func (n *Node) trapLinkState() {
	var d mad.Notice
	mad.Encode(&mad.TrapLinkStateData{LID: n.Ports[0].Info.LID}, d.DataDetails[:])
	n.Trap(n.Ports[0], mad.TrapLinkState, &d)
}

// Trap makes a node send a trap from one of its ports. d has the data.
func (n *Node) Trap(p *Port, t mad.Trap, d *mad.Notice) {
	for i := range n.traps {
		if n.traps[i].notice.TrapNumber == t && n.traps[i].notice.DataDetails == d.DataDetails && n.traps[i].port == p {
			if n.traps[i].tries <= 0 { // the one before was heard
				n.f.tid++
				n.traps[i].tid = n.f.tid
			}
			n.traps[i].tries = n.f.TrapTries
			return
		}
	}
	x := *d
	x.IsGeneric, x.Type, x.ProducerType, x.TrapNumber = true, t.Type(), uint32(n.Type), t
	n.f.tid++
	n.traps = append(n.traps, trap{port: p, tid: n.f.tid, notice: x, tries: n.f.TrapTries})
	if len(n.traps) == 1 {
		n.f.proc.At(n.f.Eng.Now(), n.f, opTrap, uint64(n.index))
	}
}

// sendTrap sends the first of the traps that wait, if it knows where to.
func (n *Node) sendTrap() {
	for len(n.traps) > 0 && n.traps[0].tries <= 0 {
		n.traps = n.traps[1:]
	}
	if len(n.traps) == 0 {
		return
	}
	t := &n.traps[0]
	t.tries--
	n.f.proc.At(n.f.Eng.Now()+n.f.TrapEvery, n.f, opTrap, uint64(n.index))
	if t.port.Info.LID == 0 || t.port.Info.MasterSMLID == 0 {
		t.tries = 0 // there is no subnet manager
		return
	}
	d := sm.Datagram{SLID: t.port.Info.LID, DLID: t.port.Info.MasterSMLID}
	s := d.SMP()
	s[0], s[1], s[2] = mad.BaseVersion, byte(mad.ClassSubnLID), 1
	s.Packet().SetMethod(mad.MethodTrap)
	s.Packet().SetTID(t.tid)
	s.Packet().SetAttr(mad.AttrNotice)
	t.notice.IssuerLID = t.port.Info.LID
	mad.Encode(&t.notice, s.Data())
	n.f.send(t.port, &d)
}

// repressed ends a trap, and the next one can go.
func (n *Node) repressed(tid uint64) {
	for i := range n.traps {
		if n.traps[i].tid == tid {
			n.traps[i].tries = 0
			return
		}
	}
}

// TrapsPending counts traps that were not repressed yet.
func (n *Node) TrapsPending() (c int) {
	for _, t := range n.traps {
		if t.tries > 0 {
			c++
		}
	}
	return c
}

// SetIsSM sets the bit of CapabilityMask that says that a subnet manager is at
// the port, and tells the master.
func (p *Port) SetIsSM(on bool) {
	old := p.Info.CapabilityMask
	p.Info.CapabilityMask &^= mad.CapIsSM
	if on {
		p.Info.CapabilityMask |= mad.CapIsSM
	}
	if p.Info.CapabilityMask != old {
		var d mad.Notice
		mad.Encode(&mad.TrapChangeData{LID: wire.LID(p.Info.LID), CapabilityMask: p.Info.CapabilityMask}, d.DataDetails[:])
		p.Node.Trap(p, mad.TrapCapabilityChange, &d)
	}
}

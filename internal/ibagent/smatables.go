package ibagent

import (
	"cnuas/internal/ibport"
	"cnuas/internal/wire/mad"
)

// pkeyTable: the block is in the low half of the modifier, of a switch the port
// in the high half (IBTA vol. 1 §14.2.5.7).
func (a *Agent) pkeyTable(set bool, mod uint32, in int, d []byte) mad.Status {
	n := in
	if a.cfg.Switch != nil {
		n = int(mod >> 16)
	}
	var t mad.PKeyTable
	p := a.node.Port(n)
	block := int(mod & 0xffff)
	if p == nil || !p.PKeyBlock(block, &t) {
		return mad.StatusInvalidField
	}
	if set {
		mad.Decode(&t, d)
		p.SetPKeyBlock(block, &t)
		p.PKeyBlock(block, &t)
	}
	mad.Encode(&t, d)
	return mad.StatusOK
}

// slToVL: of a switch the input port is in bits 15 to 8 of the modifier, the
// output port below (IBTA vol. 1 §14.2.5.8).
func (a *Agent) slToVL(set bool, mod uint32, in int, d []byte) mad.Status {
	p, from := a.node.Port(in), 0
	if a.cfg.Switch != nil {
		p, from = a.node.Port(int(mod&0xff)), int(mod>>8&0xff)
	}
	var t mad.SLtoVL
	if p == nil || mod > 0xffff || !p.SL2VL(from, &t) {
		return mad.StatusInvalidField
	}
	if set {
		mad.Decode(&t, d)
		p.SetSL2VL(from, &t)
	}
	mad.Encode(&t, d)
	return mad.StatusOK
}

// vlArb: the port is in the low half of the modifier, the block in the high one
// (IBTA vol. 1 §14.2.5.9).
func (a *Agent) vlArb(set bool, mod uint32, in int, d []byte) mad.Status {
	n := int(mod & 0xff)
	if a.cfg.Switch == nil && n == 0 {
		n = in
	}
	p, block := a.node.Port(n), int(mod>>16)
	var t mad.VLArbitration
	if p == nil || !p.VLArb(block, &t) {
		return mad.StatusInvalidField
	}
	if set {
		mad.Decode(&t, d)
		p.SetVLArb(block, &t)
		p.VLArb(block, &t)
	}
	mad.Encode(&t, d)
	return mad.StatusOK
}

func (a *Agent) switchInfo(set bool, d []byte) mad.Status {
	if a.cfg.Switch == nil {
		return mad.StatusBadMethodAttr
	}
	st := mad.StatusOK
	if set {
		var i mad.SwitchInfo
		mad.Decode(&i, d)
		st = a.cfg.Switch.SetSwitchInfo(&i)
	}
	i := a.cfg.Switch.SwitchInfo()
	mad.Encode(&i, d)
	return st
}

func (a *Agent) lft(set bool, mod uint32, d []byte) mad.Status {
	if a.cfg.Switch == nil {
		return mad.StatusBadMethodAttr
	}
	var t mad.LinearForwarding
	ok := mod <= 0xffff
	if ok && set {
		mad.Decode(&t, d)
		ok = a.cfg.Switch.SetLFTBlock(int(mod), &t)
	}
	if !ok || !a.cfg.Switch.LFTBlock(int(mod), &t) {
		return mad.StatusInvalidField
	}
	mad.Encode(&t, d)
	return mad.StatusOK
}

// mft: the block is in bits 8 to 0 of the modifier, the group of 16 ports in
// bits 31 to 28 (IBTA vol. 1 §14.2.5.12).
func (a *Agent) mft(set bool, mod uint32, d []byte) mad.Status {
	if a.cfg.Switch == nil {
		return mad.StatusBadMethodAttr
	}
	var t mad.MulticastForwarding
	block, pos := int(mod&0x1ff), int(mod>>28)
	ok := true
	if set {
		mad.Decode(&t, d)
		ok = a.cfg.Switch.SetMFTBlock(block, pos, &t)
	}
	if !ok || !a.cfg.Switch.MFTBlock(block, pos, &t) {
		return mad.StatusInvalidField
	}
	mad.Encode(&t, d)
	return mad.StatusOK
}

// PortChanged tells the agent that a port's state changed: a switch reports it
// (trap 128).
func (a *Agent) PortChanged(p *ibport.Port) {
	if a.cfg.Switch == nil || p.Num() == 0 {
		return
	}
	if o := a.node.Port(0); o != nil {
		d := mad.TrapLinkStateData{LID: o.LID()}
		n := mad.Notice{TrapNumber: mad.TrapLinkState}
		mad.Encode(&d, n.DataDetails[:])
		a.raise(o, &n)
	}
}

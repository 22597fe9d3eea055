package ibport

import (
	"slices"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// pkeyFull is the membership bit of a P_Key (IBTA vol. 1 §10.9.1.2).
const pkeyFull = 0x8000

// MatchPKey tells whether two P_Keys let packets pass: the same partition, and
// not both of them limited members (IBTA vol. 1 §10.9.3).
func MatchPKey(a, b uint16) bool {
	return (a^b)&^pkeyFull == 0 && (a|b)&pkeyFull != 0 && a&^pkeyFull != 0
}

// HasPKey tells whether a packet's P_Key matches an entry of the port's table.
func (p *Port) HasPKey(k uint16) bool {
	for _, x := range p.pkeys {
		if MatchPKey(x, k) {
			return true
		}
	}
	return false
}

// PKeys is the port's P_Key table; it belongs to the port.
func (p *Port) PKeys() []uint16 { return p.pkeys }

// PKeyBlock reads 32 entries. It reports false for a block that does not exist.
func (p *Port) PKeyBlock(block int, a *mad.PKeyTable) bool {
	if block < 0 || block*32 >= len(p.pkeys) {
		return false
	}
	*a = mad.PKeyTable{}
	copy(a.PKey[:], p.pkeys[block*32:])
	return true
}

// SetPKeyBlock writes 32 entries; those beyond the table are ignored.
func (p *Port) SetPKeyBlock(block int, a *mad.PKeyTable) bool {
	if block < 0 || block*32 >= len(p.pkeys) {
		return false
	}
	at := p.pkeys[block*32:]
	at = at[:min(len(at), len(a.PKey))]
	if !slices.Equal(at, a.PKey[:len(at)]) {
		copy(at, a.PKey[:])
		p.owner.PortEvent(p, EventPKeys)
	}
	return true
}

// passes tells whether partition enforcement lets a packet through: it has no
// P_Key, or one of the port's. SMPs and GMPs to QP0 are not checked (IBTA
// vol. 1 §18.2.4.2). Subnet managers give a switch port the table of the end
// behind it: a packet that comes from there with a limited membership is what
// the table says that it may send, and meets full members only at its receiver.
func (p *Port) passes(f *frame.Frame, in bool) bool {
	m := &f.Meta.IB
	if m.BTH == 0 || m.Flags&frame.IBSMP != 0 {
		return true
	}
	k := wire.BTH(f.Data[m.BTH:]).PKey()
	return p.HasPKey(k) || in && k&^pkeyFull != 0 && slices.Contains(p.pkeys, k)
}

// BadPKey is what a notice tells of the last packet that enforcement refused
// (trap 259, IBTA vol. 1 §14.2.5.1).
type BadPKey struct {
	SLID, DLID wire.LID
	PKey       uint16
	SL         uint8
	SrcQP      uint32 // 0 if the packet does not tell
	DestQP     uint32
	SGID, DGID wire.GID
	GIDs       bool
}

// BadPKey returns the last packet that enforcement refused.
func (p *Port) BadPKey() BadPKey { return p.badPKey }

// refuse notes a packet that does not pass, and tells.
func (p *Port) refuse(f *frame.Frame) {
	m := &f.Meta.IB
	t := wire.BTH(f.Data[m.BTH:])
	b := BadPKey{SLID: m.SLID, DLID: m.DLID, PKey: t.PKey(), SL: m.SL, DestQP: t.DestQP()}
	if m.Flags&frame.IBGlobal != 0 {
		g := wire.GRH(f.Data[wire.LRHLen:])
		b.SGID, b.DGID, b.GIDs = g.SGID(), g.DGID(), true
	}
	p.badPKey = b
	saturate(&p.set.pkeyViolations)
	p.owner.PortEvent(p, EventBadPKey)
}

func saturate(v *uint16) {
	if *v < 0xffff {
		*v++
	}
}

// QKeyViolation counts a packet with a wrong Q_Key (IBTA vol. 1 §14.2.5.6).
func (p *Port) QKeyViolation() { saturate(&p.set.qkeyViolations) }

// PKeyViolation counts a packet that a channel adapter refused.
func (p *Port) PKeyViolation() { saturate(&p.set.pkeyViolations) }

// GUIDs is the port's GUID table; the first is the PortGUID.
func (p *Port) GUIDs() []wire.GUID { return p.guids }

// GUIDBlock reads 8 entries. It reports false for a block that does not exist.
func (p *Port) GUIDBlock(block int, a *mad.GUIDInfo) bool {
	if block < 0 || block*8 >= len(p.guids) {
		return false
	}
	*a = mad.GUIDInfo{}
	copy(a.GUID[:], p.guids[block*8:])
	return true
}

// SetGUIDBlock writes 8 entries. The first of all cannot be changed.
func (p *Port) SetGUIDBlock(block int, a *mad.GUIDInfo) bool {
	if block < 0 || block*8 >= len(p.guids) {
		return false
	}
	to := *a
	if block == 0 {
		to.GUID[0] = p.guids[0]
	}
	at := p.guids[block*8:]
	at = at[:min(len(at), len(to.GUID))]
	if !slices.Equal(at, to.GUID[:len(at)]) {
		copy(at, to.GUID[:])
		p.owner.PortEvent(p, EventGUIDs)
	}
	return true
}

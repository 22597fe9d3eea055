package hca

import (
	"encoding/binary"

	"cnuas/hca/ring"
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Read IBTA vol. 1 §9.6.1 before editing.

// ibSide is what a device has of an InfiniBand port.
type ibSide struct {
	ca     *CA
	port   *ibport.Port
	queue  [16]frame.FIFO      // of the agents and of the kernel's MADs, by VL
	staged [lanes]*frame.Frame // the head of each lane, until the port has credits for it
}

// IB is the device's port; nil if that is RoCE.
func (d *Device) IB() *ibport.Port {
	if d.ib == nil {
		return nil
	}
	return d.ib.port
}

// CA is the adapter that the device is a port of; nil if that is RoCE.
func (d *Device) CA() *CA {
	if d.ib == nil {
		return nil
	}
	return d.ib.ca
}

// PortNum is the number of the device's port on its adapter. Programs see each
// port as a device of its own, with port 1.
func (d *Device) PortNum() int {
	if d.ib == nil {
		return 1
	}
	return int(d.ib.port.Num())
}

var defaultPKeys = []uint16{wire.DefaultPKey}

// PKeys is the port's P_Key table. The caller does not change it.
func (d *Device) PKeys() []uint16 {
	if d.ib == nil {
		return defaultPKeys
	}
	return d.ib.port.PKeys()
}

// pkey is an entry of the table; 0, which is no P_Key, outside of it.
func (d *Device) pkey(index uint16) uint16 {
	if t := d.PKeys(); int(index) < len(t) {
		return t[index]
	}
	return 0
}

// lane is the data VL of a service level; laneNone if none in operation serves
// it.
func (s *ibSide) lane(sl uint8) uint8 {
	if vl := s.port.VLOf(0, sl); s.port.Operational(vl) {
		return vl
	}
	return laneNone
}

// source is the LID that packets come from.
func (s *ibSide) source(bits uint8) wire.LID {
	return s.port.LID() | wire.LID(bits)&(1<<s.port.LMC()-1)
}

// findIB looks for the packet in an InfiniBand frame.
func (k *packet) findIB(f *frame.Frame) (DropReason, bool) {
	if !f.ParseIB() {
		return DropMalformed, false
	}
	m := &f.Meta.IB
	off, b := int(m.BTH), f.Data
	if off == 0 || len(b) < off+wire.BTHLen {
		return DropMalformed, false
	}
	if m.Flags&frame.IBGlobal != 0 {
		k.l3 = wire.LRHLen
		if wire.GRH(b[k.l3:]).PayLen() != int(f.Len)-wire.VCRCLen-wire.LRHLen-wire.GRHLen {
			return DropMalformed, false
		}
	}
	k.bth = b[off : off+wire.BTHLen]
	k.pad = int(k.bth[1] >> 4 & 3)
	body := off + wire.BTHLen
	if f.Meta.ICRCDeferred {
		if k.pad != int(f.Meta.Pad) || int(f.Len) != len(b)+len(f.Pay)+k.pad+wire.ICRCLen+wire.VCRCLen {
			return DropMalformed, false
		}
		k.body = b[body:]
		return 0, true
	}
	end := int(f.Len) - wire.VCRCLen - wire.ICRCLen
	if len(f.Pay) != 0 || end < body+k.pad || end+wire.ICRCLen > len(b) {
		return DropMalformed, false
	}
	if wire.ICRCNative(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return DropICRC, false
	}
	k.body = b[body : end-k.pad]
	return 0, true
}

// addressed tells whether a packet's addresses are those of the queue pair: its
// port's and, for a connection, the peer's.
func (d *Device) addressed(q *QP, f *frame.Frame, l3 int) bool {
	m, p := &f.Meta.IB, d.ib.port
	if !p.HasLID(m.DLID) {
		return false
	}
	var g wire.GRH
	if l3 != 0 {
		if g = wire.GRH(f.Data[l3:]); !d.answersTo(g.DGID()) {
			return false
		}
	}
	if q.typ == UD {
		return true
	}
	// The peer may send from another of its LIDs than it is sent to.
	av := &q.attr.AV
	if (m.SLID^av.DLID)>>p.LMC() != 0 {
		return false
	}
	if av.Global {
		return g != nil && GID(g.SGID()) == av.DGID
	}
	return true
}

// answersTo tells whether a GID is the port's: one of its table, or the first
// with the default prefix, which a port always has (IBTA vol. 1 §4.1.1).
func (d *Device) answersTo(g wire.GID) bool {
	return d.hasGID(GID(g)) || g.Prefix() == wire.DefaultGIDPrefix && g.GUID() == d.ib.port.GUID()
}

// wholeMAD checks a packet for QP0 or QP1 as far as the agents do not: its
// ICRC, and whether it is for this port. A directed route has no addresses.
func (d *Device) wholeMAD(f *frame.Frame) (r DropReason, ok bool) {
	var k packet
	if r, ok = k.findIB(f); !ok {
		return r, false
	}
	if m := &f.Meta.IB; m.DLID != wire.LIDPermissive && !d.ib.port.HasLID(m.DLID) || m.DLID == wire.LIDPermissive && m.VL != wire.VL15 {
		return DropAddress, false
	}
	return 0, true
}

// checkPKey compares the packet's P_Key with that of the queue pair; a wrong
// one is counted and told to the subnet manager (trap 257).
func (d *Device) checkPKey(q *QP, f *frame.Frame, bth wire.BTH) bool {
	if ibport.MatchPKey(bth.PKey(), d.pkey(q.attr.PKeyIndex)) {
		return true
	}
	d.ib.port.PKeyViolation()
	d.ib.ca.agent.BadKey(d.ib.port, mad.TrapBadPKey, uint32(bth.PKey()), f)
	return false
}

// badQKey counts a datagram with a wrong Q_Key and tells the subnet manager
// (trap 258).
func (d *Device) badQKey(key uint32, f *frame.Frame) {
	if d.ib != nil {
		d.ib.port.QKeyViolation()
		d.ib.ca.agent.BadKey(d.ib.port, mad.TrapBadQKey, key, f)
	}
}

// from fills in what a completion says of the sender of a datagram.
func (d *Device) from(e *ring.CQE, q *QP, f *frame.Frame) {
	m := &f.Meta.IB
	e.SLID, e.SL, e.PKeyIndex, e.PathBits = uint16(m.SLID), m.SL, q.attr.PKeyIndex, d.pathBits(m.DLID)
}

// pathBits says which of the port's LIDs a packet was sent to; 0 if to none.
func (d *Device) pathBits(l wire.LID) uint8 {
	if !d.ib.port.HasLID(l) {
		return 0
	}
	return uint8(l & (1<<d.ib.port.LMC() - 1))
}

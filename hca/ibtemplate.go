package hca

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §7.7, §8.3 and §10.2.2.2 before editing.

// newIBTemplate builds LRH, GRH if there is one, and BTH for the path in av.
// Source LID, source GID and P_Key are put in when a packet is made: the subnet
// manager may change them at any time.
func (d *Device) newIBTemplate(av *AddressVector, remote uint32) (t template, err error) {
	p := d.ib.port
	group := av.Global && av.DGID.IsMulticast()
	if av.DLID == 0 || av.DLID == wire.LIDPermissive || av.DLID.Multicast() != group || av.SL > 15 {
		return t, ErrInvalid
	}
	if av.PathBits>>p.LMC() != 0 {
		return t, ErrInvalid
	}
	t.n, t.bits, t.sgid = wire.LRHLen+wire.BTHLen, av.PathBits, av.SGIDIndex
	lrh := wire.LRHFields{SL: av.SL, LNH: wire.LNHBTH, DLID: av.DLID}
	if av.Global {
		if int(av.SGIDIndex) >= len(d.gids) || !d.gids[av.SGIDIndex].Valid {
			return t, ErrNoGID
		}
		t.n += wire.GRHLen
		lrh.LNH = wire.LNHGRH
		(&wire.GRHFields{TClass: av.TrafficClass, FlowLabel: av.FlowLabel & 0xfffff, NxtHdr: wire.NextHeaderIBA,
			HopLmt: av.HopLimit, DGID: wire.GID(av.DGID)}).Encode(t.b[wire.LRHLen:])
	}
	lrh.Encode(t.b[:])
	bth := t.n - wire.BTHLen
	(&wire.BTHFields{MigReq: true, DestQP: remote}).Encode(t.b[bth:])
	t.ib = frame.IB{DLID: av.DLID, SL: av.SL, BTH: uint8(bth)}
	if av.Global {
		t.ib.Flags = frame.IBGlobal
	}
	return t, nil
}

// finishIB fills in what differs from packet to packet in front of the BTH, and
// what the fabric needs to know of it. rest is the bytes between BTH and ICRC.
func (d *Device) finishIB(t *template, f *frame.Frame, b []byte, rest int) {
	n := t.n + rest + wire.ICRCLen
	slid := d.ib.source(t.bits)
	be.PutUint16(b[4:], uint16(n/4))
	be.PutUint16(b[6:], uint16(slid))
	if t.ib.Flags&frame.IBGlobal != 0 {
		g := b[wire.LRHLen:]
		be.PutUint16(g[4:], uint16(n-wire.LRHLen-wire.GRHLen))
		copy(g[8:24], d.gids[t.sgid].GID[:])
	}
	be.PutUint16(b[t.n-wire.BTHLen+2:], d.pkey(t.pkey))
	f.Len = int32(n + wire.VCRCLen)
	m := &f.Meta.IB
	*m = t.ib
	m.SLID, m.Blocks = slid, uint16(wire.FlowBlocks(int(f.Len)))
	f.Meta.Parsed = true
}

// priority is in what priority, or service level, a path's packets are.
func (d *Device) priority(av *AddressVector, t *template) uint8 {
	if d.ib != nil {
		return av.SL
	}
	return d.cfg.Priority[t.tos>>2]
}

// isGroup tells whether the path leads to a multicast group.
func (d *Device) isGroup(av *AddressVector) bool {
	if d.ib != nil {
		return av.DLID.Multicast()
	}
	return av.DGID.IsMulticast()
}

// isSelf tells whether the path leads to this device.
func (d *Device) isSelf(av *AddressVector) bool {
	if d.ib != nil {
		return d.ib.port.LID() != 0 && d.ib.port.HasLID(av.DLID)
	}
	return d.hasGID(av.DGID)
}

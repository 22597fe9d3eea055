package tunnel

import (
	"encoding/binary"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// seal appends a frame as it is on the wire, both CRCs included.
func seal(b []byte, f *frame.Frame) []byte {
	if f.Meta.IB.Flags&frame.IBLink != 0 {
		return append(b, f.Data...)
	}
	start := len(b)
	b = f.AppendOpen(b)
	b = append(b, 0, 0)
	if p := b[start:]; f.Meta.ICRCDeferred {
		wire.SealIB(p)
	} else {
		n := len(p) - wire.VCRCLen
		binary.LittleEndian.PutUint16(p[n:], wire.VCRC(p[:n]))
	}
	return b
}

// open makes a frame of a packet from LRH to VCRC. It returns nil if the packet
// is not as long as its LRH says, is not on the lane vl, or its VCRC is wrong. An
// ICRC that is right is taken off and made anew where it is wanted, as that of
// every frame inside; one that is wrong stays, for the end of the path to find
// (IBTA vol. 1 §7.8.1).
func open(pool *frame.Pool, b []byte, vl uint8) *frame.Frame {
	h := wire.LRH(b)
	if !h.Valid() || h.VL() != vl || h.WireLen() != len(b) {
		return nil
	}
	icrc, vcrc := wire.CheckIB(b)
	if !vcrc {
		return nil
	}
	f := pool.Get()
	n := len(b) - wire.VCRCLen
	if h.LNH() >= wire.LNHBTH && icrc {
		var l wire.IBLayers
		if l.Parse(b[:n]) && l.BTH != 0 {
			pad := wire.BTH(b[l.BTH:]).Pad()
			if end := n - wire.ICRCLen - pad; end >= int(l.BTH)+wire.BTHLen && zero(b[end:end+pad]) {
				n = end
				f.Meta.ICRCDeferred, f.Meta.Pad = true, uint8(pad)
			}
		}
	}
	copy(f.Buf(n), b)
	f.WireLenIB()
	if !f.ParseIB() {
		pool.Put(f)
		return nil
	}
	return f
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// openFlow is open for a flow control packet.
func openFlow(pool *frame.Pool, b []byte, vl uint8) *frame.Frame {
	c := wire.Flow(b)
	if len(b) != wire.FlowLen || !c.Intact() || c.VL() != vl {
		return nil
	}
	f := pool.Get()
	copy(f.Head(wire.FlowLen), b)
	f.Len = wire.FlowLen
	f.Meta.IB.Flags = frame.IBLink
	return f
}

package hca_test

import (
	"encoding/binary"
	"strings"

	"cnuas/hca"
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// ibEnd is the other side of a scripted peer over InfiniBand: the port at the
// other end of the cable, with LID 9. The device has LID 1.
type ibEnd struct {
	p    *peer
	ca   *hca.CA
	end  *ibtest.End
	sent []string // by the device
	mads []mad.Packet
	slid wire.LID // of what the end sends
	grh  *wire.GRHFields
	pkey uint16
	dlid wire.LID
	sl   uint8
	// pkeys are those of the packets that came.
	pkeys []uint16
}

// vector is the address of the peer, or of another port.
func (p *peer) vector(last byte) hca.AddressVector {
	if p.ib != nil {
		return hca.AddressVector{DLID: wire.LID(last)}
	}
	return hca.AddressVector{SGIDIndex: 1, DGID: v4gid(last), DMAC: [6]byte{2, last}}
}

// newIBEnd makes the device one of InfiniBand.
func (p *peer) newIBEnd() {
	port := ibport.Config{SpeedsExt: mad.SpeedEDR, Name: "a"}
	c := hca.CAPortConfig{Config: hca.Config{Name: "mlx5_0"}, Port: port}
	c.KeySeed[0] = 1
	ca := must[*hca.CA](p.t)(hca.NewCA(p.e, p.pool, nil, hca.CAConfig{Info: mad.NodeInfo{NodeGUID: 0x100}, Ports: []hca.CAPortConfig{c}}))
	port.Name, port.GUID = "b", 0x900
	p.dev = ca.Device(1)
	x := &ibEnd{p: p, ca: ca, end: ibtest.NewEnd(p.e, p.pool, port), slid: 9, dlid: 1, pkey: 0xffff}
	x.end.Hook = x.arrived
	p.ib = x
	if err := ibport.Connect(ca.Port(1), x.end.Port, 10*sim.Nanosecond); err != nil {
		p.t.Fatal(err)
	}
	p.advance(5 * sim.Millisecond)
	x.end.Activate(9)
	for _, s := range []mad.PortState{mad.PortArmed, mad.PortActive} {
		ibtest.Set(ca.Port(1), s, func(a *mad.PortInfo) { a.LID, a.MasterSMLID = 1, 9 })
	}
	p.advance(10 * sim.Microsecond)
}

// packet is peer.frame: LRH, GRH if there is one, and what follows.
func (x *ibEnd) packet(k pkt, ext []byte, pad int) []byte {
	h := wire.LRHFields{LNH: wire.LNHBTH, DLID: x.dlid, SLID: x.slid, SL: x.sl}
	b := make([]byte, 8, 400)
	if x.grh != nil {
		h.LNH = wire.LNHGRH
		b = b[:48]
		g := *x.grh
		g.PayLen, g.NxtHdr = 12+len(ext)+len(k.pay)+pad+4, wire.NextHeaderIBA
		g.Encode(b[8:])
	}
	h.PktLen = (len(b) + 12 + len(ext) + len(k.pay) + pad + 4) / 4
	h.Encode(b)
	if k.dst == 0 {
		k.dst = x.p.qp.Num()
	}
	t := wire.BTHFields{Opcode: k.op, Solicited: k.se, MigReq: true, Pad: uint8(pad), PKey: x.pkey, DestQP: k.dst, AckReq: k.ack, PSN: k.psn}
	at := len(b)
	b = append(b, make([]byte, 12)...)
	t.Encode(b[at:])
	if k.ce {
		wire.BTH(b[at:]).SetFECN(true)
	}
	b = append(append(b, ext...), k.pay...)
	b = append(b, make([]byte, pad)...)
	if k.mangle != nil && !k.keepICRC {
		b = k.mangle(b)
	}
	b = binary.LittleEndian.AppendUint32(b, wire.ICRCNative(b))
	if k.mangle != nil && k.keepICRC {
		b = k.mangle(b)
	}
	return b
}

// give puts a packet on the wire and lets it arrive.
func (x *ibEnd) give(f *frame.Frame) {
	f.WireLenIB()
	if !f.ParseIB() {
		x.p.t.Fatalf("no InfiniBand packet: % x", f.Data)
	}
	x.end.Send(f.Meta.IB.VL, f)
	x.p.advance(2 * sim.Microsecond)
}

// arrived takes what the device sends.
func (x *ibEnd) arrived(f *frame.Frame) bool {
	if m := ibtest.MAD(f); m != nil { // a trap
		x.mads = append(x.mads, append(mad.Packet(nil), m...))
	} else {
		x.sent = append(x.sent, x.describe(f))
	}
	x.end.Port.Release(f)
	x.p.pool.Put(f)
	return true
}

// out is peer.out.
func (x *ibEnd) out() string {
	for n := -1; n != len(x.sent); {
		n = len(x.sent)
		x.p.advance(5 * sim.Microsecond)
	}
	s := strings.Join(x.sent, "; ")
	x.sent = nil
	return s
}

// sealed is the packet as it is on the wire, without its VCRC.
func sealed(f *frame.Frame) []byte {
	b := f.AppendOpen(nil)
	if f.Meta.ICRCDeferred {
		n := len(b) - 4
		binary.LittleEndian.PutUint32(b[n:], wire.ICRCNative(b[:n]))
	}
	return b
}

// describe is peer.describe.
func (x *ibEnd) describe(f *frame.Frame) string {
	b := sealed(f)
	var l wire.IBLayers
	if !l.Parse(b) || l.WireLen() != int(f.Len) || len(b)+2 != int(f.Len) || l.SLID != x.ca.Port(1).LID() {
		x.p.t.Errorf("length %d, layers %+v, of % x", f.Len, l, b)
	}
	m := f.Meta.IB
	if m.DLID != l.DLID || m.SLID != l.SLID || m.SL != l.SL || m.BTH != l.BTH || int(m.Blocks) != wire.FlowBlocks(int(f.Len)) {
		x.p.t.Errorf("stated %+v, found %+v", m, l)
	}
	t := wire.BTH(b[l.BTH:])
	x.pkeys = append(x.pkeys, t.PKey())
	t.SetPKey(0xffff)
	return x.p.describeTransport(t)
}

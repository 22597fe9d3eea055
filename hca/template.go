package hca

import (
	"encoding/binary"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

var be = binary.BigEndian

// template is the headers that a queue pair's packets have in common, Ethernet
// to BTH, so that a packet is made by one copy and a few stores.
type template struct {
	b      [wire.EthernetLen + wire.IPv6Len + wire.UDPLen + wire.BTHLen]byte
	n      int    // bytes used
	sum    uint32 // one's complement sum of the IPv4 header without its length
	tos    uint8
	layers wire.Layers
	ib     frame.IB // of an InfiniBand packet; BTH is not 0 then
	pkey   uint16   // index into the P_Key table
	bits   uint8    // of the source LID
	sgid   uint8    // index of the source GID
	// peer is what a packet from the peer has for addresses, source then
	// destination: 8 bytes for IPv4, 32 for IPv6.
	peer [32]byte
}

const bthMigReq = 0x40

func (g *GID) isV4() bool {
	for _, x := range g[:10] {
		if x != 0 {
			return false
		}
	}
	return g[10] == 0xff && g[11] == 0xff
}

// newTemplate builds the headers for the path in a. RoCEv2 over IPv4 is used
// where both GIDs are IPv4-mapped (IBTA annex A17.4.5).
// local and remote are queue pair numbers.
func (d *Device) newTemplate(av *AddressVector, local, remote uint32) (t template, err error) {
	if d.ib != nil {
		return d.newIBTemplate(av, remote)
	}
	if int(av.SGIDIndex) >= len(d.gids) || !d.gids[av.SGIDIndex].Valid {
		return t, ErrNoGID
	}
	src, dst := d.gids[av.SGIDIndex].GID, av.DGID
	v4 := dst.isV4()
	if v4 != src.isV4() || dst == (GID{}) {
		return t, ErrInvalid
	}
	tc := av.TrafficClass
	if tc == 0 {
		tc = d.cfg.DefaultTrafficClass
	}
	t.tos = tc&^3 | wire.ECNECT0
	hops := av.HopLimit
	if hops == 0 {
		hops = 64
	}
	copy(t.b[0:], av.DMAC[:])
	if dst.IsMulticast() {
		mac := dst.multicastMAC()
		copy(t.b[0:], mac[:])
	}
	copy(t.b[6:], d.cfg.MAC[:])
	ip := t.b[wire.EthernetLen:]
	l4 := wire.EthernetLen + wire.IPv6Len
	if v4 {
		l4 = wire.EthernetLen + wire.IPv4Len
		be.PutUint16(t.b[12:], wire.EtherTypeIPv4)
		ip[0], ip[1] = 0x45, t.tos
		ip[6] = 0x40 // do not fragment
		ip[8], ip[9] = hops, wire.ProtoUDP
		copy(ip[12:16], src[12:])
		copy(ip[16:20], dst[12:])
		for i := 0; i < wire.IPv4Len; i += 2 {
			t.sum += uint32(be.Uint16(ip[i:]))
		}
		copy(t.peer[0:4], dst[12:])
		copy(t.peer[4:8], src[12:])
	} else {
		be.PutUint16(t.b[12:], wire.EtherTypeIPv6)
		be.PutUint32(ip, 6<<28|uint32(t.tos)<<20|av.FlowLabel&0xfffff)
		ip[6], ip[7] = wire.ProtoUDP, hops
		copy(ip[8:24], src[:])
		copy(ip[24:40], dst[:])
		copy(t.peer[0:16], dst[:])
		copy(t.peer[16:32], src[:])
	}
	be.PutUint16(t.b[l4:], sourcePort(av.FlowLabel, local, remote))
	be.PutUint16(t.b[l4+2:], wire.RoCEv2Port)
	bth := t.b[l4+wire.UDPLen:]
	bth[1] = bthMigReq
	be.PutUint16(bth[2:], wire.DefaultPKey)
	be.PutUint32(bth[4:], remote)
	t.n = l4 + wire.UDPLen + wire.BTHLen
	t.layers.Parse(t.b[:t.n])
	return t, nil
}

// sourcePort spreads queue pairs over equal paths: a hash of flow label, or
// without one of both queue pair numbers, in 0xC000 to 0xFFFF, as the Linux
// kernel has it (rdma_get_udp_sport).
func sourcePort(flow, local, remote uint32) uint16 {
	flow &= 0xfffff
	if flow == 0 {
		v := uint64(local) * uint64(remote)
		v ^= v >> 20
		v ^= v >> 40
		flow = uint32(v) & 0xfffff
	}
	return uint16(flow&0x3fff^flow>>14) | 0xc000
}

// build makes a packet of the connection: see Device.build.
func (q *QP) build(op wire.Opcode, se byte, psn uint32, ext, pay int) (*frame.Frame, []byte) {
	return q.ctx.dev.build(&q.head, q.prio, op, se, psn, ext, pay)
}

// build makes a packet with ext bytes of extension headers, which it returns
// to be filled, and a payload of pay bytes, which the caller attaches. psn has
// the acknowledge request in bit 31; se is the solicited bit of BTH.
func (d *Device) build(t *template, prio uint8, op wire.Opcode, se byte, psn uint32, ext, pay int) (*frame.Frame, []byte) {
	f := d.pool.Get()
	b := f.Head(t.n + ext)
	copy(b, t.b[:t.n])
	pad := -pay & 3
	if t.ib.BTH != 0 {
		d.finishIB(t, f, b, ext+pay+pad)
	} else {
		udp := wire.UDPLen + wire.BTHLen + ext + pay + pad + wire.ICRCLen
		if t.n == wire.EthernetLen+wire.IPv4Len+wire.UDPLen+wire.BTHLen {
			n := uint32(wire.IPv4Len + udp)
			be.PutUint16(b[16:], uint16(n))
			s := t.sum + n
			s = s&0xffff + s>>16
			s = s&0xffff + s>>16
			be.PutUint16(b[24:], ^uint16(s))
			be.PutUint16(b[38:], uint16(udp))
		} else {
			be.PutUint16(b[18:], uint16(udp))
			be.PutUint16(b[58:], uint16(udp))
		}
		f.Meta.Layers, f.Meta.Parsed = t.layers, true
		f.Meta.Priority = prio
		f.Len = int32(max(len(b)+pay+pad+wire.ICRCLen+wire.FCSLen, frame.MinLen))
	}
	bth := b[t.n-wire.BTHLen : t.n]
	bth[0] = byte(op)
	bth[1] = se | bthMigReq | byte(pad)<<4
	be.PutUint32(bth[8:], psn)
	f.Meta.ICRCDeferred, f.Meta.Pad = true, uint8(pad)
	return f, b[t.n:]
}

const (
	ackReq    = 1 << 31
	solicited = 0x80
)

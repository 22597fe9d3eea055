package dissect

import (
	"fmt"

	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

var (
	macA, macB = [6]byte{2, 0, 0, 0, 0, 0xa}, [6]byte{2, 0, 0, 0, 0, 0xb}
	ip4A, ip4B = [4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}
	ip6A, ip6B = [16]byte{0xfe, 0x80, 15: 0xa}, [16]byte{0xfe, 0x80, 15: 0xb}
)

// packet says what to build.
type packet struct {
	opcode  wire.Opcode
	v6      bool
	tagged  bool
	payload int
	tos     uint8
	n       int // varies the contents of the fields
}

// roce builds a RoCEv2 frame whose ICRC is deferred, as an HCA does.
func (p packet) roce() *frame.Frame {
	f := new(frame.Frame)
	off, ipLen := wire.EthernetLen, wire.IPv4Len
	if p.tagged {
		off += wire.VLANTagLen
	}
	if p.v6 {
		ipLen = wire.IPv6Len
	}
	if p.opcode.Has()&wire.ExtPayload == 0 {
		p.payload = 0
	}
	pad := -p.payload & 3
	udpLen := wire.UDPLen + p.opcode.HeaderLen() + p.payload + pad + wire.ICRCLen
	b := f.Head(off + ipLen + wire.UDPLen + p.opcode.HeaderLen())
	clear(b)
	etherType := uint16(wire.EtherTypeIPv4)
	if p.v6 {
		etherType = wire.EtherTypeIPv6
	}
	if p.tagged {
		wire.Ethernet(b[wire.VLANTagLen:]).Encode(macB, macA, etherType)
		wire.PushTag(b, wire.TCI(uint8(p.n&7), p.n&1 != 0, uint16(100+p.n)))
	} else {
		wire.Ethernet(b).Encode(macB, macA, etherType)
	}
	if p.v6 {
		ip := wire.IPv6Fields{TrafficClass: p.tos, FlowLabel: 0xabcde, PayloadLen: udpLen, NextHeader: wire.ProtoUDP, HopLimit: 64, Src: ip6A, Dst: ip6B}
		ip.Encode(b[off:])
	} else {
		ip := wire.IPv4Fields{TOS: p.tos, TotalLen: ipLen + udpLen, ID: uint16(p.n), DontFragment: true, TTL: 64, Proto: wire.ProtoUDP, Src: ip4A, Dst: ip4B}
		ip.Encode(b[off:])
	}
	wire.UDP(b[off+ipLen:]).Encode(0xc000+uint16(p.n), wire.RoCEv2Port, udpLen)
	b = b[off+ipLen+wire.UDPLen:]
	bth := wire.BTHFields{
		Opcode: p.opcode, Solicited: p.n&1 != 0, MigReq: p.n&2 != 0, Pad: uint8(pad), PKey: 0xffff - uint16(p.n&2),
		BECN: p.opcode == wire.CNP, DestQP: 0x123400 + uint32(p.n), AckReq: p.n&4 != 0, PSN: 0xfffff0 + uint32(p.n&0xf),
	}
	bth.Encode(b)
	p.extensions(b[wire.BTHLen:])
	pay := make([]byte, p.payload)
	for i := range pay {
		pay[i] = byte(p.n + i)
	}
	f.SetPayload(pay, nil)
	f.Meta.ICRCDeferred, f.Meta.Pad = true, uint8(pad)
	f.WireLen()
	return f
}

func (p packet) extensions(b []byte) {
	x, n := p.opcode.Has(), uint32(p.n)
	at := func(h wire.Ext) []byte { return b[x.Offset(h):] }
	if x&wire.ExtDETH != 0 {
		wire.DETH(at(wire.ExtDETH)).Encode(0x80010000+n, 0x200+n)
	}
	if x&wire.ExtRETH != 0 {
		wire.RETH(at(wire.ExtRETH)).Encode(0x7fff00001000+uint64(n), 0xdeadbe00+n, 1<<20+n)
	}
	if x&wire.ExtAtomicETH != 0 {
		wire.AtomicETH(at(wire.ExtAtomicETH)).Encode(0x7fff00002000+uint64(n), 0xcafe0000+n, 0x1122334455667788+uint64(n), 0x99aabbccddeeff00+uint64(n))
	}
	if x&wire.ExtAETH != 0 {
		s := [...]wire.Syndrome{wire.ACK(wire.CreditInvalid), wire.ACK(3), wire.RNRNAK(14), wire.NAKSequence, wire.NAKInvalidRequest, wire.NAKRemoteAccess, wire.NAKRemoteOperational}
		wire.AETH(at(wire.ExtAETH)).Encode(s[p.n%len(s)], 0xfffff0+n)
	}
	if x&wire.ExtAtomicAckETH != 0 {
		wire.AtomicAckETH(at(wire.ExtAtomicAckETH)).SetOriginal(0x0102030405060708 + uint64(n))
	}
	if x&wire.ExtImmDt != 0 {
		wire.ImmDt(at(wire.ExtImmDt)).SetData(0xa1b2c300 + n)
	}
	if x&wire.ExtIETH != 0 {
		wire.IETH(at(wire.ExtIETH)).SetRKey(0x77665500 + n)
	}
}

// built is a frame with a name for messages.
type built struct {
	name  string
	frame *frame.Frame
}

func whole(b []byte) *frame.Frame {
	f := new(frame.Frame)
	copy(f.Buf(len(b)), b)
	f.WireLen()
	return f
}

// everything builds a frame of every kind that the fabric knows.
func everything() []built {
	var out []built
	add := func(f *frame.Frame, name string, a ...any) { out = append(out, built{fmt.Sprintf(name, a...), f}) }
	n := 0
	for i := range 256 {
		o := wire.Opcode(i)
		if !o.Known() || o == wire.CN { // CN does not travel over Ethernet
			continue
		}
		for _, v6 := range []bool{false, true} {
			n++
			p := packet{opcode: o, v6: v6, tagged: n%5 == 0, payload: 16 + n%4, tos: uint8(n * 7), n: n}
			add(p.roce(), "%v, IPv6 %v, tagged %v, %d bytes", o, v6, p.tagged, p.payload)
		}
	}
	for n := range 8 { // every syndrome
		add(packet{opcode: wire.RCAcknowledge, n: n, tos: 26 << 2}.roce(), "acknowledge %d", n)
	}
	add(packet{opcode: wire.RCWriteMiddle, payload: 4096, tos: 26<<2 | wire.ECNCE}.roce(), "4 KiB with CE")
	add(packet{opcode: wire.RCSendOnly}.roce(), "empty SEND")
	for n, p := range []wire.PFC{
		{Enable: 0x08, Time: [8]uint16{3: 0xffff}},
		{Enable: 0x08},
		{Enable: 0xff, Time: [8]uint16{1, 2, 3, 4, 5, 6, 7, 65535}},
	} {
		b := make([]byte, wire.PFCLen)
		p.Encode(b, macA)
		add(whole(b), "PFC %d", n)
	}
	for _, f := range others() {
		out = append(out, f)
	}
	return out
}

// others are what a switch's router interface sends and receives.
func others() []built {
	arp := make([]byte, wire.EthernetLen+wire.ARPLen)
	wire.Ethernet(arp).Encode(wire.Broadcast, macA, wire.EtherTypeARP)
	(&wire.ARPFields{Op: wire.ARPRequest, SenderMAC: macA, SenderIP: ip4A, TargetIP: ip4B}).Encode(arp[14:])
	reply := make([]byte, len(arp))
	wire.Ethernet(reply).Encode(macA, macB, wire.EtherTypeARP)
	(&wire.ARPFields{Op: wire.ARPReply, SenderMAC: macB, SenderIP: ip4B, TargetMAC: macA, TargetIP: ip4A}).Encode(reply[14:])

	icmp := func(typ, code uint8, rest uint32, body []byte) []byte {
		b := make([]byte, wire.EthernetLen+wire.IPv4Len+wire.ICMPLen+len(body))
		wire.Ethernet(b).Encode(macA, macB, wire.EtherTypeIPv4)
		(&wire.IPv4Fields{TotalLen: len(b) - 14, TTL: 1, Proto: wire.ProtoICMP, Src: ip4B, Dst: ip4A}).Encode(b[14:])
		m := wire.ICMP(b[34:])
		m.SetType(typ)
		m.SetCode(code)
		m.SetRest(rest)
		copy(m[wire.ICMPLen:], body)
		m.Seal()
		return b
	}
	icmp6 := func(typ uint8, hops uint8, dst [16]byte, dmac [6]byte, build func(wire.ICMP), n int) []byte {
		b := make([]byte, wire.EthernetLen+wire.IPv6Len+n)
		wire.Ethernet(b).Encode(dmac, macB, wire.EtherTypeIPv6)
		(&wire.IPv6Fields{PayloadLen: n, NextHeader: wire.ProtoICMPv6, HopLimit: hops, Src: ip6B, Dst: dst}).Encode(b[14:])
		m := wire.ICMP(b[54:])
		m.SetType(typ)
		build(m)
		m.Seal6(ip6B, dst)
		return b
	}
	cut := packet{opcode: wire.RCSendOnly, payload: 8}.roce().AppendTo(nil)[14:]
	group := wire.SolicitedNode(ip6A)
	return []built{
		{"ARP request", whole(arp)},
		{"ARP reply", whole(reply)},
		{"ICMP echo reply", whole(icmp(wire.ICMPEchoReply, 0, 0x12340007, []byte("abcdefg")))},
		{"ICMP time exceeded", whole(icmp(wire.ICMPTimeExceeded, 0, 0, cut[:28]))},
		{"ICMP unreachable", whole(icmp(wire.ICMPUnreachable, wire.ICMPCodeNet, 0, cut[:28]))},
		{"ICMPv6 echo request", whole(icmp6(wire.ICMPv6EchoRequest, 64, ip6A, macA, func(m wire.ICMP) { m.SetID(9); m.SetSeq(10) }, wire.ICMPLen+5))},
		{"neighbour solicitation", whole(icmp6(wire.ICMPv6NeighborSol, wire.NDHopLimit, group, wire.MulticastMAC(group), func(m wire.ICMP) {
			wire.ND(m).Encode(wire.ICMPv6NeighborSol, 0, ip6A, macB)
		}, wire.NDLen+wire.NDOptionLen))},
		{"neighbour advertisement", whole(icmp6(wire.ICMPv6NeighborAdv, wire.NDHopLimit, ip6A, macA, func(m wire.ICMP) {
			wire.ND(m).Encode(wire.ICMPv6NeighborAdv, wire.NDRouter|wire.NDSolicited|wire.NDOverride, ip6B, macB)
		}, wire.NDLen+wire.NDOptionLen))},
	}
}

package nic

import (
	"encoding/binary"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

var (
	myIP, peerIP = [4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}
	my6, peer6   = [16]byte{0xfd, 15: 1}, [16]byte{0xfd, 15: 2}
)

// kernelPacket describes a packet of rdma_rxe, or one for it.
type kernelPacket struct {
	v6, in bool   // in: from the peer to us
	vid    uint16 // tagged if not 0
	tos    uint8
	port   uint16 // UDP destination port; 0: RoCE
	sport  uint16 // 0: 0xc123
	op     wire.Opcode
	qpn    uint32
	psn    uint32
	pay    int
}

// build makes the whole frame as it passes the TAP, ICRC included.
func (k kernelPacket) build(b *bench) *frame.Frame {
	if k.port == 0 {
		k.port = wire.RoCEv2Port
	}
	if k.sport == 0 {
		k.sport = 0xc123
	}
	l3, ipLen := wire.EthernetLen, wire.IPv4Len
	if k.vid != 0 {
		l3 += wire.VLANTagLen
	}
	if k.v6 {
		ipLen = wire.IPv6Len
	}
	udp := wire.UDPLen + wire.BTHLen + k.pay + wire.ICRCLen
	f := b.pool.Get()
	d := f.Buf(l3 + ipLen + udp)
	for i := range d {
		d[i] = byte(i)
	}
	mac := [2][6]byte{myMAC, peerMAC}
	ip, ip6 := [2][4]byte{myIP, peerIP}, [2][16]byte{my6, peer6}
	from, to := 0, 1
	if k.in {
		from, to = 1, 0
	}
	et := uint16(wire.EtherTypeIPv4)
	if k.v6 {
		et = wire.EtherTypeIPv6
	}
	wire.Ethernet(d).Encode(mac[to], mac[from], et)
	if k.vid != 0 {
		wire.Ethernet(d).SetType(wire.EtherTypeVLAN)
		wire.VLAN(d).SetTCI(wire.TCI(0, false, k.vid))
		binary.BigEndian.PutUint16(d[16:], et)
	}
	if k.v6 {
		h := wire.IPv6Fields{TrafficClass: k.tos, FlowLabel: 0xabcde, PayloadLen: udp, NextHeader: wire.ProtoUDP, HopLimit: 64, Src: ip6[from], Dst: ip6[to]}
		h.Encode(d[l3:])
	} else {
		h := wire.IPv4Fields{TOS: k.tos, TotalLen: ipLen + udp, ID: 7, DontFragment: true, TTL: 64, Proto: wire.ProtoUDP, Src: ip[from], Dst: ip[to]}
		h.Encode(d[l3:])
	}
	wire.UDP(d[l3+ipLen:]).Encode(k.sport, k.port, udp)
	h := wire.BTHFields{Opcode: k.op, PKey: wire.DefaultPKey, DestQP: k.qpn, PSN: k.psn}
	h.Encode(wire.BTH(d[l3+ipLen+wire.UDPLen:]))
	end := len(d) - wire.ICRCLen
	binary.LittleEndian.PutUint32(d[end:], wire.ICRC(d[:end], l3))
	f.WireLen()
	return f
}

// seen is what the peer sees of a frame.
type seen struct {
	layers wire.Layers
	data   []byte
}

func (b *bench) watch() *[]seen {
	var l []seen
	b.p.see = func(f *frame.Frame) {
		f.Parse()
		l = append(l, seen{f.Meta.Layers, f.AppendTo(nil)})
	}
	return &l
}

// rightICRC checks the ICRC of a whole frame that is not padded.
func rightICRC(t *testing.T, s seen) {
	t.Helper()
	end := len(s.data) - wire.ICRCLen
	if want := wire.ICRC(s.data[:end], int(s.layers.L3)); binary.LittleEndian.Uint32(s.data[end:]) != want {
		t.Errorf("ICRC % x, want %#x", s.data[end:], want)
	}
	if h := wire.IPv4(s.data[s.layers.L3:]); s.layers.EtherType == wire.EtherTypeIPv4 && !h.ChecksumOK() {
		t.Errorf("IPv4 header checksum % x", h[:20])
	}
}

func TestRoCERule(t *testing.T) {
	ect := &RoCERule{DSCP: 26, ECT: true}
	for _, c := range []struct {
		name     string
		rule     *RoCERule
		in       kernelPacket
		tos      uint8 // on the wire
		prio     int
		rewrites uint64
	}{
		{"plain", ect, kernelPacket{}, 26<<2 | wire.ECNECT0, 3, 1},
		{"large", ect, kernelPacket{pay: 4096, op: wire.RCWriteMiddle}, 26<<2 | wire.ECNECT0, 3, 1},
		{"no rule", nil, kernelPacket{}, 0, 0, 0},
		{"no ECT", &RoCERule{DSCP: 34}, kernelPacket{}, 34 << 2, 4, 1},
		{"only ECT", &RoCERule{ECT: true}, kernelPacket{}, wire.ECNECT0, 0, 1},
		{"a class of its own", ect, kernelPacket{tos: 10 << 2}, 10<<2 | wire.ECNECT0, 1, 1},
		{"ECT(1) of its own", ect, kernelPacket{tos: wire.ECNECT1}, wire.ECNECT1, 0, 0},
		{"all of its own", ect, kernelPacket{tos: 40<<2 | wire.ECNECT0}, 40<<2 | wire.ECNECT0, 5, 0},
		{"another port", ect, kernelPacket{port: 4790}, 0, 0, 0},
	} {
		for _, v6 := range []bool{false, true} {
			for _, vid := range []uint16{0, 10} {
				b := newBench(t, Config{RoCE: c.rule}, 10*link.Gbps)
				got := b.watch()
				c.in.v6, c.in.vid = v6, vid
				f := c.in.build(b)
				before := f.AppendTo(nil)
				b.n.FromHost(f)
				b.run(10 * sim.Microsecond)
				if len(*got) != 1 {
					t.Fatalf("%s: %d frames", c.name, len(*got))
				}
				s := (*got)[0]
				rightICRC(t, s)
				n := b.n.Counters()
				if s.layers.TOS != c.tos || n.Rewritten != c.rewrites || n.TxHost[c.prio].Frames != 1 {
					t.Errorf("%s, IPv6 %v, VLAN %d: TOS %#x, %d rewritten, sent %v", c.name, v6, vid, s.layers.TOS, n.Rewritten, n.TxHost)
				}
				// Nothing else changed.
				for i := range before {
					tos := i == int(s.layers.L3)+1 || v6 && i == int(s.layers.L3) || !v6 && (i == int(s.layers.L3)+10 || i == int(s.layers.L3)+11)
					if before[i] != s.data[i] && !tos {
						t.Errorf("%s: byte %d went from %#x to %#x", c.name, i, before[i], s.data[i])
					}
				}
				if h := wire.IPv6(s.data[s.layers.L3:]); v6 && (!h.Valid() || h.FlowLabel() != 0xabcde) {
					t.Errorf("%s: IPv6 header % x", c.name, h[:8])
				}
			}
		}
	}
}

// What is no RoCE frame passes as it came: TCP, fragments, no IP, a frame that
// ends early.
func TestRoCERuleLeavesOthers(t *testing.T) {
	b := newBench(t, Config{RoCE: &RoCERule{DSCP: 26, ECT: true}}, 10*link.Gbps)
	got := b.watch()
	spoil := func(at int, v byte) *frame.Frame { f := kernelPacket{}.build(b); f.Data[at] = v; return f }
	arp := func() *frame.Frame { f := spoil(12, 8); f.Data[13] = 6; return f }
	short := func() *frame.Frame { f := kernelPacket{}.build(b); f.Data = f.Data[:36]; f.WireLen(); return f }
	for _, f := range []*frame.Frame{spoil(23, wire.ProtoTCP), spoil(21, 1), spoil(14, 0x55), arp(), short()} {
		before := f.AppendTo(nil)
		b.n.FromHost(f)
		b.run(10 * sim.Microsecond)
		if s := (*got)[len(*got)-1]; string(s.data) != string(before) {
			t.Errorf("% x became % x", before, s.data)
		}
	}
	if n := b.n.Counters(); n.Rewritten != 0 || n.FromHost.Frames != 5 {
		t.Errorf("counters %+v", n)
	}
}

// The kernel's RoCE stops with its priority, unless the NIC is sick.
func TestPFCHoldsKernelRoCE(t *testing.T) {
	for _, sick := range []bool{false, true} {
		b := newBench(t, Config{RoCE: &RoCERule{DSCP: 26, ECT: true}, IgnorePFC: sick}, 10*link.Gbps)
		got := b.watch()
		b.p.stop(1<<3, 0xffff)
		b.run(10 * sim.Microsecond)
		b.n.FromHost(kernelPacket{}.build(b))
		b.run(100 * sim.Microsecond)
		if n := len(*got); (n == 1) != sick {
			t.Errorf("ignore_pfc %v: %d frames passed a pause of priority 3", sick, n)
		}
	}
}

func TestRoCERuleAllocatesNothing(t *testing.T) {
	b := newBench(t, Config{RoCE: &RoCERule{DSCP: 26, ECT: true}, Congestion: &Congestion{CNPDSCP: 48}}, 100*link.Gbps)
	b.n.FromHost(kernelPacket{}.build(b))
	b.run(10 * sim.Microsecond)
	if n := testing.AllocsPerRun(100, func() {
		b.n.FromHost(kernelPacket{pay: 1024}.build(b))
		b.run(10 * sim.Microsecond)
	}); n != 0 {
		t.Errorf("%v allocations for a frame", n)
	}
}

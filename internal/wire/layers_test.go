package wire

import "testing"

func TestLayers(t *testing.T) {
	const macs = "020000000002020000000001"
	ip4 := func(proto, frag string) string {
		return "456a002c0001" + frag + "40" + proto + "00000a0000010a000002"
	}
	ip6 := "66a00000000c1140" + "fe800000000000000000000000000001" + "fe800000000000000000000000000002"
	const ports = "c12312b700180000"
	roce4 := Layers{EtherType: EtherTypeIPv4, L3: 14, L4: 34, Proto: ProtoUDP, TOS: 0x6a, RoCE: true, IP: true, SrcPort: 0xc123, DstPort: RoCEv2Port}
	tagged := roce4
	tagged.Tagged, tagged.VID, tagged.PCP, tagged.L3, tagged.L4 = true, 100, 5, 18, 38
	tcp := roce4
	tcp.Proto, tcp.RoCE = ProtoTCP, false
	later := roce4
	later.L4, later.RoCE, later.SrcPort, later.DstPort = 0, false, 0, 0
	icmp := later
	icmp.Proto = ProtoICMP
	tests := []struct {
		name, frame string
		ok          bool
		want        Layers
	}{
		{"too short", macs + "08", false, Layers{}},
		{"cut in the tag", macs + "8100a064", false, Layers{}},
		{"not IP", macs + "88cc", true, Layers{EtherType: 0x88cc, L3: 14}},
		{"RoCEv2 over IPv4", macs + "0800" + ip4("11", "4000") + ports, true, roce4},
		{"tagged", macs + "8100a0640800" + ip4("11", "4000") + ports, true, tagged},
		{"TCP to the same port", macs + "0800" + ip4("06", "0000") + ports, true, tcp},
		{"first fragment", macs + "0800" + ip4("11", "2000") + ports, true, roce4},
		{"later fragment", macs + "0800" + ip4("11", "2010") + ports, true, later},
		{"ICMP", macs + "0800" + ip4("01", "0000") + ports, true, icmp},
		{"no ports", macs + "0800" + ip4("11", "0000") + "c123", true, later},
		{"IPv4 cut", macs + "0800" + ip4("11", "0000")[:38], true, Layers{EtherType: EtherTypeIPv4, L3: 14}},
		{"IPv4 header of 16 bytes", macs + "0800" + "44" + ip4("11", "0000")[2:], true, Layers{EtherType: EtherTypeIPv4, L3: 14}},
		{"options cut", macs + "0800" + "46" + ip4("11", "0000")[2:], true, Layers{EtherType: EtherTypeIPv4, L3: 14}},
		{"options", macs + "0800" + "46" + ip4("11", "4000")[2:] + "01010101" + ports, true, func() Layers { l := roce4; l.L4 = 38; return l }()},
		{"RoCEv2 over IPv6", macs + "86dd" + ip6 + ports, true, Layers{EtherType: EtherTypeIPv6, L3: 14, L4: 54, Proto: ProtoUDP, TOS: 0x6a, RoCE: true, IP: true, SrcPort: 0xc123, DstPort: RoCEv2Port}},
		{"IPv6 with version 4", macs + "86dd" + "4" + ip6[1:] + ports, true, Layers{EtherType: EtherTypeIPv6, L3: 14}},
	}
	for _, tt := range tests {
		var l Layers
		if ok := l.Parse(unhex(t, tt.frame)); ok != tt.ok || l != tt.want {
			t.Errorf("%s: %v\n got %+v\nwant %+v", tt.name, ok, l, tt.want)
		}
	}
	if roce4.DSCP() != 26 || roce4.ECN() != ECNECT0 {
		t.Errorf("TOS 0x6a: DSCP %d, ECN %d", roce4.DSCP(), roce4.ECN())
	}
}

func FuzzLayers(f *testing.F) {
	for _, v := range icrcVectors {
		f.Add(unhex(f, v.frame))
	}
	f.Add(unhex(f, "020000000002020000000001810060640800"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var l Layers
		ok := l.Parse(b)
		if ok != (len(b) >= EthernetLen && (!(Ethernet(b).Type() == EtherTypeVLAN) || VLAN(b).Valid())) {
			t.Fatalf("%x: %v", b, ok)
		}
		if !ok {
			return
		}
		if int(l.L3) > len(b) || int(l.L4) > len(b) || (l.L4 != 0 && l.L4 < l.L3) {
			t.Fatalf("offsets outside: %+v", l)
		}
		// What Parse says of IP and UDP agrees with the views.
		if l.IP && l.EtherType == EtherTypeIPv4 {
			h := IPv4(b[l.L3:])
			if h.TOS() != l.TOS || h.Proto() != l.Proto {
				t.Fatalf("%x: %+v", b, l)
			}
		}
		if l.IP && l.EtherType == EtherTypeIPv6 {
			h := IPv6(b[l.L3:])
			if !h.Valid() || h.TrafficClass() != l.TOS || h.NextHeader() != l.Proto {
				t.Fatalf("%x: %+v", b, l)
			}
		}
		if l.RoCE && UDP(b[l.L4:]).Valid() && UDP(b[l.L4:]).DstPort() != RoCEv2Port {
			t.Fatalf("%x: %+v", b, l)
		}
		ICRC(b, int(l.L3))
	})
}

func TestNoAllocations(t *testing.T) {
	b := unhex(t, icrcVectors[0].frame)
	var l Layers
	f := BTHFields{Opcode: RCAcknowledge}
	if n := testing.AllocsPerRun(100, func() {
		l.Parse(b)
		ICRC(b, int(l.L3))
		IPv4(b[l.L3:]).UpdateTTL(3)
		f.Encode(b[l.L4+UDPLen:])
		if BTH(b[l.L4+UDPLen:]).Fields() != f {
			t.Fatal("BTH")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParse(b *testing.B) {
	p := unhex(b, icrcVectors[2].frame)
	var l Layers
	for b.Loop() {
		l.Parse(p)
	}
}
